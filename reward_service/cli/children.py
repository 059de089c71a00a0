"""Processes that `up` keeps alive: started again when they die, stopped with it.

Each has a session of its own, so that Ctrl-C reaches only `up`, which then lets them finish
the job in hand. Their stdin is a pipe that closes when `up` is gone, however it went.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from reward_service.cli.common import EXIT_PREREQUISITE

log = logging.getLogger(__name__)

SHORTEST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
STABLE_S = 60.0
STOP_S = 30.0


class Children:
    """`commands` by name, kept running inside a `with` block.

    `on_unusable` is called by another thread with the name of a child that says this machine
    lacks something: starting it again would not help.
    """

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        env: Mapping[str, str],
        on_unusable: Callable[[str], None],
    ) -> None:
        self._env = dict(env)
        self._on_unusable = on_unusable
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._threads = [
            threading.Thread(target=self._tend, args=(name, list(command)), name=name)
            for name, command in commands.items()
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._stopping.set()
            self._signal(signal.SIGTERM)
        until = time.monotonic() + STOP_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        with self._lock:
            self._signal(signal.SIGKILL)
        for thread in self._threads:
            thread.join()

    def _tend(self, name: str, command: Sequence[str]) -> None:
        """Keep one of them running until told to stop."""
        pause = SHORTEST_PAUSE_S
        while True:
            with self._lock:
                if self._stopping.is_set():
                    return
                child = subprocess.Popen(
                    command, env=self._env, stdin=subprocess.PIPE, start_new_session=True
                )
                self._running[name] = child
            started = time.monotonic()
            code = child.wait()
            assert child.stdin is not None
            child.stdin.close()
            with self._lock:
                del self._running[name]
            if self._stopping.is_set():
                return
            if code == EXIT_PREREQUISITE:
                self._on_unusable(name)
                return
            if time.monotonic() - started > STABLE_S:
                pause = SHORTEST_PAUSE_S
            log.warning("%s ended with status %d; another in %.1f s", name, code, pause)
            self._stopping.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _signal(self, number: signal.Signals) -> None:
        """To each child and, as SIGKILL, to what it left in its process group."""
        for child in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                if number is signal.SIGKILL:
                    os.killpg(child.pid, number)
                else:
                    child.send_signal(number)
