"""Everything that the routes of one API process share."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TypeVar, TypeVarTuple, Unpack

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from reward_service.admission import Admission
from reward_service.api.rate import ServiceRate
from reward_service.errors import QuotaError, RequestError
from reward_service.jobs.batches import Batches
from reward_service.jobs.connection import connect
from reward_service.jobs.idempotency import Idempotency
from reward_service.jobs.intake import Intake
from reward_service.jobs.lifecycle import Lifecycle
from reward_service.jobs.queue import JobQueue
from reward_service.jobs.record import Record
from reward_service.jobs.registry import Registry
from reward_service.jobs.repeating import Repeating
from reward_service.jobs.store import Store
from reward_service.jobs.sweeper import Sweeper
from reward_service.jobs.tokens import Token, Tokens
from reward_service.jobs.waiters import Waiters
from reward_service.metrics import Metrics
from reward_service.problems.library import ProblemLibrary
from reward_service.rewards.book import RewardBook
from reward_service.settings import Settings

A = TypeVarTuple("A")
T = TypeVar("T")
MAX_THREADS = 16
"""That call Valkey at a time, and so the connections of one API process, or nearly."""


class Service:
    """The parts, wired together; `running` keeps their threads and tasks."""

    def __init__(
        self, settings: Settings, url: str, library: ProblemLibrary, book: RewardBook
    ) -> None:
        client = connect(url)
        queue = JobQueue(client, settings.client_window)
        self.settings = settings
        self.library = library
        self.book = book
        self.store = Store(client)
        self.registry = Registry(client, settings.lease_s)
        self.lifecycle = Lifecycle(self.store, queue, settings)
        self.intake = Intake(self.store, self.lifecycle, settings.max_queued)
        self.batches = Batches(self.store, self.intake, self.lifecycle, settings.result_ttl_s)
        self.idempotency = Idempotency(self.store, settings.result_ttl_s)
        self.admission = Admission(library, book, self.registry.alive, self.registry.known_classes)
        self.metrics = Metrics(self.store, self.registry)
        self.rate = ServiceRate()
        self._client_rates: defaultdict[str, ServiceRate] = defaultdict(ServiceRate)
        self._tokens = Tokens(client)
        self.waiters = Waiters(url, self.load_all, self._done)
        self.metrics.clients(lambda: self.waiters.count)
        self._sweeper = Sweeper(self.lifecycle, queue, settings.lease_s)
        self._threads = CapacityLimiter(MAX_THREADS)

    async def load(self, id: str) -> Record | None:
        """An evaluation as it is now."""
        return await self.call(self.store.get, id)

    async def load_all(self, ids: Sequence[str]) -> Mapping[str, Record]:
        """Of these ids, the evaluations that there are."""
        return await self.call(self.store.get_all, ids)

    async def tokens(self) -> Mapping[str, Token]:
        """The stored tokens as they are now, by digest."""
        return await self.call(self._tokens.by_digest)

    async def call(self, function: Callable[[Unpack[A]], T], *arguments: *A) -> T:
        """Run what blocks in a thread."""
        return await run_sync(function, *arguments, limiter=self._threads)

    def refused(self, error: RequestError) -> int:
        """Count a refusal for want of room; seconds until the client had better try again."""
        if isinstance(error, QuotaError):
            self.metrics.quota_refusal(error.client)
            return self._client_rates[error.client].retry_after_s(error.max_waiting)
        return self.rate.retry_after_s(self.settings.max_queued)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read events and sweep while the block lasts."""
        with Repeating("sweeper", self._sweeper.interval_s, self._sweeper.sweep):
            async with self.waiters.reading():
                yield

    def _done(self, record: Record) -> None:
        self.rate.ended()
        self._client_rates[record.client].ended()
        self.metrics.client_ended(record.client)
        if record.verdict is not None:
            self.metrics.verdict(record.verdict)
