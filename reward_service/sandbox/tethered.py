"""Run as `python -I -S tethered.py TETHER COMMAND...`: runs a command of ours that must not outlive
the one who asked for it, however that ends.

TETHER is the reading end of a pipe. Its end, which comes when nobody holds the other one any more,
is the end of the command and of all that it has started in its process group. The exit status is
the command's, or 137.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys


def main() -> int:
    """Wait for the command's end or the tether's; the exit status."""
    tether, *command = sys.argv[1:]
    with subprocess.Popen(command, process_group=0) as process:
        pidfd = os.pidfd_open(process.pid)
        ready, _, _ = select.select([int(tether), pidfd], [], [])
        if pidfd in ready:
            code = process.wait()
            return code if code >= 0 else 128 - code
        os.killpg(process.pid, signal.SIGKILL)
    return 137


if __name__ == "__main__":
    sys.exit(main())
