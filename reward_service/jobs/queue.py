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

from reward_service.jobs import keys
from reward_service.jobs.connection import Client, Pipeline, store_errors
from reward_service.jobs.record import Record
from reward_service.jobs.windows import Share

log = logging.getLogger(__name__)

NO_TIMEOUT = -1
FAILED_TTL_S = 3_600
WORKER_TTL_S = 30
SHORTEST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0


class JobQueue:
    """Puts tickets into queues, as part of a caller's transaction.

    A client has at most `window` of them in RQ's list (`windows.py`), unless they are urgent.
    """

    def __init__(self, client: Client, window: int) -> None:
        self._client = client
        self._window = window

    def put(self, ticket: str, queue: str, record: Record, pipe: Pipeline) -> None:
        """Add a ticket of an evaluation when `pipe` is executed; urgent: ahead of all."""
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
        self._queue(queue).enqueue_job(job, pipeline=pipe, at_front=record.urgent)
        share = self._share(queue, record.client)
        if record.urgent:
            share.go_first(ticket, pipe)
        else:
            share.stand_in(ticket, record.created, pipe)

    def claimed(self, record: Record, pipe: Pipeline) -> None:
        """A worker has the present ticket, which it got from RQ: the client's next one's turn."""
        self._share(record.queue, record.client).leave(record.ticket, pipe)

    def withdraw(self, record: Record, pipe: Pipeline) -> None:
        """Take the present ticket out when `pipe` is executed; harmless if it has gone."""
        self._queue(record.queue).remove(record.ticket, pipeline=pipe)
        self._share(record.queue, record.client).leave(record.ticket, pipe)
        pipe.delete(Job.key_for(record.ticket))

    def tickets(self, queue: str) -> set[str]:
        """The tickets that wait in a queue, in RQ's list or in a client's backlog."""
        with store_errors(), self._client.pipeline() as pipe:
            pipe.lrange(_listed(queue), 0, -1)
            for client in self._clients():
                pipe.zrange(keys.backlog(queue, client), 0, -1)
            return {ticket.decode() for part in pipe.execute() for ticket in part}

    def mend(self, queue: str) -> None:
        """Let go what is held back although there is room (`windows.py` says how it comes)."""
        with store_errors(), self._client.pipeline() as pipe:
            for client in self._clients():
                self._share(queue, client).mend(pipe)
            pipe.execute()

    def _clients(self) -> list[str]:
        return [name.decode() for name in self._client.smembers(keys.CLIENTS)]

    def _share(self, queue: str, client: str) -> Share:
        return Share(queue, client, _listed(queue), self._window)

    def _queue(self, name: str) -> Queue:
        return Queue(name, connection=self._client, serializer=JSONSerializer)


def _listed(queue: str) -> str:
    """Key of RQ's list of a queue."""
    return f"{Queue.redis_queue_namespace_prefix}{queue}"


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
