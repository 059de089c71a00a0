"""Messages between processes: each limit holds, whatever the other side sends."""

import json
import os
import socket
import struct
import threading

import pytest

from reward_service.runner.channel import (
    Channel,
    ChannelClosedError,
    ChannelError,
    ChannelTimeoutError,
)


@pytest.fixture
def ends():
    a, b = socket.socketpair()
    with a, b:
        yield Channel(a, max_bytes=1 << 13), b


def test_a_message_and_its_descriptor_arrive():
    a, b = socket.socketpair()
    with a, b:
        read, write = os.pipe()
        Channel(a).send({"op": "x"}, (write,))
        message, fds = Channel(b, accept_fds=True).receive(timeout=5)
        os.write(fds[0], b"through")
        assert message == {"op": "x"}
        assert os.read(read, 7) == b"through"
        for fd in (read, write, *fds):
            os.close(fd)


def test_descriptors_towards_an_end_that_accepts_none_are_dropped():
    a, b = socket.socketpair()
    with a, b:
        read, write = os.pipe()
        before = set(os.listdir("/proc/self/fd"))
        Channel(a).send({}, (write,))
        _, fds = Channel(b).receive(timeout=5)
        assert fds == []
        assert set(os.listdir("/proc/self/fd")) == before
        os.close(read)
        os.close(write)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"not json", "not JSON"),
        (b"[1, 2]", "not an object"),
        (b"[" * 4_000, "not JSON"),
        (b"9" * 5_000, "not JSON"),
    ],
)
def test_a_body_that_is_no_object_is_an_error(ends, body, error):
    channel, other = ends
    other.sendall(struct.pack("!I", len(body)) + body)
    with pytest.raises(ChannelError, match=error):
        channel.receive(timeout=5)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (rb'{"\ud800": ["a\uDC00b"]}', {"?": ["a?b"]}),
        (rb'{"x": "\ud83d\ude00 \\ud800"}', {"x": "\U0001f600 \\ud800"}),
        ('{"x": "\U0001f600"}'.encode(), {"x": "\U0001f600"}),
    ],
)
def test_what_arrives_is_text_that_can_be_sent_on(ends, body, told):
    # A verdict whose evidence held half a pair could not be stored: nobody got an answer.
    channel, other = ends
    other.sendall(struct.pack("!I", len(body)) + body)
    message, _ = channel.receive(timeout=5)
    assert message == told
    json.dumps(message, ensure_ascii=False).encode()


def test_bytes_that_are_no_text_are_an_error(ends):
    channel, other = ends
    body = b'{"x": "\xed\xa0\x80"}'
    other.sendall(struct.pack("!I", len(body)) + body)
    with pytest.raises(ChannelError, match="not JSON"):
        channel.receive(timeout=5)


def test_a_length_over_the_limit_is_refused_before_it_is_read(ends):
    channel, other = ends
    other.sendall(struct.pack("!I", 1 << 31))
    with pytest.raises(ChannelError, match="over the limit"):
        channel.receive(timeout=5)


def test_the_deadline_is_total_and_not_per_byte(ends):
    channel, other = ends
    stop = threading.Event()

    def trickle() -> None:
        other.sendall(struct.pack("!I", 1_000))
        while not stop.wait(0.01):
            other.sendall(b" ")

    thread = threading.Thread(target=trickle)
    thread.start()
    with pytest.raises(ChannelTimeoutError):
        channel.receive(timeout=0.2)
    stop.set()
    thread.join()


def test_a_closed_end_is_told_from_a_slow_one(ends):
    channel, other = ends
    other.close()
    with pytest.raises(ChannelClosedError):
        channel.receive(timeout=5)


def test_a_reader_that_never_reads_does_not_hold_the_sender(ends):
    channel, _ = ends
    with pytest.raises(ChannelTimeoutError):
        channel.send({"x": "y" * (8 << 20)}, timeout=0.2)
