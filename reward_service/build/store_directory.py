"""The artifact store in a directory.

    <root>/<key[:2]>/<key>/rs_<key[:24]>.so     the module, and beside it
                          /meta.json            its SHA-256 and how it came about
                          /failure.json         instead of both: why there is none

An entry appears by one rename, so that there is never half of one, and there are no locks: a
process that dies leaves at most a folder `new-*`, which a later one removes. A folder's time of
change says when it was last used. Looking at all entries takes a tenth of a second where there
are thousands, so each process does it at its first put and then once in 1/256 of the bound; it
makes room for 1/16, and so sixteen builders at once keep the bound.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reward_service.errors import StoreError

_KEY = re.compile(r"[0-9a-f]{64}")
_ABANDONED_S = 3600.0
_LOOKS = 256
_FREE = 16


def module_name(key: str) -> str:
    """The Python name of the module with this key."""
    return f"rs_{key[:24]}"


class DirectoryStore:
    """Readable by every user, so that a runner can load from it; writable by us alone."""

    def __init__(self, root: Path, max_bytes: int) -> None:
        self.root = root
        self.max_bytes = max_bytes
        self._unseen: float = max_bytes
        """Bytes put since this process looked at all entries."""

    def path(self, key: str) -> Path:
        """Where the module with this key is, if there is one."""
        return self._folder(key) / f"{module_name(key)}.so"

    def get(self, key: str) -> Path | None:
        """The module with this key; None if there is none. A damaged entry is removed."""
        return None if self.read(key) is None else self.path(key)

    def read(self, key: str) -> bytes | None:
        """The module's content, likewise."""
        folder = self._folder(key)
        meta = self.meta(key)
        if meta is None:
            return None
        try:
            content = self.path(key).read_bytes()
            if hashlib.sha256(content).hexdigest() == meta.get("sha256"):
                _use(folder)
                return content
        except FileNotFoundError:
            pass  # gone meanwhile, or never complete: removed below
        self._remove(folder)
        return None

    def meta(self, key: str) -> dict[str, Any] | None:
        """What was put beside the module, and its `sha256`; None if there is none."""
        return self._json(key, "meta.json")

    def get_failure(self, key: str) -> dict[str, Any] | None:
        """What `put_failure` was given; None if there is none."""
        failure = self._json(key, "failure.json")
        if failure is not None:
            with contextlib.suppress(FileNotFoundError):
                _use(self._folder(key))
        return failure

    def put(self, key: str, module: Path, meta: dict[str, Any]) -> Path:
        """Keep a copy of the file `module` and the JSON object `meta`; returns where."""
        return self.put_content(key, module.read_bytes(), meta)

    def put_content(self, key: str, content: bytes, meta: dict[str, Any]) -> Path:
        """As `put`, where the module is not in a file."""
        meta = {**meta, "sha256": hashlib.sha256(content).hexdigest()}
        files = {self.path(key).name: content, "meta.json": json.dumps(meta).encode()}
        self._put(key, files)
        return self.path(key)

    def put_failure(self, key: str, failure: dict[str, Any]) -> None:
        """Keep why there is no module with this key."""
        self._put(key, {"failure.json": json.dumps(failure).encode()})

    def _put(self, key: str, files: dict[str, bytes]) -> None:
        target = self._folder(key)
        new = self._new()
        try:
            for folder in (self.root, target.parent, new):
                folder.mkdir(parents=True, exist_ok=True)
                folder.chmod(0o755)
            for name, content in files.items():
                (new / name).write_bytes(content)
                (new / name).chmod(0o644)
            _use(new)
            new.rename(target)
        except OSError as error:
            shutil.rmtree(new, ignore_errors=True)
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):  # another has put it meanwhile
                raise StoreError(f"the artifact store at {self.root}: {error}") from error
        self._unseen += sum(len(content) for content in files.values())
        if self._unseen * _LOOKS >= self.max_bytes:
            self._shrink(keep=target)
            self._unseen = 0

    def _shrink(self, keep: Path) -> None:
        """Remove the least recently used entries until the rest fits."""
        now = time.time()
        entries = []
        for folder in self._entries():
            with contextlib.suppress(FileNotFoundError):
                used = folder.stat().st_mtime_ns
                if folder.name.startswith("new-"):
                    if now - used / 1e9 > _ABANDONED_S:
                        self._remove(folder)
                    continue
                size = sum(f.stat().st_size for f in folder.iterdir())
                entries.append((used, size, folder))
        most = self.max_bytes - self.max_bytes // _FREE
        total = sum(size for _, size, _ in entries)
        for _, size, folder in sorted(entries):
            if total <= most:
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

    def _new(self) -> Path:
        return self.root / f"new-{os.getpid()}-{secrets.token_hex(8)}"

    def _remove(self, folder: Path) -> None:
        """Out of sight at once, then out of the world."""
        gone = self._new()
        with contextlib.suppress(FileNotFoundError):
            folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)


def _use(folder: Path) -> None:
    # Not the system's own stamp, which is that of the last tick: order must survive within one.
    now = time.time_ns()
    os.utime(folder, ns=(now, now))
