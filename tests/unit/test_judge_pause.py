"""What is held does nothing, and goes on afterwards."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reward_service.judge.pause import Rest, RestlessError
from reward_service.sandbox import processes
from reward_service.sandbox.uids import UidPool, kill_uid

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

PRELUDE = """
import ctypes, os, signal, struct, threading
if {uid}: os.setgid({uid}), os.setuid({uid})
"""
SPIN = """
for _ in range(3): threading.Thread(target=lambda: exec('while True: pass')).start()
print('up', flush=True)
while True: pass
"""


def _cpu_seconds(pid: int) -> float:
    """What all threads of a process have used."""
    return time.clock_gettime((~pid << 3) | 2)


def _at_rest(pids: list[int]) -> list[float]:
    """What they have used; they use no more."""
    before = [_cpu_seconds(pid) for pid in pids]
    time.sleep(0.1)
    assert [_cpu_seconds(pid) for pid in pids] == before
    return before


def _goes_on(pids: list[int], before: list[float]) -> None:
    deadline = time.monotonic() + 20
    for pid, used in zip(pids, before, strict=True):
        while _cpu_seconds(pid) == used:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.fixture
def uid():
    with UidPool(62_000).lease() as uid:
        yield uid
        kill_uid(uid)


def _run(script: str, uid: int | None = None) -> subprocess.Popen[bytes]:
    """A Python process that has printed a line, under a user where one is given."""
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE.format(uid=uid) + script], stdout=subprocess.PIPE
    )
    process.stdout.readline()
    return process


def _run_shell(script: str, uid: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, user=uid, group=uid, cwd="/"
    )
    process.stdout.readline()
    return process


def _members(uid: int) -> list[int]:
    return [p.pid for p in processes.live() if uid in p.uids]


def _used(uid: int) -> dict[int, float | None]:
    """By process of a user, what it has used; None of one that is gone by now."""
    used: dict[int, float | None] = {}
    for pid in _members(uid):
        try:
            used[pid] = _cpu_seconds(pid)
        except OSError:
            used[pid] = None
    return used


@contextmanager
def _held(process: subprocess.Popen[bytes], uid: int | None) -> Iterator[None]:
    pidfd = os.pidfd_open(process.pid)
    try:
        with Rest(process.pid, pidfd, uid).hold():
            yield
    finally:
        os.close(pidfd)


def _end(process: subprocess.Popen[bytes], uid: int | None = None) -> None:
    process.kill()
    if uid is not None:
        kill_uid(uid)
    process.communicate()


BURN = "while :; do :; done"
FAMILY = f"setsid sh -c '{BURN}' & (sh -c '{BURN}' &); echo up; {BURN}"
COMET = "echo up; run() { run & exit; }; run"


@root
def test_children_and_orphans_in_sessions_of_their_own_rest_too(uid):
    family = _run_shell(FAMILY, uid)
    deadline = time.monotonic() + 20
    while len(members := _members(uid)) < 3:
        assert time.monotonic() < deadline
    for _ in range(2):
        with _held(family, uid):
            before = _at_rest(members)
        _goes_on(members, before)
    _end(family, uid)


@root
def test_who_forks_faster_than_it_can_be_stopped_is_stopped_or_told(uid):
    comet = _run_shell(COMET, uid)
    try:
        with _held(comet, uid):
            before = _used(uid)
            time.sleep(0.1)
            after = _used(uid)
        assert before == after
    except RestlessError:
        assert _members(uid)
    finally:
        _end(comet, uid)


LEADER_ENDS = """
held = bytearray(50 << 20)
threading.Thread(target=lambda: exec('while True: pass')).start()
print('up', flush=True)
ctypes.CDLL(None).syscall(60, 0)
"""


@root
def test_a_process_whose_first_thread_has_ended_is_seen_rests_and_can_be_ended(uid):
    process = _run(LEADER_ENDS, uid)
    while "(zombie)" not in Path(f"/proc/{process.pid}/status").read_text():
        time.sleep(0.01)
    (seen,) = (p for p in processes.live() if uid in p.uids)
    assert seen.pid == process.pid
    assert seen.memory_bytes > 50 << 20
    other = _run_shell(f"echo up; {BURN}", uid)
    with _held(other, uid):
        before = _at_rest([process.pid, other.pid])
    _goes_on([process.pid, other.pid], before)
    assert kill_uid(uid) == 2
    process.communicate()
    other.communicate()
    assert not [p for p in processes.live() if uid in p.uids]


WOKEN = """
signal.signal(signal.SIGCONT, lambda *_: None)  # or the kernel drops the signal
event, timer = struct.pack("Pii48x", 0, signal.SIGCONT, 0), ctypes.c_void_p()
libc = ctypes.CDLL(None)
assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
assert libc.timer_settime(timer, 0, struct.pack("qqqq", 0, 1_000_000, 0, 1_000_000), None) == 0
print('up', flush=True)
while True: pass
"""


def test_whoever_has_a_timer_continue_it_is_told():
    process = _run(WOKEN)
    with pytest.raises(RestlessError), _held(process, None):
        time.sleep(0.05)
    _end(process)


IN_A_LONG_CALL = """
memory, source = os.memfd_create("memory"), bytes(200 << 20)
print('up', flush=True)
while True: os.pwrite(memory, source, 0)
"""


def test_a_long_system_call_is_over_before_the_other_side_is_called():
    process = _run(IN_A_LONG_CALL)
    for _ in range(5):
        with _held(process, None):
            before = _cpu_seconds(process.pid)
            time.sleep(0.02)
            assert _cpu_seconds(process.pid) - before < 20e-6
    _end(process)


LARGE_ONES_END = """
held = bytearray(300 << 20)
print('up', flush=True)
while True:
    if os.fork() == 0:
        held[::4096] = b"x" * len(held[::4096])
        os._exit(0)
    os.wait()
"""


@root
def test_what_is_ending_has_ended_before_the_other_side_is_called(uid):
    process = _run(LARGE_ONES_END, uid)
    for _ in range(10):
        with _held(process, uid):
            members = _members(uid)
            assert all(processes.at_rest(pid) for pid in members)
        time.sleep(0.03)
    _end(process, uid)


@pytest.fixture
def spinning():
    process = _run(SPIN)
    yield process
    _end(process)


def test_no_thread_of_a_paused_process_runs(spinning):
    with _held(spinning, None):
        before = _at_rest([spinning.pid])
    _goes_on([spinning.pid], before)


def test_it_goes_on_also_after_a_failure(spinning):
    with pytest.raises(RuntimeError), _held(spinning, None):
        raise RuntimeError
    time.sleep(0.05)
    with open(f"/proc/{spinning.pid}/stat") as stat:
        assert stat.read().rsplit(")", 1)[1].split()[0] != "T"


def test_a_dead_process_is_no_failure(spinning):
    pidfd = os.pidfd_open(spinning.pid)
    spinning.send_signal(signal.SIGKILL)
    spinning.wait()
    with Rest(spinning.pid, pidfd, None).hold():
        pass
    os.close(pidfd)
