"""What must have come of a cheat and of its twin; each answer is a list of complaints."""

from __future__ import annotations

from reward_service.schemas import Reason
from tests.adversarial.arena import Met
from tests.adversarial.fixture import Fixture
from tests.adversarial.weak import Seen

_CALLED = {Reason.NONDETERMINISTIC: Reason.MISMATCH}
"""A wrong result by its other name: that of the call that is repeated, which is drawn."""


def not_fooled(fixture: Fixture, seen: Seen | None) -> list[str]:
    """Why the weak harness is not fooled by the cheat."""
    found = []
    if fixture.weak in ("dies", "hangs"):
        if seen is not None and seen.error is None:
            found.append(f"it ends and says {seen}")
    elif fixture.weak == "overruns":
        if seen is not None:
            found.append(f"its build ends and says {seen}")
    elif seen is None:
        found.append("it died")
    elif not seen.correct:
        found.append(f"it refuses: {seen.error}")
    elif fixture.weak == "fast" and (seen.speedup or 0) < fixture.weak_speedup:
        found.append(f"it finds a speedup of only {seen.speedup}")
    if fixture.trace and not fixture.trace_path.exists():
        found.append("there is no trace of the cheat")
    return found


def not_held(fixture: Fixture, met: Met) -> list[str]:
    """Why our service does not hold against the cheat."""
    found = []
    if met.reason is None:
        if not fixture.harmless:
            found.append("it is accepted")
        elif met.speedup_low is not None and met.speedup_low > fixture.max_speedup:
            found.append(f"it gains a speedup of {met.speedup_low:.2f}")
    elif not {met.reason, _CALLED.get(met.reason, met.reason)} & set(fixture.reasons):
        found.append(f"it is refused for another reason: {met.reason}: {met.message}")
    if fixture.trace and fixture.trace_path.exists():
        found.append("it leaves its trace")
    if fixture.secret and "1234567" in met.log + met.message:
        found.append("the secret is in what the candidate's author is told")
    return found


def not_honoured(met: Met) -> list[str]:
    """Why a twin, or another honest kernel, did not get what it deserves."""
    return [] if met.reason is None else [f"it is refused: {met.reason}: {met.message}"]
