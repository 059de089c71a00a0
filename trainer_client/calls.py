"""One caller who waits for one verdict."""

from __future__ import annotations

import asyncio
import copy

from reward_service.schemas import Submission, Verdict
from trainer_client.errors import RewardClientError

SHORTEST_DEADLINE_S = 1.0


class Call:
    """A submission, when its caller's patience ends (monotonic seconds), and its answer."""

    def __init__(self, submission: Submission, patience_ends: float) -> None:
        self.submission = submission
        self.patience_ends = patience_ends
        self.verdict: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self.seen = "it was not sent yet"
        """What was seen last, for an error that says why there is no verdict."""

    @property
    def waits(self) -> bool:
        """Whether there is no answer yet and somebody is there to get it."""
        return not self.verdict.done()

    @property
    def chars(self) -> int:
        """About how long it is on the wire."""
        candidate, problem = self.submission.candidate, self.submission.problem
        parts = (candidate.source, candidate.text, candidate.prefix, candidate.middle)
        return sum(len(part or "") for part in (*parts, candidate.suffix, problem.source))

    def content(self, now: float) -> bytes:
        """The submission as JSON; its deadline is what is left of the caller's patience.

        Some is left even when there is none: what the service knows already it can still say.
        """
        left = max(SHORTEST_DEADLINE_S, self.patience_ends - now)
        sent = self.submission.model_copy(update={"deadline_s": left})
        return sent.model_dump_json(exclude_unset=True).encode()

    def answer(self, verdict: Verdict) -> None:
        """Hand over the verdict."""
        if self.waits:
            self.verdict.set_result(verdict)

    def fail(self, error: RewardClientError) -> None:
        """Hand over an error, which others may get as well."""
        if self.waits:
            self.verdict.set_exception(copy.copy(error))
