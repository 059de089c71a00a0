"""Batches: submissions that came in one request, and what has become of each.

A batch is a list of evaluations, kept beside them. What is done is read from these, so that there
is one place for each answer; only the patience of each submission is the batch's own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from uuid import uuid4

from reward_service import verdicts
from reward_service.admission import Admitted
from reward_service.errors import RequestError
from reward_service.jobs import keys
from reward_service.jobs.connection import store_errors
from reward_service.jobs.intake import Intake, Taken
from reward_service.jobs.lifecycle import Lifecycle
from reward_service.jobs.record import Record
from reward_service.jobs.store import Store
from reward_service.jobs.tokens import Token
from reward_service.schemas import Batch, Reason, State, Verdict
from reward_service.verdicts import Subject

IMPATIENT = "the submission's deadline_s ended; the evaluation goes on for another client"
FORGOTTEN = "its verdict is kept no longer; submit it again"


@dataclass(frozen=True)
class Places:
    """The evaluations of a batch, in the order of its submissions."""

    id: str
    client: str
    ids: Sequence[str]
    deadlines: Sequence[float]
    """When the patience with each ends, in Unix seconds."""


class Batches:
    """Takes batches in, and gives them up."""

    def __init__(
        self, store: Store, intake: Intake, lifecycle: Lifecycle, result_ttl_s: int
    ) -> None:
        self._store = store
        self._intake = intake
        self._lifecycle = lifecycle
        self._result_ttl_s = result_ttl_s

    def take(self, admitted: Sequence[Admitted], client: Token) -> tuple[Places, list[Taken]]:
        """Take all in, or none: then `RequestError` 429."""
        self._intake.require_room({each.key for each in admitted}, client)
        taken: list[Taken] = []
        try:
            for each in admitted:
                taken.append(self._intake.take(each, client))
        except RequestError:  # others were faster
            for one in taken:
                self._lifecycle.cancel(one.id, client.name)
            raise
        now = self._store.now()
        deadlines = [now + each.submission.deadline_s for each in admitted]
        places = Places(uuid4().hex, client.name, [one.id for one in taken], deadlines)
        kept_s = int(max(deadlines) - now) + self._result_ttl_s
        with store_errors():
            text = json.dumps(asdict(places))
            self._store.client.set(keys.batch(places.id), text, ex=kept_s)
        return places, taken

    def get(self, id: str) -> Places | None:
        """A batch, or None if there is none of this id (any more)."""
        with store_errors():
            text = self._store.client.get(keys.batch(id))
        return None if text is None else Places(**json.loads(text))

    def give_up(self, id: str, client: str) -> Places | None:
        """Its client wants no more of it: each submission is given up, as `cancel` does one.

        Whoever comes second, or is another client, gets None and changes nothing.
        """
        places = self.get(id)
        if places is None or places.client != client:
            return None
        with store_errors():
            if not self._store.client.delete(keys.batch(id)):
                return None
        for each in places.ids:
            self._lifecycle.cancel(each, client)
        return places


def view(places: Places, records: Mapping[str, Record], now: float) -> Batch:
    """The batch as its client sees it, from its evaluations."""
    answers = [
        _answer(id, records.get(id), deadline <= now)
        for id, deadline in zip(places.ids, places.deadlines, strict=True)
    ]
    states = Counter(
        State.DONE if answer is not None else records[id].state
        for id, answer in zip(places.ids, answers, strict=True)
    )
    return Batch(
        id=places.id,
        total=len(answers),
        done=states[State.DONE],
        states=dict(states),
        verdicts=tuple(answers),
    )


def _answer(id: str, record: Record | None, impatient: bool) -> Verdict | None:
    if record is None:
        return verdicts.unscored(Subject(id, None, None), Reason.INTERNAL, FORGOTTEN)
    if record.verdict is None and impatient:
        return verdicts.unscored(
            record.subject, Reason.QUEUE_DEADLINE, IMPATIENT, stages=record.stages
        )
    return record.verdict
