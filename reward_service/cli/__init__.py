"""The command `reward-service`; one file a command.

Answers go to stdout, everything else to stderr. Exit status 3: bad usage, or something is
missing on this machine, and the message says what helps; 2: the service failed, which says
nothing about a candidate; 130: interrupted.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any

import typer

from reward_service.cli import (
    api,
    bench,
    builder,
    doctor,
    evaluate,
    prepare,
    problems,
    token,
    up,
    worker,
)
from reward_service.cli.common import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PREREQUISITE
from reward_service.errors import PrerequisiteError, RewardServiceError

USAGE_ERROR: Any = typer.BadParameter.__bases__[0]
"""click's `UsageError`, of which newer versions of typer hold a copy of their own."""

app = typer.Typer(
    name="reward-service",
    help="Judges GPU kernels written by models, and says what they are worth.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    up.up,
    api.api,
    worker.worker,
    builder.builder,
    evaluate.evaluate,
    doctor.doctor,
    prepare.prepare,
    problems.problems,
):
    app.command()(command)
app.add_typer(bench.bench, name="bench")
app.add_typer(token.token, name="token")


def main() -> None:
    """Entry point; an error of ours is one line, not a traceback."""
    try:
        code = app(standalone_mode=False)
    except USAGE_ERROR as error:
        error.show()
        code = EXIT_PREREQUISITE
    except (typer.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        code = EXIT_INTERRUPTED
    except PrerequisiteError as error:
        print(f"error: {error}", file=sys.stderr)
        code = EXIT_PREREQUISITE
    except RewardServiceError as error:
        print(f"error: {error}", file=sys.stderr)
        code = EXIT_FAILED
    except Exception:  # noqa: BLE001 - told in full, with a status that blames no candidate
        traceback.print_exc()
        code = EXIT_FAILED
    sys.exit(code)
