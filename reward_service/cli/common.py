"""What the long-running commands share: logs, settings, the way they end."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
from typing import Any

from pydantic import ValidationError
from pydantic_settings import SettingsError

from reward_service.errors import PrerequisiteError
from reward_service.settings import Settings

EXIT_FAILED = 2
EXIT_PREREQUISITE = 3
EXIT_INTERRUPTED = 130
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
        settings = Settings(**given)
    except SettingsError as error:
        raise PrerequisiteError(
            f"the environment cannot be read: {error}",
            "write lists as JSON, such as REWARD_SERVICE_PROBLEM_DIRS='[\"/path\"]'",
        ) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "_".join(str(part) for part in first["loc"]).upper()
        prefix = "" if name == "REDIS_URL" else "REWARD_SERVICE_"
        raise PrerequisiteError(f"{prefix}{name} is wrong: {first['msg']}", "correct it") from error
    if settings.redis_url is not None:
        _require_url(settings.redis_url.get_secret_value())
    return settings


def require_state_dir(settings: Settings) -> None:
    """Raise `PrerequisiteError` unless the state directory can be written."""
    try:
        settings.artifact_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.artifact_dir):
            return
    except OSError as error:
        raise PrerequisiteError(
            f"{settings.state_dir} cannot be written ({error.strerror})",
            "choose a writable REWARD_SERVICE_STATE_DIR",
        ) from error


def _require_url(url: str) -> None:
    if url.partition("://")[0] not in ("redis", "rediss", "unix"):
        raise PrerequisiteError(
            "REDIS_URL is no address of Valkey or Redis",
            "write redis://HOST:PORT/0, rediss://... or unix://PATH",
        )


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
