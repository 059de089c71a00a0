"""What the client raises, named by who has to act.

    RewardClientError
    ├── RequestRefusedError      the request is wrong: the caller; trying again cannot help
    │   └── NotAuthorizedError       the token is missing, wrong or may not do this
    └── ServiceUnavailableError  the service did not answer, or not in time: its operator

What happens to a kernel is none of these: it is a value (`Verdict`). An error never has a
reward, and neither has a verdict that is `unscored`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import httpx
from pydantic import ValidationError

from reward_service.schemas import ProblemDetails

MAX_DETAIL_CHARS = 300
CLOSED = "the client was closed"


class RewardClientError(Exception):
    """The base of all errors of the client."""


class RequestRefusedError(RewardClientError):
    """The service refuses the request, and would again.

    `status` is the HTTP status, `detail` the reason for a person, `fields` the fields at
    fault: each a dotted path, such as `problem.name`, and what is wrong with it.
    """

    def __init__(self, status: int, detail: str, fields: Sequence[tuple[str, str]] = ()) -> None:
        # All arguments go to the base, so that the error can be pickled.
        super().__init__(status, detail, tuple(fields))
        self.status = status
        self.detail = detail
        self.fields = tuple(fields)

    def __str__(self) -> str:
        return f"{self.status}: {self.detail}"

    def within(self, path: str) -> Self:
        """The same refusal, of a field `path` around it."""
        fields = [(f"{path}.{f}".rstrip("."), message) for f, message in self.fields]
        return type(self)(self.status, f"{path}: {self.detail}", fields)


class NotAuthorizedError(RequestRefusedError):
    """The token is missing or wrong (401), or may not do this (403)."""


class ServiceUnavailableError(RewardClientError):
    """No verdict was to be had in time; the message says what was seen instead."""


def refusal(response: httpx.Response) -> RequestRefusedError:
    """The error that an answer of 4xx or 503 stands for."""
    status = response.status_code
    try:
        problem = ProblemDetails.model_validate_json(response.content)
    except ValidationError:  # from a proxy, or from something else than the service
        detail = response.text[:MAX_DETAIL_CHARS] or response.reason_phrase
        fields: list[tuple[str, str]] = []
    else:
        detail = problem.detail
        fields = [(e.get("field", ""), e.get("message", "")) for e in problem.errors]
    kind = NotAuthorizedError if status in (401, 403) else RequestRefusedError
    return kind(status, detail, fields)
