"""Something done again and again by a thread, beside the main work of a process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Self

from reward_service.errors import StoreError

log = logging.getLogger(__name__)


class Repeating:
    """Calls `action` at once and then each `every_s` seconds, inside a `with` block.

    The thread outlives every error of the action: one that says that Valkey is away is logged
    when it begins and when it ends, any other each time.
    """

    def __init__(self, name: str, every_s: float, action: Callable[[], object]) -> None:
        self._name = name
        self._every_s = every_s
        self._action = action
        self._stopped = threading.Event()
        self._away = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._once()
            if self._stopped.wait(self._every_s):
                return

    def _once(self) -> None:
        try:
            self._action()
        except StoreError as error:
            if not self._away:
                log.warning("%s: %s", self._name, error)
            self._away = True
        except Exception:
            log.exception("%s failed; it goes on", self._name)
        else:
            if self._away:
                log.info("%s: Valkey is back", self._name)
            self._away = False
