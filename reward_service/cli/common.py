"""What the long-running commands share: logs, settings, the way they end."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from typing import Any

from pydantic import ValidationError

from reward_service.errors import PrerequisiteError
from reward_service.settings import Settings

EXIT_PREREQUISITE = 3
STDIN = 0


def start(with_parent: bool = False) -> None:
    """Set up a long-running process: logs on stderr; SIGTERM and SIGINT unwind the stack.

    `with_parent`: end, as on SIGTERM, when stdin closes, which is when the parent is gone.
    """
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    signal.signal(signal.SIGTERM, _exit)
    signal.signal(signal.SIGINT, _exit)
    if with_parent:
        threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def load_settings(**overrides: Any) -> Settings:
    """Settings from the environment; `PrerequisiteError` names the variable that is wrong."""
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "_".join(str(part) for part in first["loc"]).upper()
        prefix = "" if name == "REDIS_URL" else "REWARD_SERVICE_"
        raise PrerequisiteError(f"{prefix}{name} is wrong: {first['msg']}", "correct it") from error


def store_url(settings: Settings) -> str:
    """The URL of Valkey; `PrerequisiteError` if there is none."""
    if settings.redis_url is None:
        raise PrerequisiteError(
            "there is no REDIS_URL", "set it, or run everything with `reward-service up`"
        )
    return settings.redis_url.get_secret_value()


def _exit(*_: object) -> None:
    sys.exit(0)


def _end_with_parent() -> None:
    # Not sys.stdin: a thread that waits in it would hold its lock when the interpreter ends.
    while os.read(STDIN, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
