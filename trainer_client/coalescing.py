"""Makes batches of calls that come at about the same time and ask for the same device class.

Those for another class go in another batch, since one refusal, that no worker serves the class,
would be for all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from trainer_client.calls import Call

MAX_CHARS = 4 << 20


class _Waiting:
    """The next batch for one device class."""

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.calls: list[Call] = []
        self.chars = 0
        self.timer = timer


class Coalescer:
    """Hands calls over to `launch`: `max_batch` of them at most, the first after `linger_s`."""

    def __init__(
        self, launch: Callable[[list[Call]], None], max_batch: int, linger_s: float
    ) -> None:
        self._launch = launch
        self._max_batch = max_batch
        self._linger_s = linger_s
        self._waiting: dict[str, _Waiting] = {}

    def add(self, call: Call) -> None:
        """Take a call into the next batch."""
        device = call.submission.policy.device
        batch = self._waiting.get(device)
        if batch is not None and batch.chars + call.chars > MAX_CHARS:
            self._flush(device)
            batch = None
        if batch is None:
            timer = asyncio.get_running_loop().call_later(self._linger_s, self._flush, device)
            batch = self._waiting[device] = _Waiting(timer)
        batch.calls.append(call)
        batch.chars += call.chars
        if len(batch.calls) >= self._max_batch:
            self._flush(device)

    def flush(self) -> None:
        """Hand over what there is."""
        for device in list(self._waiting):
            self._flush(device)

    def _flush(self, device: str) -> None:
        batch = self._waiting.pop(device)
        batch.timer.cancel()
        self._launch(batch.calls)
