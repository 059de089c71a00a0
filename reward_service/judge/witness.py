"""Whose work a candidate's time is: some of its calls are watched, and its share is judged.

The runner tells what each watched call did (runner/watch.py); on a GPU the judge knows the
candidate's kernels by what it read from the built modules itself. A runner shares its process
with the candidate, so this is believed only where it speaks against it: a program that rewrites
its runner can claim any share. One that merely notices that it is watched, and runs its own
kernels then and the library otherwise, must not gain by it: a watched call counts only if it was
about as fast as the timed ones are, so that the own kernels have to be as fast as what is timed.

The share of a candidate is the least of any call that counts. On the CPU, what was neither its
module nor one of the library's operators (Python, NumPy, code made at run time) is not its own
either, beyond what the interpreter needs for a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reward_service.errors import DeviceError
from reward_service.findings import Finding
from reward_service.judge.program import Program
from reward_service.judge.runner_client import CandidateError
from reward_service.runner.watch import MAX_ACTIVITIES, MAX_CALLS, MAX_NAME
from reward_service.schemas import Policy, Reason

LIBRARY_TOLERANCE = 0.02
"""Share that library work may hold under `library: forbid`."""
INTERPRETER_S = 50e-6
"""What a call of a module takes in the interpreter, on the CPU, while it is watched."""
_REGISTER_STEP = 8
"""A device gives out registers in steps; what a kernel is seen to have may be rounded up."""
_NAMED = 5


@dataclass(frozen=True)
class Tolerance:
    """How much longer a watched call may take: a factor, and what watching costs."""

    factor: float
    fixed_s: float
    event_s: float

    def most(self, usual_s: float, events: int) -> float:
        """Seconds that a watched call may take."""
        return self.factor * usual_s + self.fixed_s + self.event_s * events


ON_CPU = Tolerance(1.5, 100e-6, 5e-6)
ON_GPU = Tolerance(1.25, 10e-6, 0.0)
"""The device's own time of each kernel is told, to which watching adds nothing."""


class UntoldError(Exception):
    """What was told of the watched calls makes no sense."""


@dataclass(frozen=True)
class WatchedCall:
    """What one call did; seconds."""

    busy_s: float
    events: int
    custom_s: float
    library: Mapping[str, float]
    """By readable name: the work of the library's kernels and operators."""
    copies_s: float
    """Copying and filling of memory."""
    rest_s: float
    """What was none of these, beyond what the interpreter needs."""

    @property
    def total_s(self) -> float:
        """All work."""
        return self.custom_s + sum(self.library.values()) + self.copies_s + self.rest_s

    def share(self, seconds: float) -> float:
        """Of all work."""
        return seconds / self.total_s if self.total_s > 0 else 0.0

    @property
    def custom_share(self) -> float:
        """The candidate's own."""
        return self.share(self.custom_s)

    @property
    def library_share(self) -> float:
        """That of library kernels and operators that compute."""
        return self.share(sum(self.library.values()))

    def biggest(self) -> dict[str, float]:
        """The biggest library kernels and operators, and their shares."""
        ordered = sorted(self.library.items(), key=lambda item: item[1], reverse=True)
        shares = {name: round(self.share(seconds), 4) for name, seconds in ordered[:_NAMED]}
        other = {"copies": self.copies_s, "neither module nor library": self.rest_s}
        return shares | {
            name: round(self.share(seconds), 4) for name, seconds in other.items() if seconds > 0
        }


def watch(
    program: Program, call: Callable[[], None], kernels: Mapping[str, int] | None
) -> list[WatchedCall]:
    """Have some calls watched, each verified by `call` as any other.

    `kernels`: the candidate's kernels and their registers, on a GPU. Raises `RunnerError`, and
    `DeviceError` where nothing can be watched: that refuses nobody, and scores
    nobody.
    """
    try:
        program.ask("watch")
    except CandidateError as error:
        if error.reason is Reason.EXCEPTION:
            raise DeviceError(f"calls cannot be watched on this device: {error}") from error
        raise
    for _ in range(MAX_CALLS):
        call()
    try:
        return parse(program.ask("activities").get("calls"), kernels)
    except UntoldError as error:
        raise program.client.failure(Reason.PROTOCOL, str(error)) from error


def parse(told: object, kernels: Mapping[str, int] | None) -> list[WatchedCall]:
    """What a runner told, read with suspicion; raises `UntoldError`."""
    if not isinstance(told, list) or len(told) != MAX_CALLS:
        raise UntoldError("not one report for each watched call")
    try:
        return [_call(item, kernels) for item in told]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UntoldError(f"a report in no known form ({type(error).__name__})") from error


def _call(told: Mapping[str, Any], kernels: Mapping[str, int] | None) -> WatchedCall:
    custom = copies = 0
    library: dict[str, float] = {}
    known = {name[:MAX_NAME]: registers for name, registers in (kernels or {}).items()}
    for item in told["activities"][:MAX_ACTIVITIES]:
        kind, name, ns = item["kind"], item["name"], _count(item["ns"])
        own = kind == "function" if kernels is None else name in known and _fits(item, known[name])
        if own:
            custom += ns
        elif kind == "copy":
            copies += ns
        else:
            title = str(item["title"])[:120]
            library[title] = library.get(title, 0.0) + ns / 1e9
    busy_s = _count(told["busy_ns"]) / 1e9
    rest_s = 0.0
    if kernels is None:
        told_s = (custom + copies) / 1e9 + sum(library.values())
        rest_s = max(0.0, busy_s - told_s - INTERPRETER_S)
    return WatchedCall(busy_s, _count(told["events"]), custom / 1e9, library, copies / 1e9, rest_s)


def _fits(item: Mapping[str, Any], registers: int) -> bool:
    return registers <= _count(item["registers"]) <= registers + _REGISTER_STEP


def _count(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise ValueError("not a count")
    return value


def believed(calls: list[WatchedCall], usual_s: float, tolerance: Tolerance) -> WatchedCall | None:
    """The call with the least own work among those about as fast as usual.

    None where they are fewer than half: then what was watched is not what was timed.
    """
    alike = [call for call in calls if call.busy_s <= tolerance.most(usual_s, call.events)]
    if 2 * len(alike) <= len(calls):
        return None
    return min(alike, key=lambda call: call.custom_share)


def evidence(call: WatchedCall, policy: Policy) -> dict[str, Any]:
    """For the verdict's checks."""
    return {
        "policy": policy.library,
        "share": round(call.custom_share, 4),
        "min_share": policy.min_custom_share,
        "others": call.biggest(),
    }


def judge_share(call: WatchedCall, policy: Policy) -> Finding | None:
    """Whether the policy accepts the share."""
    if policy.library == "allow":
        return None
    share = call.custom_share
    what = ""
    if share == 0 or share < policy.min_custom_share:
        what = (
            f"its own kernels hold {share:.1%} of the time, and the policy asks for "
            f"{policy.min_custom_share:.1%}"
        )
    elif policy.library == "forbid" and call.library_share > LIBRARY_TOLERANCE:
        what = (
            f"{call.library_share:.1%} of the time is the library's (policy `library: forbid` "
            f"accepts {LIBRARY_TOLERANCE:.0%})"
        )
    if not what:
        return None
    named = ", ".join(f"{name} {share:.1%}" for name, share in call.biggest().items())
    message = f"{what}; beside it ran {named}" if named else f"{what}; nothing else ran"
    return Finding(Reason.NO_CUSTOM_KERNEL, message, evidence=evidence(call, policy))


def not_believed(calls: list[WatchedCall], usual_s: float, policy: Policy) -> Finding:
    """For a program that does other things when it is watched."""
    seen = sorted(call.busy_s for call in calls)[len(calls) // 2]
    return Finding(
        Reason.NO_CUSTOM_KERNEL,
        f"a call takes {usual_s * 1e6:.1f} us, but {seen * 1e6:.1f} us when it is watched: what "
        "was seen to run its own kernels is not what was timed",
        evidence={"policy": policy.library, "watched_s": seen, "timed_s": usual_s},
    )
