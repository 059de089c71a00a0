"""The artifact store: built modules, and failures that would only repeat themselves, by key.

It has two homes. `DirectoryStore` is a directory, for one host or for hosts that share one.
`RedisStore` is the Valkey or Redis of the queue with such a directory in front of it on every
host, so that a worker finds what a builder on another host has made.

Both keep about so many bytes and let the least recently used go first, at any moment: a module
may be gone before the worker comes for it. That is `ArtifactLostError`, and it is built again.

What is read is checked against the SHA-256 that was stored with it; an entry that is damaged
counts as none. The hash lies beside what it describes, so it finds damage and no forgery: who may
write the directory, or has the password of Redis, can put any module there. A sandboxed compiler
may not: under a user of its own it writes its scratch directory alone, and it has no network. At
isolation `reduced` it runs as we do, and could.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from reward_service.build.store_directory import DirectoryStore, module_name
from reward_service.errors import PrerequisiteError
from reward_service.settings import Settings

__all__ = ["ArtifactStore", "module_name", "open_store"]


class ArtifactStore(Protocol):
    """Any number of builders and workers may use one at once.

    A key is 64 hex digits; one key means one module or one failure, so what is there stays.
    All methods raise StoreError where the directory cannot be written.
    """

    def get(self, key: str) -> Path | None:
        """The module with this key, and with that it counts as used; None if there is none.

        It is a file of this host, which may go at any time: to keep it, `read` it.
        """

    def read(self, key: str) -> bytes | None:
        """The module's content, and with that it counts as used; None if there is none."""

    def meta(self, key: str) -> dict[str, Any] | None:
        """What was put beside the module, and its `sha256`; None if there is none."""

    def get_failure(self, key: str) -> dict[str, Any] | None:
        """What `put_failure` was given; None if there is none."""

    def put(self, key: str, module: Path, meta: dict[str, Any]) -> Path:
        """Keep a copy of the file `module` and the JSON object `meta`; where it is here."""

    def put_failure(self, key: str, failure: dict[str, Any]) -> None:
        """Keep why there is no module with this key; only for failures that must repeat."""


def open_store(settings: Settings) -> ArtifactStore:
    """The store that the settings ask for; `PrerequisiteError` if it needs a REDIS_URL."""
    here = DirectoryStore(settings.artifact_dir, settings.artifact_cache_bytes)
    if settings.artifact_store == "directory":
        return here
    if settings.redis_url is None:
        raise PrerequisiteError(
            "REWARD_SERVICE_ARTIFACT_STORE is redis, and there is no REDIS_URL",
            "set it, or set REWARD_SERVICE_ARTIFACT_STORE=directory",
        )
    from reward_service.build.store_redis import RedisStore  # who has no Redis needs no client
    from reward_service.jobs.connection import connect

    client = connect(settings.redis_url.get_secret_value())
    return RedisStore(client, here, settings.artifact_redis_bytes)
