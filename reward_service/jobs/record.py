"""One evaluation as Valkey holds it: a hash of text fields, parsed when they are asked for.

What only the work needs (`submission`, `problem`, `built`) is dropped when it is done; what a
client may ask for stays until the verdict expires.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from reward_service.findings import Built
from reward_service.jobs import keys
from reward_service.schemas import Evaluation, RewardConfigRef, State, Submission, Verdict
from reward_service.verdicts import Subject

if TYPE_CHECKING:
    from reward_service.admission import Admitted

LOCAL_CLIENT = "local"
"""Name of whoever calls from this host without a token."""
WORK_FIELDS = ("submission", "problem", "built", "ticket", "owner")


class Record:
    """The fields of one evaluation at one moment."""

    def __init__(self, id: str, fields: Mapping[bytes, bytes]) -> None:
        self.id = id
        self._fields = {k.decode(): v.decode() for k, v in fields.items()}

    @classmethod
    def of(cls, id: str, fields: Mapping[str, str | float]) -> Record:
        """The record of fields that are still to be written."""
        return cls(id, {k.encode(): str(v).encode() for k, v in fields.items()})

    def __getitem__(self, field: str) -> str:
        return self._fields[field]

    @property
    def state(self) -> State:
        """Where it is."""
        return State(self["state"])

    @property
    def ticket(self) -> str:
        """The permission in force; empty once it is done."""
        return self._fields.get("ticket", "")

    @property
    def owner(self) -> str:
        """Name of the process that took the ticket; empty while it waits."""
        return self._fields.get("owner", "")

    @property
    def queue(self) -> str:
        """The queue that its present or next stage is served from."""
        return self.queue_after(self.state)

    def queue_after(self, state: State) -> str:
        """The queue that leads on from a state."""
        if state in (State.QUEUED, State.BUILDING):
            return keys.BUILD_QUEUE
        return keys.run_queue(self["device_class"])

    @property
    def created(self) -> float:
        """When it was accepted, in Unix seconds."""
        return float(self["created"])

    @property
    def since(self) -> float:
        """When it came into its present state, in Unix seconds."""
        return float(self["since"])

    @property
    def deadline(self) -> float:
        """When the last of its clients loses patience, in Unix seconds."""
        return float(self["deadline"])

    @property
    def serial(self) -> int:
        """Number of tickets issued."""
        return int(self["serial"])

    @property
    def attempts(self) -> int:
        """How often its present stage was started."""
        return int(self["attempts"])

    @property
    def rebuilds(self) -> int:
        """How often it went back because what was built had gone."""
        return int(self._fields.get("rebuilds", 0))

    @property
    def client(self) -> str:
        """Name of the client that started it: the work counts as its, whoever joined later."""
        return self._fields.get("client", LOCAL_CLIENT)

    @property
    def holders(self) -> dict[str, int]:
        """By client, the number of submissions that it answers and that were not cancelled."""
        holders = json.loads(self["holders"])
        # A bare number: it was accepted before there were clients.
        return {self.client: holders} if isinstance(holders, int) else dict(holders)

    @property
    def urgent(self) -> bool:
        """Whether it goes to the front of its queues."""
        return self["urgent"] == "1"

    @property
    def stages(self) -> dict[str, float]:
        """Seconds spent so far, by stage."""
        return dict(json.loads(self["stages"]))

    @property
    def subject(self) -> Subject:
        """What its verdict is about."""
        return Subject(self.id, self["problem_hash"], self["candidate_hash"])

    @cached_property
    def submission(self) -> Submission:
        """What was asked; only while it is not done."""
        return Submission.model_validate_json(self["submission"])

    @property
    def problem(self) -> str:
        """The reference's source; only while it is not done."""
        return self["problem"]

    @cached_property
    def reward(self) -> RewardConfigRef:
        """The reward config that it was admitted with."""
        return RewardConfigRef.model_validate_json(self["reward"])

    @cached_property
    def built(self) -> Built:
        """What the build left; only from `built` on, while it is not done."""
        return Built.model_validate_json(self["built"])

    @cached_property
    def verdict(self) -> Verdict | None:
        """The answer, once it is done."""
        verdict = self._fields.get("verdict")
        return None if verdict is None else Verdict.model_validate_json(verdict)

    @property
    def evaluation(self) -> Evaluation:
        """What a client gets to see."""
        tags = json.loads(self["tags"])
        return Evaluation(id=self.id, state=self.state, verdict=self.verdict, tags=tags)


def new_record(admitted: Admitted, client: str, now: float) -> dict[str, str | float]:
    """The hash of an evaluation that was just accepted, before its first ticket."""
    submission = admitted.submission
    return {
        "key": admitted.key,
        "client": client,
        "state": State.QUEUED,
        "device_class": admitted.device_class,
        "problem_hash": admitted.problem.hash,
        "candidate_hash": admitted.candidate_hash,
        "title": admitted.problem.name or admitted.problem.title,
        "submission": submission.model_dump_json(),
        "problem": admitted.problem.source,
        "reward": admitted.reward.model_dump_json(),
        "tags": json.dumps(submission.tags),
        "urgent": "1" if submission.priority == "eval" else "0",
        "created": now,
        "since": now,
        "deadline": now + submission.deadline_s,
        "serial": 0,
        "attempts": 0,
        "holders": json.dumps({client: 1}),
        "stages": "{}",
    }
