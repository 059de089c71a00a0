"""A filter for system calls (seccomp-bpf), assembled by hand and kept by all that comes after.

Beside the list of `syscalls`: calls of another architecture end the process; sockets are UNIX
ones, connected streams only, and connect to nothing (a socket of the system's services is no
file that Landlock knows); no namespaces; addresses stay random; no filter beside this one.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from reward_service.sandbox import libc, syscalls

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24  # offsets; low halves of the arguments

_ALLOW = 0x7FFF_0000
_KILL_PROCESS = 0x8000_0000
_ERROR = 0x0005_0000

_SET_FILTER = 1
_NO_MITIGATION = 0b100
"""Or older kernels slow foreign code down as long as it is filtered, and its timing with it."""

_X32 = 0x4000_0000
CLONE_NAMESPACES = 0x7E02_0000
ADDR_NO_RANDOMIZE = 0x0004_0000
_ASK_PERSONALITY = 0xFFFF_FFFF
_PR_SET_SECCOMP = 22
_AF_UNIX = 1
_SOCK_STREAM, _SOCK_SEQPACKET = 1, 5
_TYPE_OF_SOCKET = 0xF


def install() -> None:
    """Filter the calling thread. Needs no_new_privs; raises OSError where it cannot be had."""
    instructions = program(syscalls.architecture())
    code = ctypes.create_string_buffer(instructions)
    described = struct.pack("HxxxxxxQ", len(instructions) // 8, ctypes.addressof(code))
    number = syscalls.architecture().numbers["seccomp"]
    libc.syscall("seccomp", number, _SET_FILTER, _NO_MITIGATION, described)


def program(machine: syscalls.Architecture) -> bytes:
    """The filter's instructions."""
    numbers = machine.numbers
    lines = [
        _do(_LOAD, _ARCHITECTURE),
        _if(_EQUAL, machine.audit, skip_otherwise=0, skip=1),
        _do(_RETURN, _KILL_PROCESS),
        _do(_LOAD, _NUMBER),
        # x32: the same kernel under other numbers. No call of another convention is so high.
        *_when(_AT_LEAST, _X32, [_refuse(errno.EPERM)]),
    ]
    for name in machine.refused:
        lines += _when(_EQUAL, numbers[name], [_refuse(errno.EPERM)])
    for name in syscalls.NOT_THERE:
        lines += _when(_EQUAL, numbers[name], [_refuse(errno.ENOSYS)])
    # As if nobody listened: what asks for a service goes on without it.
    lines += _when(_EQUAL, numbers["connect"], [_refuse(errno.ECONNREFUSED)])
    lines += _when(
        _EQUAL,
        numbers["clone"],
        [
            _do(_LOAD, _FIRST),
            *_when(_ANY_BIT, CLONE_NAMESPACES, [_refuse(errno.EPERM)]),
            _do(_RETURN, _ALLOW),
        ],
    )
    lines += _when(
        _EQUAL,
        numbers["personality"],
        [
            _do(_LOAD, _FIRST),
            *_when(_EQUAL, _ASK_PERSONALITY, [_do(_RETURN, _ALLOW)]),
            *_when(_ANY_BIT, ADDR_NO_RANDOMIZE, [_refuse(errno.EPERM)]),
            _do(_RETURN, _ALLOW),
        ],
    )
    lines += _when(
        _EQUAL,
        numbers["prctl"],
        [
            _do(_LOAD, _FIRST),
            *_when(_EQUAL, _PR_SET_SECCOMP, [_refuse(errno.EPERM)]),
            _do(_RETURN, _ALLOW),
        ],
    )
    for name in ("socket", "socketpair"):
        lines += _when(_EQUAL, numbers[name], _only_streams())
    lines.append(_do(_RETURN, _ALLOW))
    return b"".join(lines)


def _only_streams() -> list[bytes]:
    """A datagram socket needs no `connect` to reach another, and a raw one of UNIX is one."""
    return [
        _do(_LOAD, _FIRST),
        *_when(
            _EQUAL,
            _AF_UNIX,
            [
                _do(_LOAD, _SECOND),
                _do(_AND, _TYPE_OF_SOCKET),
                *_when(_EQUAL, _SOCK_STREAM, [_do(_RETURN, _ALLOW)]),
                *_when(_EQUAL, _SOCK_SEQPACKET, [_do(_RETURN, _ALLOW)]),
            ],
        ),
        _refuse(errno.EPERM),
    ]


def _when(test: int, value: int, then: list[bytes]) -> list[bytes]:
    """`then` where the loaded word passes the test. What loads another word in there must not
    come back out to tests of this one."""
    return [_if(test, value, skip=0, skip_otherwise=len(then)), *then]


def _if(test: int, value: int, *, skip: int, skip_otherwise: int) -> bytes:
    return struct.pack("=HBBI", test, skip, skip_otherwise, value)


def _do(what: int, value: int) -> bytes:
    return struct.pack("=HBBI", what, 0, 0, value)


def _refuse(code: int) -> bytes:
    return _do(_RETURN, _ERROR | code)
