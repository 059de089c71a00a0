"""One evaluation at a time on a device, whatever serves it.

Two workers on one device, or `evaluate` beside `up`, would disturb each other's measurements.
The lock is the kernel's: it goes when its holder dies. Processes of other users and of other
containers are not seen.
"""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterator

from reward_service.sandbox.folder import temporary_root

_PAUSE_S = 0.05


@contextlib.contextmanager
def device_lock(identity: str, check: Callable[[], None]) -> Iterator[None]:
    """Hold the device of this identity; `check` is called while waiting, and may raise."""
    name = "".join(c if c.isalnum() else "-" for c in identity)
    with (temporary_root() / f"device-{name}.lock").open("a") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                check()
                time.sleep(_PAUSE_S)
        yield
