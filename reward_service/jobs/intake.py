"""Takes admitted submissions in: identical work is done once.

A submission whose key is being worked on joins that evaluation, and one whose key was scored
gets the verdict again; a verdict that was unscored is no answer for anyone else, so the work
begins anew. A joined evaluation keeps the latest deadline of its submissions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

import redis

from reward_service.admission import Admitted
from reward_service.errors import RequestError
from reward_service.jobs import keys
from reward_service.jobs.connection import Pipeline, store_errors
from reward_service.jobs.lifecycle import Lifecycle
from reward_service.jobs.record import Record, new_record
from reward_service.jobs.store import Store
from reward_service.schemas import Outcome, State


@dataclass(frozen=True)
class Taken:
    """Where a submission ended up."""

    id: str
    how: Literal["new", "joined", "served"]
    """`joined`: one in flight answers it as well. `served`: it was answered before."""


class Intake:
    """Takes submissions in, while fewer than `max_queued` wait."""

    def __init__(self, store: Store, lifecycle: Lifecycle, max_queued: int) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self._max_queued = max_queued

    def take(self, admitted: Admitted) -> Taken:
        """Start an evaluation, join one, or find one done. `RequestError` 429: too many wait."""
        by_key = keys.by_key(admitted.key)
        with store_errors(), self._store.client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(by_key)
                    found = pipe.get(by_key)
                    earlier = None if found is None else self._earlier(found.decode(), pipe)
                    if earlier is None:
                        return self._start(admitted, by_key, pipe)
                    if earlier.state is State.DONE:
                        return Taken(earlier.id, "served")
                    return self._join(earlier, admitted, pipe)
                except redis.WatchError:
                    continue

    def _earlier(self, id: str, pipe: Pipeline) -> Record | None:
        """The evaluation of the same key, if it can answer for another submission."""
        pipe.watch(keys.evaluation(id))
        fields = pipe.hgetall(keys.evaluation(id))
        if not fields:
            return None
        record = Record(id, fields)
        unscored = record.verdict is not None and record.verdict.outcome is Outcome.UNSCORED
        return None if unscored else record

    def _join(self, record: Record, admitted: Admitted, pipe: Pipeline) -> Taken:
        own_deadline = self._store.now() + admitted.submission.deadline_s
        deadline = max(record.deadline, own_deadline)
        changes = {"holders": record.holders + 1, "deadline": deadline}
        pipe.multi()
        pipe.hset(keys.evaluation(record.id), mapping=changes)
        pipe.zadd(keys.DEADLINES, {record.id: deadline})
        pipe.execute()
        return Taken(record.id, "joined")

    def _start(self, admitted: Admitted, by_key: str, pipe: Pipeline) -> Taken:
        waiting = int(pipe.zcard(keys.DEADLINES)) - int(pipe.scard(keys.HELD))
        if waiting >= self._max_queued:
            raise RequestError(429, f"{waiting} evaluations wait, as many as may; try again later")
        fields = new_record(admitted, self._store.now())
        record = Record.of(uuid4().hex, fields)
        pipe.multi()
        pipe.set(by_key, record.id)
        pipe.hset(keys.evaluation(record.id), mapping=fields)
        pipe.zadd(keys.DEADLINES, {record.id: record.deadline})
        self._lifecycle.enter(record, State.QUEUED, pipe)
        pipe.execute()
        return Taken(record.id, "new")
