"""What no device can beat: the time that moving the bytes must take, and that of multiplying.

The bounds hold for any honest program. Only bytes count that cannot stay in the cache: all of the
outputs, and of the inputs as much as the result is known to depend on. Multiplications count where
no algorithm is known to need fewer than a quarter of them, at the highest rate that the device
reached in any precision.
"""

from __future__ import annotations

from dataclasses import dataclass

_SHARE_OF_MULTIPLICATIONS = 0.25
"""Fast matrix products in use save less than half of them."""


@dataclass(frozen=True)
class Work:
    """What one call has to do at least."""

    output_bytes: int
    input_bytes: float = 0.0
    """Those that must be read."""
    multiplications: int = 0


@dataclass(frozen=True)
class Floor:
    """Seconds that a call takes at least."""

    traffic_s: float
    arithmetic_s: float

    @property
    def seconds(self) -> float:
        """The larger bound: the two may overlap in time."""
        return max(self.traffic_s, self.arithmetic_s)

    @property
    def cause(self) -> str:
        """What takes that long, in words."""
        if self.arithmetic_s > self.traffic_s:
            return "its multiplications take"
        return "moving its inputs and outputs takes"


def floor(
    work: Work, *, bandwidth_bytes_s: float, cache_bytes: int, multiplications_s: float
) -> Floor:
    """The bounds on a device with these rates."""
    for rate in (bandwidth_bytes_s, multiplications_s):
        if not rate > 0:
            raise ValueError(f"a rate must be positive, not {rate}")
    traffic = max(0.0, work.output_bytes + work.input_bytes - cache_bytes)
    needed = _SHARE_OF_MULTIPLICATIONS * work.multiplications
    return Floor(traffic / bandwidth_bytes_s, needed / multiplications_s)
