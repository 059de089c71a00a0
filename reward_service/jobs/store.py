"""Reads of the evaluations in Valkey, and the one shape that all writes have.

A write is an optimistic transaction: watch the evaluation, read it, decide, and execute; if
anything touched it in between, begin again. A connection that dies in mid-transaction counts
as such a touch, so a write may have happened although it is tried again: every change must
recognise its own work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import redis

from reward_service.jobs import keys
from reward_service.jobs.connection import Client, Pipeline, store_errors
from reward_service.jobs.record import Record
from reward_service.schemas import State

T = TypeVar("T")
EVENTS_PER_EVALUATION = 6


class Store:
    """The evaluations, as a reader sees them. `now` gives Unix seconds."""

    def __init__(self, client: Client, now: Callable[[], float] = time.time) -> None:
        self.client = client
        self.now = now

    def get(self, id: str) -> Record | None:
        """An evaluation, or None if there is none of this id (any more)."""
        with store_errors():
            fields = self.client.hgetall(keys.evaluation(id))
        return Record(id, fields) if fields else None

    def get_all(self, ids: Sequence[str]) -> dict[str, Record]:
        """Of these ids, the evaluations that there are."""
        with store_errors():
            return {record.id: record for record in self._records(ids)}

    def recent(self, count: int) -> list[Record]:
        """The evaluations that were done last, the latest first."""
        with store_errors():
            entries = self.client.xrevrange(keys.EVENTS, count=count * EVENTS_PER_EVALUATION)
            done = [f[b"id"].decode() for _, f in entries if f[b"state"].decode() == State.DONE]
            return self._records(done[:count])

    def overdue(self) -> list[str]:
        """Ids of the evaluations whose deadline has passed."""
        with store_errors():
            ids = self.client.zrangebyscore(keys.DEADLINES, "-inf", self.now())
        return [id.decode() for id in ids]

    def abandoned(self) -> list[str]:
        """Tickets that somebody took and holds no lease on any more."""
        with store_errors():
            held = [ticket.decode() for ticket in self.client.smembers(keys.HELD)]
            leases = self.client.mget([keys.lease(t) for t in held]) if held else []
        return [ticket for ticket, lease in zip(held, leases, strict=True) if lease is None]

    def waiting(self, at_least_s: float = 0.0) -> dict[str, list[str]]:
        """By queue, the tickets that have waited for so long."""
        until = self.now() - at_least_s
        with store_errors():
            names = self._queue_names()
            with self.client.pipeline(transaction=False) as pipe:
                for name in names:
                    pipe.zrangebyscore(keys.waiting(name), "-inf", until)
                found = pipe.execute()
        return {n: [t.decode() for t in ts] for n, ts in zip(names, found, strict=True)}

    def queues(self) -> dict[str, tuple[int, float]]:
        """By queue, how many wait and how many seconds the oldest has waited."""
        with store_errors():
            names = self._queue_names()
            with self.client.pipeline(transaction=False) as pipe:
                for name in names:
                    pipe.zcard(keys.waiting(name))
                    pipe.zrange(keys.waiting(name), 0, 0, withscores=True)
                found = iter(pipe.execute())
        depths: dict[str, tuple[int, float]] = {}
        for name in names:
            count, oldest = next(found), next(found)
            depths[name] = (count, max(0.0, self.now() - oldest[0][1]) if oldest else 0.0)
        return depths

    def unfinished(self) -> dict[str, int]:
        """By client, how many evaluations that it started wait or run."""
        with store_errors():
            names = sorted(name.decode() for name in self.client.smembers(keys.CLIENTS))
            with self.client.pipeline(transaction=False) as pipe:
                for name in names:
                    pipe.scard(keys.unfinished(name))
                return dict(zip(names, pipe.execute(), strict=True))

    def ping(self) -> None:
        """Raise `StoreError` unless the server answers."""
        with store_errors():
            self.client.ping()

    def change(self, id: str, decide: Callable[[Record, Pipeline], T | None]) -> T | None:
        """Change an evaluation atomically.

        `decide` gets the evaluation and a pipeline to put commands into; what it returns is
        returned once they are executed. None: nothing is to be changed, or there is no such
        evaluation.
        """
        with store_errors(), self.client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(keys.evaluation(id))
                    fields = pipe.hgetall(keys.evaluation(id))
                    if not fields:
                        return None
                    pipe.multi()
                    result = decide(Record(id, fields), pipe)
                    if result is not None:
                        pipe.execute()
                    return result
                except redis.WatchError:
                    continue

    def _queue_names(self) -> list[str]:
        return sorted(name.decode() for name in self.client.smembers(keys.QUEUES))

    def _records(self, ids: Sequence[str]) -> list[Record]:
        with self.client.pipeline(transaction=False) as pipe:
            for id in ids:
                pipe.hgetall(keys.evaluation(id))
            found = pipe.execute()
        return [Record(id, fields) for id, fields in zip(ids, found, strict=True) if fields]
