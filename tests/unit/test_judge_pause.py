"""What is held does nothing, and goes on afterwards."""

import os
import signal
import subprocess
import sys
import time

import pytest

from reward_service.judge.pause import Rest, RestlessError
from reward_service.sandbox import processes
from reward_service.sandbox.uids import UidPool, kill_uid

SPIN = """
import threading
for _ in range(3): threading.Thread(target=lambda: exec('while True: pass')).start()
print('up', flush=True)
while True: pass
"""


def _cpu_seconds(pid: int) -> float:
    """What all threads of a process have used."""
    return time.clock_gettime((~pid << 3) | 2)


def _at_rest(pids: list[int]) -> list[float]:
    """What they have used; they use no more."""
    time.sleep(0.05)  # the signal takes a moment to arrive
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


def _run_as(uid: int, script: str) -> subprocess.Popen[bytes]:
    """A process of a user that has printed a line."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, user=uid, group=uid, cwd="/"
    )
    process.stdout.readline()
    return process


BURN = "while :; do :; done"
FAMILY = f"setsid sh -c '{BURN}' & (sh -c '{BURN}' &); echo up; {BURN}"
COMET = "echo up; run() { run & exit; }; run"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_children_and_orphans_in_sessions_of_their_own_rest_too(uid):
    family = _run_as(uid, FAMILY)
    pidfd = os.pidfd_open(family.pid)
    rest = Rest(family.pid, pidfd, uid)
    deadline = time.monotonic() + 20
    while len(members := [p.pid for p in processes.live() if uid in p.uids]) < 3:
        assert time.monotonic() < deadline
    for _ in range(2):
        with rest.hold():
            before = _at_rest(members)
        _goes_on(members, before)
    os.close(pidfd)
    kill_uid(uid)
    family.communicate()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_who_forks_faster_than_it_can_be_stopped_is_stopped_or_told(uid):
    comet = _run_as(uid, COMET)
    pidfd = os.pidfd_open(comet.pid)
    try:
        with Rest(comet.pid, pidfd, uid).hold():
            _at_rest([p.pid for p in processes.live() if uid in p.uids])
    except RestlessError:
        assert [p for p in processes.live() if uid in p.uids]
    os.close(pidfd)
    kill_uid(uid)
    comet.communicate()


@pytest.fixture
def spinning():
    process = subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE)
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_no_thread_of_a_paused_process_runs(spinning):
    pidfd = os.pidfd_open(spinning.pid)
    with Rest(spinning.pid, pidfd, None).hold():
        before = _at_rest([spinning.pid])
    _goes_on([spinning.pid], before)
    os.close(pidfd)


def test_it_goes_on_also_after_a_failure(spinning):
    pidfd = os.pidfd_open(spinning.pid)
    with pytest.raises(RuntimeError), Rest(spinning.pid, pidfd, None).hold():
        raise RuntimeError
    time.sleep(0.05)
    with open(f"/proc/{spinning.pid}/stat") as stat:
        assert stat.read().rsplit(")", 1)[1].split()[0] != "T"
    os.close(pidfd)


def test_a_dead_process_is_no_failure(spinning):
    pidfd = os.pidfd_open(spinning.pid)
    spinning.send_signal(signal.SIGKILL)
    spinning.wait()
    with Rest(spinning.pid, pidfd, None).hold():
        pass
    os.close(pidfd)
