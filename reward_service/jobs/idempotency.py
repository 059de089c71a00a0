"""`Idempotency-Key`: a request that is sent again finds what the first one made.

The key belongs to its client and to one content. What was made is noted after it is there, and
the first note counts: of two requests at once, the second gives back what it took.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from reward_service.digest import sha256
from reward_service.errors import RequestError
from reward_service.jobs import keys
from reward_service.jobs.connection import store_errors
from reward_service.jobs.store import Store

HEADER = "Idempotency-Key"
LONGEST_S = 86_400
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class Idempotency:
    """What requests with a key have made; notes are kept for `ttl_s`, a day at most."""

    def __init__(self, store: Store, ttl_s: int) -> None:
        self._store = store
        self._ttl_s = min(ttl_s, LONGEST_S)

    def once(
        self,
        client: str,
        key: str | None,
        content: str,
        exists: Callable[[str], bool],
        make: Callable[[], str],
        undo: Callable[[str], object],
    ) -> str:
        """The id that the key stands for, made now if there is none; without a key, always.

        `RequestError` 422: a malformed key, or one that stands for other content.
        """
        if key is None:
            return make()
        if _KEY.fullmatch(key) is None:
            raise RequestError(422, "1 to 255 visible ASCII characters", HEADER)
        name = keys.idempotency(client, key)
        earlier = self._find(name, content)
        if earlier is not None and exists(earlier):
            return earlier
        made = make()
        note = json.dumps({"content": sha256(content), "id": made})
        with store_errors():
            # What an earlier note names has expired, if there is one: it stands for nothing.
            first = self._store.client.set(name, note, ex=self._ttl_s, nx=earlier is None)
        if first:
            return made
        undo(made)
        return self._find(name, content) or made

    def _find(self, name: str, content: str) -> str | None:
        with store_errors():
            text = self._store.client.get(name)
        if text is None:
            return None
        noted = json.loads(text)
        if noted["content"] != sha256(content):
            raise RequestError(422, "this key was used for another request", HEADER)
        return str(noted["id"])
