"""What no device can beat: the time that writing an output must take.

Only bytes that have to leave the cache count, and none that are read: a caller need not know what
a candidate may rightly skip, and the bound holds for any honest program. Well above it lie the
bounds of traffic and arithmetic, which need the operator's count.
"""

from __future__ import annotations


def floor_seconds(output_bytes: int, bandwidth_bytes_s: float, cache_bytes: int) -> float:
    """Seconds that writing the output takes at least; 0 where a cache can hold it."""
    if not bandwidth_bytes_s > 0:
        raise ValueError(f"a bandwidth must be positive, not {bandwidth_bytes_s}")
    return max(0, output_bytes - cache_bytes) / bandwidth_bytes_s
