"""The system call filter, as a machine of either kind would run it, and its numbers."""

from __future__ import annotations

import errno
import re
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from reward_service.sandbox import seccomp, syscalls

MACHINES = ("x86_64", "aarch64")
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def answer(machine: str, number: int, *arguments: int, audit: int | None = None) -> int | str:
    """What the kernel does with a call, by a small interpreter of its filter language: `allow`,
    `kill`, or the error's number."""
    known = syscalls.architecture(machine)
    given = [a & (2**64 - 1) for a in (*arguments, *(0,) * (6 - len(arguments)))]
    data = struct.pack("=IIQ6Q", number, known.audit if audit is None else audit, 0, *given)
    code = list(struct.iter_unpack("=HBBI", seccomp.program(known)))
    at = word = 0
    while True:
        what, yes, no, value = code[at]
        at += 1
        if what == 0x20:
            (word,) = struct.unpack_from("=I", data, value)
        elif what == 0x54:
            word &= value
        elif what == 0x06:
            names = {ALLOW: "allow", KILL: "kill"}
            return names.get(value, value - ERROR)
        else:
            tests = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}
            at += yes if tests[what] else no


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_on_the_list_is_refused_and_what_is_not_is_allowed(machine: str) -> None:
    known = syscalls.architecture(machine)
    names = {number: name for name, number in known.numbers.items()}
    for number in range(600):
        name = names.get(number)
        if name in known.refused:
            assert answer(machine, number) == errno.EPERM, name
        elif name in syscalls.NOT_THERE:
            assert answer(machine, number) == errno.ENOSYS, name
        elif name is None:
            assert answer(machine, number) == "allow", number


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("clone", (0x003D0F00,), "allow"),  # a thread of glibc's
        ("clone", (signal.SIGCHLD,), "allow"),
        *((("clone", (1 << bit,), errno.EPERM)) for bit in (17, 25, 26, 27, 28, 29, 30)),
        ("socket", (socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC), "allow"),
        ("socket", (socket.AF_UNIX, socket.SOCK_SEQPACKET), "allow"),
        ("socketpair", (socket.AF_UNIX, socket.SOCK_STREAM), "allow"),
        ("socketpair", (socket.AF_UNIX, socket.SOCK_DGRAM), errno.EPERM),
        ("socket", (socket.AF_UNIX, socket.SOCK_RAW), errno.EPERM),
        *(("socket", (family, 1), errno.EPERM) for family in range(64) if family != 1),
        ("connect", (3, 0x7000, 110), errno.ECONNREFUSED),
        ("personality", (0xFFFF_FFFF,), "allow"),
        ("personality", (0,), "allow"),
        ("personality", (0x0004_0000,), errno.EPERM),
        ("personality", (0x0044_0000,), errno.EPERM),
        ("prctl", (15,), "allow"),
        ("prctl", (22, 2), errno.EPERM),
    ],
)
def test_what_depends_on_its_arguments(
    machine: str, name: str, arguments: tuple[int, ...], expected: int | str
) -> None:
    number = syscalls.architecture(machine).numbers[name]
    assert answer(machine, number, *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_architecture_end_the_process(machine: str) -> None:
    for audit in (0x4000_0003, 0x4000_0028, 0):  # i386, arm
        assert answer(machine, 1, audit=audit) == "kill"
    assert answer(machine, 0x4000_0000 | 1) == errno.EPERM  # x32


def test_an_unknown_architecture_has_no_filter() -> None:
    with pytest.raises(OSError, match="riscv64"):
        syscalls.architecture("riscv64")


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("no kernel headers")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text())
    headers = {name: int(number) for name, number in found}
    numbers = syscalls.architecture(machine).numbers
    known = {name: n for name, n in numbers.items() if name in headers}
    assert known == {name: headers[name] for name in known}
    assert set(numbers) - set(known) <= {"open_tree_attr"}  # of 2025


def test_the_kernel_runs_it_and_what_programs_do_still_works() -> None:
    program = f"""
import sys; sys.path.insert(0, {str(Path(seccomp.__file__).parents[2])!r})
from reward_service.sandbox import libc, seccomp
libc.no_new_privileges(); seccomp.install()
import errno, os, socket, subprocess, threading, multiprocessing
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
assert subprocess.run(["/bin/echo", "x"], capture_output=True).stdout == b"x\\n"
one, two = socket.socketpair(); one.send(b"y"); assert two.recv(1) == b"y"
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    try: socket.socket(family)
    except PermissionError: continue
    raise AssertionError(family)
try: socket.socket(socket.AF_UNIX).connect("/run/any")
except ConnectionRefusedError: print("done")
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "done\n", done.stderr
