"""The system calls that foreign code has no use for, by name, with their numbers.

What most programs do with files, memory, threads and time is not here: the list holds what
reaches into other processes, into the kernel, out over sockets, or around the other layers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

NOT_THERE = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
"""Answered as by a kernel without them, so that programs take another way. The arguments of
`clone3` lie in memory, where a filter cannot see them; `io_uring` makes calls that no filter
sees."""

# Names, then the numbers on x86-64 and on aarch64; `-`: not there.
_TABLE = """
ptrace 101 117               process_vm_readv 310 270     process_vm_writev 311 271
process_madvise 440 440      pidfd_getfd 438 438          kcmp 312 272
bpf 321 280                  perf_event_open 298 241      userfaultfd 323 282
keyctl 250 219               add_key 248 217              request_key 249 218
unshare 272 97               setns 308 268                chroot 161 51
mount 165 40                 umount2 166 39               pivot_root 155 41
move_mount 429 429           open_tree 428 428            open_tree_attr 467 467
fsopen 430 430               fsconfig 431 431             fsmount 432 432
fspick 433 433               mount_setattr 442 442
name_to_handle_at 303 264    open_by_handle_at 304 265    fanotify_init 300 262
init_module 175 105          finit_module 313 273         delete_module 176 106
kexec_load 246 104           kexec_file_load 320 294      reboot 169 142
swapon 167 224               swapoff 168 225              acct 163 89
quotactl 179 60              quotactl_fd 443 443          syslog 103 116
lookup_dcookie 212 18        iopl 172 -                   ioperm 173 -
seccomp 317 277
shmget 29 194                semget 64 190                msgget 68 186
mq_open 240 180
clone3 435 435
io_uring_setup 425 425       io_uring_enter 426 426       io_uring_register 427 427
clone 56 220                 personality 135 92           prctl 157 167
socket 41 198                socketpair 53 199            connect 42 203
"""
_LOOKED_AT = ("clone", "personality", "prctl", "socket", "socketpair", "connect")
"""Refused by their arguments, or with an answer of their own."""


@dataclass(frozen=True)
class Architecture:
    """A machine's calling convention: how the kernel names it, and its numbers."""

    audit: int
    numbers: dict[str, int]

    @property
    def refused(self) -> tuple[str, ...]:
        """The calls that are not permitted, whatever their arguments."""
        return tuple(n for n in self.numbers if n not in (*NOT_THERE, *_LOOKED_AT))


def architecture(machine: str | None = None) -> Architecture:
    """The architecture of `machine`, by default this one. Raises OSError for an unknown one."""
    machine = os.uname().machine if machine is None else machine
    columns = {"x86_64": (0xC000_003E, 1), "aarch64": (0xC000_00B7, 2)}
    if machine not in columns:
        raise OSError(f"the numbers of system calls on {machine} are not known")
    audit, column = columns[machine]
    words = _TABLE.split()
    rows = [words[n : n + 3] for n in range(0, len(words), 3)]
    return Architecture(audit, {row[0]: int(row[column]) for row in rows if row[column] != "-"})
