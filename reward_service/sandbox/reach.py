"""What the files of a confined process are: the rules that Landlock gets.

Every one reads the system's programs, headers and libraries, and the few files that the C library
and torch ask about the machine; it writes its scratch directory. What else it reads is given to
it (`trees`): an interpreter's trees, a compiler's, the sources of one build. Nothing of `/etc`
but the loader's and OpenSSL's files, nothing of `/home`, `/root`, `/tmp`, `/var`, `/run`, no
other process's `/proc`, no device but the harmless ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from reward_service.sandbox.landlock import CHANGE, DEVICE, OWN, READ, Right

_SYSTEM = (
    *("/bin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec"),
    # Triton asks `ldconfig` where CUDA's driver is.
    *("/sbin", "/usr/sbin", "/usr/include", "/usr/share/zoneinfo"),
    *("/usr/local/bin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/include"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"),
    # OpenSSL ends the import of Python's `ssl` where its settings are there and cannot be read.
    *("/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems"),
    *("/proc/sys/vm", "/sys/devices/system", "/dev/zero", "/dev/random", "/dev/urandom"),
)


def rules(
    reads: Iterable[str], scratch: str | None, devices: Iterable[str], *, shared_memory: bool
) -> dict[str, Right]:
    """What a process may do where; `shared_memory`: it has a /dev/shm of its own."""
    found = dict.fromkeys((*_SYSTEM, *reads), READ)
    found |= dict.fromkeys(devices, DEVICE)
    # CUDA names its threads in there. It is this process's, and not that of its children.
    found |= {"/proc/self": CHANGE, "/dev/null": CHANGE | DEVICE}
    if shared_memory:
        found["/dev/shm"] = OWN
    if scratch is not None:
        found[scratch] = OWN
    return found
