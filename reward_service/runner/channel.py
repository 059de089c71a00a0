"""Messages between trusted and untrusted processes: a length, then JSON, over a Unix socket.

Every receive has a size limit and a total deadline, so that neither a flood nor a byte a second
can hold the judge. File descriptors travel beside a message only towards an end that was told
to accept them; an end that was not lets the kernel drop what an untrusted sender attaches.
"""

from __future__ import annotations

import array
import json
import select
import socket
import struct
import time
from typing import Any

_LENGTH = struct.Struct("!I")
_MAX_FDS = 8


class ChannelError(Exception):
    """The other side is gone, too slow, or does not keep to the protocol."""


class ChannelClosedError(ChannelError):
    """The other side is gone."""


class ChannelTimeoutError(ChannelError):
    """The deadline passed."""


class Channel:
    """One end of a message stream."""

    def __init__(
        self, sock: socket.socket, max_bytes: int = 1 << 20, accept_fds: bool = False
    ) -> None:
        self.socket = sock
        self.max_bytes = max_bytes
        self._room_for_fds = socket.CMSG_SPACE(_MAX_FDS * 4) if accept_fds else 0
        self._fds: list[int] = []

    def fileno(self) -> int:
        """For `select`."""
        return self.socket.fileno()

    def close(self) -> None:
        """Close this end."""
        self.socket.close()

    def send(self, message: dict[str, Any], fds: tuple[int, ...] = (), timeout: float = 30) -> None:
        """Send one message, with file descriptors beside it."""
        body = json.dumps(message, separators=(",", ":")).encode()
        data = _LENGTH.pack(len(body)) + body
        self.socket.settimeout(timeout)
        try:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            sent = self.socket.sendmsg([data], rights)
            self.socket.sendall(data[sent:])
        except TimeoutError as error:
            raise ChannelTimeoutError("the other side does not read") from error
        except OSError as error:
            raise ChannelClosedError(f"the other side is gone ({error})") from error

    def poll(self, timeout: float = 0) -> bool:
        """Whether something can be read within `timeout` seconds."""
        return bool(select.select([self.socket], [], [], timeout)[0])

    def receive(self, timeout: float | None = None) -> tuple[dict[str, Any], list[int]]:
        """Receive one message and the descriptors beside it, within `timeout` seconds in all."""
        deadline = None if timeout is None else time.monotonic() + timeout
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, deadline))
        if length > self.max_bytes:
            raise ChannelError(f"a message of {length} bytes, over the limit of {self.max_bytes}")
        body = self._read(length, deadline)
        fds, self._fds = self._fds, []
        try:
            message = _decode(body)
        except (ValueError, RecursionError) as error:
            raise ChannelError(f"a message that is not JSON ({type(error).__name__})") from error
        if not isinstance(message, dict):
            raise ChannelError("a message that is not an object")
        return message, fds

    def request(
        self, message: dict[str, Any], fds: tuple[int, ...] = (), timeout: float = 30
    ) -> dict[str, Any]:
        """Send a message and return the answer."""
        self.send(message, fds, timeout)
        return self.receive(timeout)[0]

    def _read(self, size: int, deadline: float | None) -> bytes:
        parts: list[bytes] = []
        while size:
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0 or not self.poll(left):
                    raise ChannelTimeoutError("no message in time")
            self.socket.settimeout(None)
            try:
                data, ancillary, _, _ = self.socket.recvmsg(min(size, 1 << 16), self._room_for_fds)
            except OSError as error:
                raise ChannelClosedError(f"the other side is gone ({error})") from error
            for level, kind, payload in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    numbers = array.array("i")
                    numbers.frombytes(payload[: len(payload) - len(payload) % 4])
                    self._fds.extend(numbers)
            if not data:
                raise ChannelClosedError("the other side closed")
            parts.append(data)
            size -= len(data)
        return b"".join(parts)


def _decode(body: bytes) -> object:
    """Any JSON value; halves of surrogate pairs, which no text can carry further, become "?"."""
    text = body.decode("utf-8")
    value = json.loads(text)
    if "\\ud" in text.lower():  # half a pair can only come as an escape: UTF-8 has none
        clean = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        value = json.loads(clean)
    return value
