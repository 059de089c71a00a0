"""The artifact store in the queue's Valkey or Redis, with a directory in front of it.

    reward:artifact:<key>        hash: `meta`, `parts` (how many) and `0`, `1`, ...; or `failure`
    reward:artifact:new:<token>  the same on its way; it expires when its writer has died
    reward:artifacts:used        sorted set: key -> number of its last use
    reward:artifacts:bytes       hash: key -> bytes, and the sum under `total`

An entry is written under a name of its own and appears by one script, which also removes the least
recently used ones until all fit into `max_bytes`; so no entry is ever seen in part, and there are
no locks. Where parts go while they are read, the hash does not match and the entry counts as none.
Every use here counts there, and puts back what has gone there: a builder that says "I have it" must
mean that a worker elsewhere can have it too. Where Valkey does not answer or has no memory left, a
host goes on with its directory and says so in its log; a worker elsewhere finds nothing, has the
module built again, and that puts it there.

A module larger than a quarter of `max_bytes` stays in the directory, with a warning. The server
must not evict keys by itself (`maxmemory-policy noeviction`, which evaluations need as well).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from reward_service.build.store_directory import DirectoryStore
from reward_service.errors import StoreError
from reward_service.jobs import keys
from reward_service.jobs.connection import Client, store_errors

log = logging.getLogger(__name__)

T = TypeVar("T")

PART_BYTES = 4 << 20
ON_ITS_WAY_S = 60
_LARGEST_SHARE = 4

# All with KEYS: entry, used, bytes[, new], and ARGV[1]: key.
_PRELUDE = """
local entry, used, bytes, key = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local function use()
  redis.call('ZADD', used, redis.call('HINCRBY', bytes, 'uses', 1), key)
end
local function remove(name)
  redis.call('HINCRBY', bytes, 'total', -tonumber(redis.call('HGET', bytes, name) or 0))
  redis.call('HDEL', bytes, name)
  redis.call('ZREM', used, name)
  redis.call('UNLINK', string.sub(entry, 1, -#key - 1) .. name)
end
"""
_USE = """
if redis.call('EXISTS', entry) == 1 then use() return 1 end
remove(key)
return 0
"""
_PUBLISH = """
local new, size, most = KEYS[4], tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call('EXISTS', entry) == 1 then
  redis.call('UNLINK', new)
  use()
  return 1
end
if redis.call('EXISTS', new) == 0 then return 0 end
remove(key)
redis.call('RENAME', new, entry)
redis.call('PERSIST', entry)
redis.call('HSET', bytes, key, size)
redis.call('HINCRBY', bytes, 'total', size)
use()
while tonumber(redis.call('HGET', bytes, 'total')) > most do
  local oldest = redis.call('ZRANGE', used, 0, 0)[1]
  if oldest == key then break end
  remove(oldest)
end
return 1
"""
_DROP = """
if redis.call('HGET', entry, ARGV[2]) == ARGV[3] then remove(key) end
"""


class RedisStore:
    """`here` is this host's directory; every module that is given out lies in it."""

    def __init__(self, client: Client, here: DirectoryStore, max_bytes: int) -> None:
        self._client = client
        self._here = here
        self._max_bytes = max_bytes
        self._use = client.register_script(_PRELUDE + _USE)
        self._publish = client.register_script(_PRELUDE + _PUBLISH)
        self._drop = client.register_script(_PRELUDE + _DROP)

    def get(self, key: str) -> Path | None:
        """The module with this key; None if there is none."""
        return None if self.read(key) is None else self._here.path(key)

    def read(self, key: str) -> bytes | None:
        """The module's content, likewise."""
        content, meta = self._here.read(key), self._here.meta(key)
        if content is None or meta is None:
            return self._fetch(key)
        self._there(lambda: self._keep(key, content, meta))
        return content

    def meta(self, key: str) -> dict[str, Any] | None:
        """What was put beside the module, and its `sha256`; None if there is none."""
        meta = self._here.meta(key)
        if meta is None and self._fetch(key) is not None:
            meta = self._here.meta(key)
        return meta

    def get_failure(self, key: str) -> dict[str, Any] | None:
        """What `put_failure` was given; None if there is none."""
        failure = self._here.get_failure(key)
        if failure is None:
            failure = self._there(lambda: self._load_failure(key))
            if failure is not None:
                self._here.put_failure(key, failure)
        return failure

    def put(self, key: str, module: Path, meta: dict[str, Any]) -> Path:
        """Keep a copy of the file `module` and the JSON object `meta`, here and there."""
        content = module.read_bytes()
        path = self._here.put_content(key, content, meta)
        self._there(lambda: self._send(key, content, meta))
        return path

    def put_failure(self, key: str, failure: dict[str, Any]) -> None:
        """Keep why there is no module with this key, here and there."""
        self._here.put_failure(key, failure)
        self._there(lambda: self._send_fields(key, {"failure": json.dumps(failure).encode()}))

    def _there(self, ask: Callable[[], T]) -> T | None:
        """What Valkey says; None, with a warning, if it does not answer or refuses."""
        try:
            with store_errors():
                return ask()
        except StoreError as error:
            log.warning("an artifact stays on this host: %s", error)
            return None

    def _fetch(self, key: str) -> bytes | None:
        """Copy a module from there to here; None if it is not there, or damaged."""
        found = self._there(lambda: self._load(key))
        if found is None:
            return None
        content, meta = found
        self._here.put_content(key, content, meta)
        return content

    def _load(self, key: str) -> tuple[bytes, dict[str, Any]] | None:
        name = keys.artifact(key)
        stored, count, first = self._client.hmget(name, "meta", "parts", "0")
        if stored is None:
            return None
        meta, parts = _object(stored) or {}, [first or b""]
        for number in range(1, int(count or 0)):
            parts.append(self._client.hget(name, str(number)) or b"")
        content = b"".join(parts)
        if hashlib.sha256(content).hexdigest() != meta.get("sha256"):
            self._drop(self._names(key), [key, "meta", stored])
            return None
        self._use(self._names(key), [key])
        return content, meta

    def _load_failure(self, key: str) -> dict[str, Any] | None:
        stored = self._client.hget(keys.artifact(key), "failure")
        if stored is None:
            return None
        failure = _object(stored)
        if failure is None:
            self._drop(self._names(key), [key, "failure", stored])
            return None
        self._use(self._names(key), [key])
        return failure

    def _keep(self, key: str, content: bytes, meta: Mapping[str, Any]) -> None:
        """It counts as used there; where it has gone, it is put back."""
        if not self._use(self._names(key), [key]):
            self._send(key, content, meta)

    def _send(self, key: str, content: bytes, meta: Mapping[str, Any]) -> None:
        if len(content) > self._max_bytes // _LARGEST_SHARE:
            log.warning("module %s has %d bytes and stays on this host", key, len(content))
            return
        parts = [content[at : at + PART_BYTES] for at in range(0, len(content), PART_BYTES)]
        told = json.dumps({**meta, "sha256": hashlib.sha256(content).hexdigest()})
        numbered = {str(number): part for number, part in enumerate(parts)}
        self._send_fields(key, {"meta": told.encode(), "parts": b"%d" % len(parts), **numbered})

    def _send_fields(self, key: str, fields: Mapping[str, bytes]) -> None:
        new = keys.artifact_on_its_way(secrets.token_hex(16))
        for field, value in fields.items():
            with self._client.pipeline() as pipe:
                pipe.hset(new, field, value)
                pipe.expire(new, ON_ITS_WAY_S)
                pipe.execute()
        size = sum(len(value) for value in fields.values())
        if not self._publish([*self._names(key), new], [key, size, self._max_bytes]):
            raise StoreError(f"artifact {key} took too long on its way to Valkey")

    def _names(self, key: str) -> list[str]:
        return [keys.artifact(key), keys.ARTIFACTS_USED, keys.ARTIFACTS_BYTES]


def _object(text: bytes) -> dict[str, Any] | None:
    """A JSON object; None if it is damaged."""
    with contextlib.suppress(ValueError):
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    return None
