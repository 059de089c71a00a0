"""Takes admitted submissions in: identical work is done once.

A submission whose key is being worked on joins that evaluation, and one whose key was scored
gets the verdict again; a verdict that was unscored is no answer for anyone else, so the work
begins anew. A joined evaluation keeps the latest deadline of its submissions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

import redis

from reward_service.admission import Admitted
from reward_service.errors import RequestError
from reward_service.jobs import keys
from reward_service.jobs.connection import Client, Pipeline, store_errors
from reward_service.jobs.lifecycle import Lifecycle
from reward_service.jobs.record import Record, new_record
from reward_service.jobs.store import Store
from reward_service.jobs.tokens import Token, require_room
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

    def take(self, admitted: Admitted, client: Token) -> Taken:
        """Start an evaluation, join one, or find one done.

        `RequestError` 429: too many wait, or, as `QuotaError`, too many of this client's.
        """
        by_key = keys.by_key(admitted.key)
        with store_errors(), self._store.client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(by_key)
                    found = pipe.get(by_key)
                    earlier = None if found is None else self._earlier(found.decode(), pipe)
                    if earlier is None:
                        return self._start(admitted, client, by_key, pipe)
                    if earlier.state is State.DONE:
                        return Taken(earlier.id, "served")
                    return self._join(earlier, admitted, client, pipe)
                except redis.WatchError:
                    continue

    def require_room(self, wanted: Collection[str], client: Token) -> None:
        """Raise as `take` would for the evaluations of these keys, if they were not met before."""
        with store_errors(), self._store.client.pipeline(transaction=False) as pipe:
            for key in wanted:
                pipe.exists(keys.by_key(key))
            met = sum(pipe.execute())
            self._require_room(len(wanted) - met, client, self._store.client)

    def _require_room(self, count: int, client: Token, reader: Client) -> None:
        waiting = int(reader.zcard(keys.DEADLINES)) - int(reader.scard(keys.HELD))
        if count and waiting + count > self._max_queued:
            raise RequestError(
                429, f"{waiting} evaluations wait, of {self._max_queued} that may; try again later"
            )
        require_room(client, count, reader)

    def _earlier(self, id: str, pipe: Pipeline) -> Record | None:
        """The evaluation of the same key, if it can answer for another submission."""
        pipe.watch(keys.evaluation(id))
        fields = pipe.hgetall(keys.evaluation(id))
        if not fields:
            return None
        record = Record(id, fields)
        unscored = record.verdict is not None and record.verdict.outcome is Outcome.UNSCORED
        return None if unscored else record

    def _join(self, record: Record, admitted: Admitted, client: Token, pipe: Pipeline) -> Taken:
        own_deadline = self._store.now() + admitted.submission.deadline_s
        deadline = max(record.deadline, own_deadline)
        holders = Counter(record.holders) + Counter([client.name])
        changes = {"holders": json.dumps(holders), "deadline": deadline}
        pipe.multi()
        pipe.hset(keys.evaluation(record.id), mapping=changes)
        pipe.zadd(keys.DEADLINES, {record.id: deadline})
        pipe.execute()
        return Taken(record.id, "joined")

    def _start(self, admitted: Admitted, client: Token, by_key: str, pipe: Pipeline) -> Taken:
        self._require_room(1, client, pipe)
        fields = new_record(admitted, client.name, self._store.now())
        record = Record.of(uuid4().hex, fields)
        pipe.multi()
        pipe.set(by_key, record.id)
        pipe.hset(keys.evaluation(record.id), mapping=fields)
        pipe.zadd(keys.DEADLINES, {record.id: record.deadline})
        pipe.sadd(keys.unfinished(client.name), record.id)
        self._lifecycle.enter(record, State.QUEUED, pipe)
        pipe.execute()
        return Taken(record.id, "new")
