"""Stops a process for a while, with all of its threads.

A candidate has nothing to do while the reference is called; what its threads do then could only
take the reference's cores, and so make the candidate look fast. The reference rests likewise while
the candidate is called: a runner that waits looks at its page every 50 us, and on a shared core
that took 2 ms from each call with 8 MiB of inputs. Processes that a candidate started go on: the
limit on processes and the judge's clock are what holds those.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused(pidfd: int) -> Iterator[None]:
    """Hold the process; of one that has died, others tell."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGCONT)
