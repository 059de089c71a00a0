"""The life of a builder or worker process: announce it, serve its queue, sweep, drain.

The process imports no torch; what runs foreign code is below the stage. Valkey may go away at
any time: results are held until it is back, and everything else is tried again.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Literal, TypeAlias, TypeVar
from uuid import uuid4

from reward_service import verdicts
from reward_service.build.program_stage import Build
from reward_service.errors import (
    ArtifactLostError,
    QueueDeadlineError,
    RewardServiceError,
    StoreError,
)
from reward_service.findings import Built, Context
from reward_service.jobs import keys
from reward_service.jobs.connection import connect
from reward_service.jobs.lease import Lease
from reward_service.jobs.lifecycle import Lifecycle
from reward_service.jobs.queue import JobQueue, serve
from reward_service.jobs.record import Record
from reward_service.jobs.registry import Process, Registry
from reward_service.jobs.repeating import Repeating
from reward_service.jobs.steps import Judge, Step, build_step, judge_step
from reward_service.jobs.store import Store
from reward_service.jobs.sweeper import Sweeper
from reward_service.rewards.book import RewardBook
from reward_service.schemas import DeviceInfo, Reason, Verdict
from reward_service.settings import Settings

log = logging.getLogger(__name__)

T = TypeVar("T")
Result: TypeAlias = Built | Verdict | ArtifactLostError | None
"""What came of a step; None: the time was up."""
SHORTEST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0


def run_builder(settings: Settings, url: str, build: Build, book: RewardBook) -> None:
    """Serve the build queue until SIGTERM or SIGINT, then finish the job in hand."""
    _run(settings, url, "builder", keys.BUILD_QUEUE, build_step(build, book), None)


def run_worker(
    settings: Settings, url: str, judge: Judge, info: Callable[[], DeviceInfo], book: RewardBook
) -> None:
    """Serve the queue of `info().device_class` likewise. `info` is called by another thread."""
    queue = keys.run_queue(info().device_class)
    _run(settings, url, "worker", queue, judge_step(judge, book), info)


class Handler:
    """Takes a ticket through its step, whatever happens in it; `stop` says that no more come."""

    def __init__(
        self, lifecycle: Lifecycle, owner: str, step: Step, lease_s: float, stop: threading.Event
    ) -> None:
        self._lifecycle = lifecycle
        self._owner = owner
        self._step = step
        self._lease_s = lease_s
        self._stop = stop

    def __call__(self, ticket: str) -> None:
        """Work on the ticket's evaluation and store what came of it; a void ticket is nothing."""
        record = self._insist(lambda: self._lifecycle.claim(ticket, self._owner))
        if record is None:
            return
        with Lease(self._lifecycle, ticket, self._owner, self._lease_s) as lease:
            context = Context(
                id=record.id,
                deadline=record.deadline,
                cancelled=lease.void,
                progress=lambda text: log.info("evaluation %s: %s", record.id, text),
            )
            started = time.monotonic()
            result = self._attempt(record, context)
            seconds = time.monotonic() - started
            kept = self._insist(lambda: self._store(ticket, result, seconds))
        said = _said(result) if kept else "dropped, it had ended before"
        log.info("evaluation %s: %s after %.3f s", record.id, said, seconds)

    def _attempt(self, record: Record, context: Context) -> Result:
        """What the step made of it."""
        try:
            result = self._step(record, context)
            # A check's evidence may be anything; what JSON cannot carry must fail here.
            result.model_dump_json()
            return result
        except QueueDeadlineError:
            return None
        except ArtifactLostError as error:
            return error
        except RewardServiceError as error:
            return self._unscored(record, error.reason, str(error))
        except Exception:
            log.exception("evaluation %s failed inside the service", record.id)
            message = "the service failed; its log has the cause"
            return self._unscored(record, Reason.INTERNAL, message)

    def _store(self, ticket: str, result: Result, seconds: float) -> bool:
        if isinstance(result, Built):
            return self._lifecycle.built(ticket, result, seconds)
        if isinstance(result, Verdict):
            return self._lifecycle.finish(ticket, result)
        if isinstance(result, ArtifactLostError):
            return self._lifecycle.rebuild(ticket, str(result))
        # A more patient client may have joined meanwhile: then the work begins again.
        return self._lifecycle.expire(keys.id_of(ticket)) or self._lifecycle.requeue(ticket)

    def _insist(self, call: Callable[[], T]) -> T:
        """Call until Valkey answers: work that was done is not thrown away for an outage.

        Raises `StoreError` only when told to stop, past the time for which its lease holds.
        """
        pause = SHORTEST_PAUSE_S
        until = time.monotonic() + self._lease_s
        while True:
            try:
                return call()
            except StoreError as error:
                if self._stop.is_set() and time.monotonic() > until:
                    raise
                log.warning("%s; trying again", error)
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)

    def _unscored(self, record: Record, reason: Reason, message: str) -> Verdict:
        total = max(0.0, time.time() - record.created)
        stages = {**record.stages, "total": total}
        return verdicts.unscored(record.subject, reason, message, stages=stages)


def _run(
    settings: Settings,
    url: str,
    kind: Literal["builder", "worker"],
    queue: str,
    step: Step,
    info: Callable[[], DeviceInfo] | None,
) -> None:
    client = connect(url)
    tickets = JobQueue(client, settings.client_window)
    lifecycle = Lifecycle(Store(client), tickets, settings)
    sweeper = Sweeper(lifecycle, tickets, settings.lease_s)
    registry = Registry(client, settings.lease_s)
    host, pid = socket.gethostname(), os.getpid()
    name = f"{kind}-{host}-{pid}-{uuid4().hex[:8]}"
    stop = threading.Event()

    def announce() -> None:
        if stop.is_set():
            registry.leave(name)
            return
        device = None if info is None else info().model_copy(update={"worker": name})
        registry.announce(Process(name=name, kind=kind, host=host, pid=pid, device=device))

    log.info("%s serves queue %s", name, queue)
    handler = Handler(lifecycle, name, step, settings.lease_s, stop)
    with (
        Repeating("sweeper", sweeper.interval_s, sweeper.sweep),
        Repeating("announcement", settings.lease_s / 4, announce),
    ):
        serve(lambda: connect(url), queue, handler, stop)
    try:
        registry.leave(name)
    except StoreError as error:
        log.warning("%s could not sign off: %s", name, error)
    log.info("%s has stopped", name)


def _said(result: Result) -> str:
    if isinstance(result, Built):
        return "built"
    if isinstance(result, ArtifactLostError):
        return "to be built again"
    if isinstance(result, Verdict):
        return f"{result.outcome}/{result.reason}" if result.reason else f"{result.outcome}"
    return "out of time"
