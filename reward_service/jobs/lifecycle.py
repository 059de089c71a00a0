"""The moves of an evaluation, each one transaction.

Whoever makes a move names the ticket that allows it; a move with a void ticket is refused
(False or None), never an error, because delivery is at least once and late results are
normal. See the package's docstring for the states.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping

from reward_service import verdicts
from reward_service.findings import Built
from reward_service.jobs import keys
from reward_service.jobs.connection import Pipeline, store_errors
from reward_service.jobs.queue import JobQueue
from reward_service.jobs.record import WORK_FIELDS, Record
from reward_service.jobs.store import Store
from reward_service.schemas import Reason, State, Verdict
from reward_service.settings import Settings

log = logging.getLogger(__name__)

MAX_EVENTS = 20_000
WORKING = {State.QUEUED: State.BUILDING, State.BUILT: State.RUNNING}
WAITING = {working: waiting for waiting, working in WORKING.items()}


class Lifecycle:
    """Moves the evaluations of a store through their states."""

    def __init__(self, store: Store, queue: JobQueue, settings: Settings) -> None:
        self.store = store
        self._queue = queue
        self._max_attempts = settings.max_attempts
        self._result_ttl_s = settings.result_ttl_s
        self._lease_ms = int(settings.lease_s * 1000)

    def claim(self, ticket: str, owner: str) -> Record | None:
        """Take a ticket: the evaluation to work on, or None if the ticket is void or taken."""

        def decide(record: Record, pipe: Pipeline) -> bool | None:
            if record.ticket != ticket:
                return None
            if record.state not in WORKING:
                # Ours already where the answer to an earlier try was lost on its way.
                return True if record.owner == owner else None
            pipe.zrem(keys.waiting(record.queue), ticket)
            self._queue.claimed(record, pipe)
            pipe.sadd(keys.HELD, ticket)
            pipe.set(keys.lease(ticket), owner, px=self._lease_ms)
            changes: dict[str, str | int] = {
                "owner": owner,
                "attempts": record.attempts + 1,
                "stages": json.dumps(self._stages(record)),
            }
            self._move(record, WORKING[record.state], changes, pipe)
            return True

        id = keys.id_of(ticket)
        return self.store.get(id) if self.store.change(id, decide) else None

    def renew(self, ticket: str, owner: str) -> bool:
        """Keep a ticket for another lease; False if it is void."""
        with store_errors(), self.store.client.pipeline() as pipe:
            pipe.sismember(keys.HELD, ticket)
            pipe.set(keys.lease(ticket), owner, px=self._lease_ms)
            held, _ = pipe.execute()
        return bool(held)

    def built(self, ticket: str, built: Built, seconds: float) -> bool:
        """The build succeeded: on to the queue of the device class."""

        def decide(record: Record, pipe: Pipeline) -> bool | None:
            if record.ticket != ticket or record.state is not State.BUILDING:
                return None
            changes: dict[str, str | int] = {
                "built": built.model_dump_json(),
                "stages": json.dumps({**record.stages, "build": seconds}),
                "attempts": 0,
            }
            self._leave(record, pipe)
            self.enter(record, State.BUILT, pipe, changes)
            return True

        return bool(self.store.change(keys.id_of(ticket), decide))

    def finish(self, ticket: str, verdict: Verdict) -> bool:
        """The holder of the ticket has the answer; False if it came too late."""

        def decide(record: Record, pipe: Pipeline) -> bool | None:
            if record.ticket != ticket or record.state not in WAITING:
                return None
            self._end(record, verdict, pipe)
            return True

        return bool(self.store.change(keys.id_of(ticket), decide))

    def requeue(self, ticket: str) -> bool:
        """Its holder is lost, or RQ has lost it: issue another, or give up after too many."""

        def decide(record: Record, pipe: Pipeline) -> bool | None:
            if record.ticket != ticket:
                return None
            log.warning("evaluation %s: lost ticket %s while %s", record.id, ticket, record.state)
            if record.state in WAITING and record.attempts >= self._max_attempts:
                message = f"{record.attempts} workers were lost while it was {record.state}"
                self._end(record, self._unscored(record, Reason.WORKER_LOST, message), pipe)
            else:
                self._leave(record, pipe)
                self.enter(record, WAITING.get(record.state, record.state), pipe)
            return True

        return bool(self.store.change(keys.id_of(ticket), decide))

    def rebuild(self, ticket: str, why: str) -> bool:
        """What was built has gone before it could run: build it again, or give up likewise."""

        def decide(record: Record, pipe: Pipeline) -> bool | None:
            if record.ticket != ticket or record.state is not State.RUNNING:
                return None
            log.warning("evaluation %s: %s", record.id, why)
            if record.rebuilds + 1 >= self._max_attempts:
                self._end(record, self._unscored(record, Reason.INTERNAL, why), pipe)
            else:
                self._leave(record, pipe)
                changes = {"attempts": 0, "rebuilds": record.rebuilds + 1}
                self.enter(record, State.QUEUED, pipe, changes)
            return True

        return bool(self.store.change(keys.id_of(ticket), decide))

    def expire(self, id: str) -> bool:
        """End an evaluation whose deadline has passed; False if it has not."""

        def decide(record: Record, pipe: Pipeline) -> bool | None:
            if record.state is State.DONE or record.deadline > self.store.now():
                return None
            message = f"its deadline passed while it was {record.state}"
            self._end(record, self._unscored(record, Reason.QUEUE_DEADLINE, message), pipe)
            return True

        return bool(self.store.change(id, decide))

    def cancel(self, id: str, client: str) -> Record | None:
        """A client wants no answer to one of its submissions; without others, it all ends.

        A client that holds none of them changes nothing. Returns the evaluation as it is then,
        or None if there is none of this id.
        """

        def decide(record: Record, pipe: Pipeline) -> bool | None:
            if record.state is State.DONE or client not in record.holders:
                return None
            left = Counter(record.holders)
            left.subtract([client])
            if left.total():
                pipe.hset(keys.evaluation(id), "holders", json.dumps(+left))
            else:
                verdict = self._unscored(record, Reason.CANCELLED, "cancelled by the client")
                self._end(record, verdict, pipe)
            return True

        self.store.change(id, decide)
        return self.store.get(id)

    def enter(
        self,
        record: Record,
        state: State,
        pipe: Pipeline,
        changes: Mapping[str, str | int] | None = None,
    ) -> None:
        """Issue a ticket for the stage that follows `state`, queued or built."""
        serial = record.serial + 1
        ticket = keys.ticket(record.id, serial)
        queue = record.queue_after(state)
        self._queue.put(ticket, queue, record, pipe)
        pipe.sadd(keys.QUEUES, queue)
        pipe.zadd(keys.waiting(queue), {ticket: self.store.now()})
        issued: dict[str, str | int] = {"ticket": ticket, "serial": serial, "owner": ""}
        self._move(record, state, {**(changes or {}), **issued}, pipe)

    def _leave(self, record: Record, pipe: Pipeline) -> None:
        """Take the present ticket out of the place where it is."""
        if record.state in WORKING:
            pipe.zrem(keys.waiting(record.queue), record.ticket)
            self._queue.withdraw(record, pipe)
        else:
            pipe.srem(keys.HELD, record.ticket)
            pipe.delete(keys.lease(record.ticket))

    def _end(self, record: Record, verdict: Verdict, pipe: Pipeline) -> None:
        self._leave(record, pipe)
        name = keys.evaluation(record.id)
        self._move(record, State.DONE, {"verdict": verdict.model_dump_json()}, pipe)
        pipe.hdel(name, *WORK_FIELDS)
        pipe.zrem(keys.DEADLINES, record.id)
        pipe.srem(keys.unfinished(record.client), record.id)
        pipe.expire(name, self._result_ttl_s)
        pipe.expire(keys.by_key(record["key"]), self._result_ttl_s)

    def _move(
        self, record: Record, state: State, changes: Mapping[str, str | int], pipe: Pipeline
    ) -> None:
        """Change the state; the entry in the stream belongs to the same transaction."""
        fields = {**changes, "state": state, "since": self.store.now()}
        pipe.hset(keys.evaluation(record.id), mapping=fields)
        event = {"id": record.id, "state": state}
        pipe.xadd(keys.EVENTS, event, maxlen=MAX_EVENTS, approximate=True)

    def _stages(self, record: Record) -> dict[str, float]:
        """Seconds by stage, with the wait that ends now."""
        stages = record.stages
        if record.state in WORKING:
            waited = max(0.0, self.store.now() - record.since)
            stages["queue"] = stages.get("queue", 0.0) + waited
        return stages

    def _unscored(self, record: Record, reason: Reason, message: str) -> Verdict:
        stages = self._stages(record)
        stages["total"] = max(0.0, self.store.now() - record.created)
        return verdicts.unscored(record.subject, reason, message, stages=stages)
