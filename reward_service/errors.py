"""The errors of the service, named by the boundary that failed.

    RewardServiceError
    ├── RequestError          the request is wrong: a 4xx, with the field
    │   ├── QuotaError            the client has as much work here as its token allows: 429
    │   └── BatchError            submissions of a batch are wrong, each with its field: 422
    ├── PrerequisiteError     this machine lacks something: the message says the command that helps
    ├── BadProblemError       the reference cannot be judged against: unscored/BAD_PROBLEM
    └── InfrastructureError   the service failed: unscored, retryable
        ├── NoDeviceError         no device of the class:   NO_DEVICE
        ├── DeviceError           the device is unwell:     DEVICE_UNHEALTHY
        ├── QueueDeadlineError    the client's patience ended: QUEUE_DEADLINE
        ├── CancelledError        the client asked to stop: CANCELLED
        └── StoreError            Valkey or the artifact store is unreachable or broken: INTERNAL
            └── ArtifactLostError     a built module has gone; it is built again first

A failing candidate is none of these: it is a value (`findings.Finding`). Whatever else is raised
inside an evaluation is a bug of ours and becomes unscored/INTERNAL; its traceback goes to our
log and never to a client.
"""

from __future__ import annotations

from reward_service.schemas import Reason


class RewardServiceError(Exception):
    """The base of all errors of the service."""

    reason: Reason = Reason.INTERNAL


class RequestError(RewardServiceError):
    """The request is wrong; `status` is its HTTP status and `field` the dotted path at fault."""

    def __init__(self, status: int, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.field = field


class QuotaError(RequestError):
    """The client's own quota is used up: of `max_waiting` evaluations, `unfinished` wait or run."""

    def __init__(self, client: str, max_waiting: int, unfinished: int) -> None:
        super().__init__(
            429,
            f"{unfinished} evaluations of {client!r} wait or run, and its own quota is "
            f"{max_waiting}; try again when some are done",
        )
        self.client = client
        self.max_waiting = max_waiting


class BatchError(RequestError):
    """Submissions of a batch are wrong; `fields` has the message by dotted path of each."""

    def __init__(self, fields: dict[str, str]) -> None:
        first, message = next(iter(fields.items()))
        rest = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
        super().__init__(422, f"{first}: {message}{rest}")
        self.fields = fields


class PrerequisiteError(RewardServiceError):
    """This machine lacks something that the command needs; `fix` is what to do about it."""

    def __init__(self, missing: str, fix: str) -> None:
        super().__init__(f"{missing}; {fix}")
        self.missing = missing
        self.fix = fix


class BadProblemError(RewardServiceError):
    """The reference cannot be judged against: it does not import, is not deterministic, ..."""

    reason = Reason.BAD_PROBLEM


class InfrastructureError(RewardServiceError):
    """The service failed; nothing is known of the candidate."""


class NoDeviceError(InfrastructureError):
    """No device of the asked class."""

    reason = Reason.NO_DEVICE


class DeviceError(InfrastructureError):
    """The device is unwell, or was when it mattered."""

    reason = Reason.DEVICE_UNHEALTHY


class QueueDeadlineError(InfrastructureError):
    """The client's patience ended before there was a verdict."""

    reason = Reason.QUEUE_DEADLINE


class CancelledError(InfrastructureError):
    """The client asked to stop."""

    reason = Reason.CANCELLED


class StoreError(InfrastructureError):
    """Valkey, Redis or the artifact store is unreachable or broken."""


class ArtifactLostError(StoreError):
    """A module that was built is not in the artifact store, or not any more."""
