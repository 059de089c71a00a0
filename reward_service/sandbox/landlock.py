"""Landlock: which files a process and all that comes from it may reach, whoever they belong to.

Every right that the kernel knows is taken away, and what the rules name is given back. Beside
files, as far as the kernel's version of Landlock goes: no TCP, no abstract sockets and no signals
to what is outside. Files that are open already stay usable.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Mapping
from enum import IntFlag

from reward_service.sandbox import libc

TCP_SINCE = 4
SCOPES_SINCE = 6
_QUIET_SINCE = 7

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1
_TCP_BIND_AND_CONNECT = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
_DO_NOT_LOG = 0b1


class Right(IntFlag):
    """What may be done with a file, or below a directory."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


READ = Right.EXECUTE | Right.READ_FILE | Right.READ_DIR
CHANGE = READ | Right.WRITE_FILE | Right.TRUNCATE
"""Reading and writing what is there."""
DEVICE = Right.READ_FILE | Right.WRITE_FILE | Right.IOCTL_DEV
OWN = ~(Right.MAKE_CHAR | Right.MAKE_BLOCK | Right.IOCTL_DEV)
"""All that one does with plain files and directories."""

_OF_FILES = Right.EXECUTE | Right.WRITE_FILE | Right.READ_FILE | Right.TRUNCATE | Right.IOCTL_DEV
_SINCE = {Right.REFER: 2, Right.TRUNCATE: 3, Right.IOCTL_DEV: 5}


def version() -> int:
    """The version of Landlock's interface (ABI). Raises OSError where there is none."""
    return libc.syscall("landlock_create_ruleset", _CREATE_RULESET, None, 0, _ASK_VERSION)


def restrict(rules: Mapping[str, Right]) -> None:
    """Restrict the calling thread to what `rules` (path and rights) allow, for good.

    A path that is not there, or that this process cannot get to, gives nothing. Needs
    no_new_privs. Raises OSError where there is no Landlock.
    """
    abi = version()
    handled = Right(0)
    for right in Right:
        if abi >= _SINCE.get(right, 1):
            handled |= right
    network = _TCP_BIND_AND_CONNECT if abi >= TCP_SINCE else 0
    scopes = _ABSTRACT_SOCKETS_AND_SIGNALS if abi >= SCOPES_SINCE else 0
    attributes = struct.pack("=QQQ", handled, network, scopes)
    ruleset = libc.syscall(
        "landlock_create_ruleset", _CREATE_RULESET, attributes, len(attributes), 0
    )
    try:
        for path, rights in rules.items():
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                _allow(ruleset, path, rights & handled)
        # Whoever is refused a million times must not fill the host's audit log.
        flags = _DO_NOT_LOG if abi >= _QUIET_SINCE else 0
        libc.syscall("landlock_restrict_self", _RESTRICT_SELF, ruleset, flags)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: Right) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, place)
        libc.syscall("landlock_add_rule", _ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)
