"""The artifact store: built modules, and failures that would only repeat themselves, by key.

    <root>/<key[:2]>/<key>/rs_<key[:24]>.so     the module, and beside it
                          /meta.json            its SHA-256 and how it came about
                          /failure.json         instead of both: why there is none

An entry appears by one rename, so that there is never half of one; a process that dies leaves at
most a folder `new-*`, which a later one removes. What is read is verified. Any number of
processes may share a store; the least recently used entries go when it grows too large.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reward_service.errors import StoreError

_KEY = re.compile(r"[0-9a-f]{64}")
_ABANDONED_S = 3600.0


def module_name(key: str) -> str:
    """The Python name of the module with this key."""
    return f"rs_{key[:24]}"


@dataclass(frozen=True)
class ArtifactStore:
    """Readable by every user, so that a runner can load from it; writable by us alone."""

    root: Path
    max_bytes: int

    def get(self, key: str) -> Path | None:
        """The module with this key; None if there is none. A damaged entry is removed."""
        folder = self._folder(key)
        meta = self.meta(key)
        if meta is None:
            return None
        module = folder / f"{module_name(key)}.so"
        try:
            if hashlib.sha256(module.read_bytes()).hexdigest() == meta.get("sha256"):
                os.utime(folder)
                return module
        except FileNotFoundError:
            pass  # gone meanwhile, or never complete: removed below
        self._remove(folder)
        return None

    def meta(self, key: str) -> dict[str, Any] | None:
        """What was put beside the module, and its `sha256`; None if there is none."""
        return self._json(key, "meta.json")

    def get_failure(self, key: str) -> dict[str, Any] | None:
        """What `put_failure` was given; None if there is none."""
        return self._json(key, "failure.json")

    def put(self, key: str, module: Path, meta: dict[str, Any]) -> Path:
        """Keep a copy of the file `module` and the JSON object `meta`; returns where.

        An entry that is already there stays: one key means one module. Raises StoreError where
        the store cannot be written.
        """
        content = module.read_bytes()
        meta = {**meta, "sha256": hashlib.sha256(content).hexdigest()}
        name = f"{module_name(key)}.so"

        def write(folder: Path) -> None:
            _write(folder / name, content)
            _write(folder / "meta.json", json.dumps(meta).encode())

        self._put(key, write)
        return self._folder(key) / name

    def put_failure(self, key: str, failure: dict[str, Any]) -> None:
        """Keep why there is no module with this key; only for failures that must repeat."""
        self._put(key, lambda f: _write(f / "failure.json", json.dumps(failure).encode()))

    def _put(self, key: str, write: Callable[[Path], None]) -> None:
        target = self._folder(key)
        new = self.root / f"new-{os.getpid()}-{secrets.token_hex(8)}"
        try:
            for folder in (self.root, target.parent, new):
                folder.mkdir(parents=True, exist_ok=True)
                folder.chmod(0o755)
            write(new)
            new.rename(target)
        except OSError as error:
            shutil.rmtree(new, ignore_errors=True)
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):  # another has put it meanwhile
                raise StoreError(f"the artifact store at {self.root}: {error}") from error
        self._shrink(keep=target)

    def _shrink(self, keep: Path) -> None:
        """Remove the least recently used entries until the rest fits."""
        now = time.time()
        entries = []
        for folder in self._entries():
            with contextlib.suppress(FileNotFoundError):
                used = folder.stat().st_mtime
                if folder.name.startswith("new-"):
                    if now - used > _ABANDONED_S:
                        self._remove(folder)
                    continue
                size = sum(f.stat().st_size for f in folder.iterdir())
                entries.append((used, size, folder))
        total = sum(size for _, size, _ in entries)
        for _, size, folder in sorted(entries):
            if total <= self.max_bytes:
                return
            if folder != keep:
                self._remove(folder)
                total -= size

    def _entries(self) -> Iterator[Path]:
        for first in self.root.iterdir():
            if first.name.startswith("new-"):
                yield first
            elif len(first.name) == 2:
                with contextlib.suppress(FileNotFoundError):
                    yield from first.iterdir()

    def _json(self, key: str, name: str) -> dict[str, Any] | None:
        folder = self._folder(key)
        try:
            data = json.loads((folder / name).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            data = None
        if not isinstance(data, dict):
            self._remove(folder)
            return None
        return data

    def _folder(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"not an artifact key: {key!r}")
        return self.root / key[:2] / key

    def _remove(self, folder: Path) -> None:
        """Out of sight at once, then out of the world."""
        gone = self.root / f"new-{os.getpid()}-{secrets.token_hex(8)}"
        with contextlib.suppress(FileNotFoundError):
            folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o644)
