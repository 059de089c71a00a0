"""A paused process does nothing, and goes on afterwards."""

import os
import signal
import subprocess
import sys
import time

import pytest

from reward_service.judge.pause import paused

SPIN = """
import threading
for _ in range(3): threading.Thread(target=lambda: exec('while True: pass')).start()
print('up', flush=True)
while True: pass
"""


def _cpu_seconds(pid: int) -> float:
    """What all threads of a process have used."""
    return time.clock_gettime((~pid << 3) | 2)


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
    with paused(pidfd):
        time.sleep(0.05)  # the signal takes a moment to arrive
        before = _cpu_seconds(spinning.pid)
        time.sleep(0.1)
        assert _cpu_seconds(spinning.pid) == before
    deadline = time.monotonic() + 20
    while _cpu_seconds(spinning.pid) == before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _cpu_seconds(spinning.pid) > before
    os.close(pidfd)


def test_it_goes_on_also_after_a_failure(spinning):
    pidfd = os.pidfd_open(spinning.pid)
    with pytest.raises(RuntimeError), paused(pidfd):
        raise RuntimeError
    time.sleep(0.05)
    with open(f"/proc/{spinning.pid}/stat") as stat:
        assert stat.read().rsplit(")", 1)[1].split()[0] != "T"
    os.close(pidfd)


def test_a_dead_process_is_no_failure(spinning):
    pidfd = os.pidfd_open(spinning.pid)
    spinning.send_signal(signal.SIGKILL)
    spinning.wait()
    with paused(pidfd):
        pass
    os.close(pidfd)
