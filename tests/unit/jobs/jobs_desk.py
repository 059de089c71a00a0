"""The jobs' parts on one Valkey, with a clock of the test's own."""

from __future__ import annotations

import weakref
from typing import Any

from reward_service.admission import Admitted
from reward_service.findings import Built, Finding
from reward_service.jobs import keys
from reward_service.jobs.connection import connect
from reward_service.jobs.intake import Intake
from reward_service.jobs.lifecycle import Lifecycle
from reward_service.jobs.queue import JobQueue
from reward_service.jobs.record import Record
from reward_service.jobs.store import Store
from reward_service.jobs.sweeper import Sweeper
from reward_service.jobs.tokens import LOCAL, Token
from reward_service.problems.library import ProblemSource
from reward_service.rewards.book import RewardBook
from reward_service.schemas import BuildReport, Reason, Submission, Verdict
from reward_service.settings import Settings
from reward_service.verdicts import Subject, of_finding, unscored

BUILT = Built(report=BuildReport(path="none"))
REWARD = RewardBook().resolve("dice")


class Desk:
    """Submits, and looks at what Valkey holds."""

    def __init__(self, url: str, *, flush: bool = True, **settings: Any) -> None:
        self.client = connect(url)
        weakref.finalize(self, self.client.close)  # RQ's queues are cycles that hold it longer
        if flush:
            self.client.flushall()
        self.time = 1_000.0
        self.settings = Settings(**{"max_attempts": 2, "lease_s": 5.0, **settings})
        self.queue = JobQueue(self.client, self.settings.client_window)
        self.store = Store(self.client, now=lambda: self.time)
        self.lifecycle = Lifecycle(self.store, self.queue, self.settings)
        self.intake = Intake(self.store, self.lifecycle, self.settings.max_queued)

    def admitted(self, name: str = "one", **fields: Any) -> Admitted:
        given = {"problem": {"source": "p"}, "candidate": {"source": name}, **fields}
        submission = Submission.model_validate(given)
        problem = ProblemSource(name=None, source="p", level=0, title="inline")
        return Admitted(submission, problem, REWARD.ref, "cpu", "c" * 64, name)

    def submit(self, name: str = "one", client: Token = LOCAL, **fields: Any) -> str:
        return self.intake.take(self.admitted(name, **fields), client).id

    def cancel(self, id: str, client: Token = LOCAL) -> Record | None:
        return self.lifecycle.cancel(id, client.name)

    def get(self, id: str) -> Record:
        record = self.store.get(id)
        assert record is not None
        return record

    def claim(self, ticket: str, owner: str = "w") -> Record | None:
        """As a worker does: out of RQ's list first."""
        record = self.get(keys.id_of(ticket))
        self.client.lrem(f"rq:queue:{record.queue}", 1, ticket)
        return self.lifecycle.claim(ticket, owner)

    def events(self, id: str) -> list[str]:
        entries = self.client.xrange(keys.EVENTS)
        return [f[b"state"].decode() for _, f in entries if f[b"id"].decode() == id]

    def scored(self, id: str, message: str = "") -> Verdict:
        return of_finding(Subject(id), REWARD, Finding(Reason.MISMATCH, message), built=BUILT)

    def failed(self, id: str) -> Verdict:
        return unscored(Subject(id), Reason.INTERNAL, "ours")


class Sweeping:
    """A sweeper with a clock of its own, whose turn it always is."""

    def __init__(self, desk: Desk) -> None:
        self.now = 0.0
        self.desk = desk
        lease_s = desk.settings.lease_s
        self.sweeper = Sweeper(desk.lifecycle, desk.queue, lease_s, lambda: self.now)

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.desk.time += seconds
        self.desk.client.delete(keys.SWEEPING)
        self.sweeper.sweep()
