"""The queues, and the loop of a process that serves one. The only module that imports RQ.

RQ carries tickets, nothing else: small strings in JSON. A worker listens on exactly one queue,
because only then does RQ take a job with BLMOVE, which leaves a trace if the worker dies next;
with several it would use BLPOP and lose it. RQ's own retries, timeouts and recovery are not
used: recovery takes minutes there, and its alarm would interrupt the service's code anywhere.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import redis
from rq import Queue, SimpleWorker
from rq.exceptions import StopRequested
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.worker import WorkerStatus

from reward_service.jobs.connection import Client, Pipeline

log = logging.getLogger(__name__)

NO_TIMEOUT = -1
FAILED_TTL_S = 3_600
WORKER_TTL_S = 30
SHORTEST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0


class JobQueue:
    """Puts tickets into queues, as part of a caller's transaction."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def put(self, ticket: str, queue: str, pipe: Pipeline, front: bool) -> None:
        """Add a ticket when `pipe` is executed; `front`: ahead of all that wait."""
        job = Job.create(
            func="reward_service.ticket",  # never imported: the worker hands the ticket on
            args=[ticket],
            id=ticket,
            description=f"{queue} {ticket}",
            connection=self._client,
            serializer=JSONSerializer,
            timeout=NO_TIMEOUT,
            result_ttl=0,
            failure_ttl=FAILED_TTL_S,
        )
        self._queue(queue).enqueue_job(job, pipeline=pipe, at_front=front)

    def withdraw(self, ticket: str, queue: str, pipe: Pipeline) -> None:
        """Take a ticket out again when `pipe` is executed; harmless if it has gone."""
        self._queue(queue).remove(ticket, pipeline=pipe)
        pipe.delete(Job.key_for(ticket))

    def tickets(self, queue: str) -> set[str]:
        """The tickets that wait in a queue."""
        return set(self._queue(queue).get_job_ids())

    def _queue(self, name: str) -> Queue:
        return Queue(name, connection=self._client, serializer=JSONSerializer)


def serve(
    connect: Callable[[], Client],
    queue: str,
    handle: Callable[[str], None],
    stop: threading.Event,
) -> None:
    """Hand each ticket of a queue to `handle`, until SIGTERM or SIGINT; then finish the one
    in hand, set `stop`, and return. Outlives the server: it reconnects for as long as it takes.

    Runs in the main thread of a process. An exception of `handle` is logged and costs only
    the ticket.
    """

    def on_signal(*_: Any) -> None:
        stop.set()

    pause = SHORTEST_PAUSE_S
    while not stop.is_set():
        # RQ's handlers, which raise, must not outlive its loop.
        signal.signal(signal.SIGTERM, on_signal)
        signal.signal(signal.SIGINT, on_signal)
        started = time.monotonic()
        try:
            _worker(connect(), queue, handle, stop).work(logging_level="WARNING")
        except redis.RedisError as error:
            log.warning("queue %s: %s; trying again", queue, error)
        worked = time.monotonic() - started > LONGEST_PAUSE_S
        pause = SHORTEST_PAUSE_S if worked else min(pause * 2, LONGEST_PAUSE_S)
        stop.wait(pause)
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)


def _worker(
    client: Client, queue: str, handle: Callable[[str], None], stop: threading.Event
) -> SimpleWorker:
    class Ticket(Job):
        def perform(self) -> None:
            handle(self.args[0])

    class Worker(SimpleWorker):
        max_connection_wait_time = LONGEST_PAUSE_S

        def subscribe(self) -> None:
            """RQ's remote commands (shut down, kill) are not for this worker."""

        def unsubscribe(self) -> None:
            """Nothing was subscribed."""

        def _install_signal_handlers(self) -> None:
            signal.signal(signal.SIGTERM, self.request_stop)
            signal.signal(signal.SIGINT, self.request_stop)
            self._stop_requested = stop.is_set()

        def request_stop(self, signum: int, frame: Any) -> None:
            """Finish the job in hand, however often the signal comes.

            RQ's own would write to the server here, amid whatever the job is doing.
            """
            stop.set()
            self._stop_requested = True
            if self.get_state() != WorkerStatus.BUSY:
                raise StopRequested

        def execute_job(self, job: Job, queue: Queue) -> None:
            """As RQ's; but bookkeeping that the server does not answer ends this worker quietly.

            The outcome of the job is safe by then: `handle` has stored it.
            """
            try:
                super().execute_job(job, queue)
            except redis.RedisError as error:
                log.warning("queue %s: after %s: %s", queue.name, job.id, error)
                raise StopRequested from error

    return Worker(
        [queue],
        connection=client,
        job_class=Ticket,
        serializer=JSONSerializer,
        worker_ttl=WORKER_TTL_S,
        log_job_description=False,
    )
