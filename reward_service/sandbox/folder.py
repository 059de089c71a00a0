"""Folders of a process's own that do not outlive it by much.

Each is locked by its owner; the kernel drops the lock when the owner dies, however it dies, and
whoever makes the next folder beside it removes what nobody holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_LOCK = "lock"
_NEW = "new-"


def temporary_root() -> Path:
    """Where this user's folders lie that need not be kept; made if it is not there."""
    root = Path(tempfile.gettempdir()) / f"reward-service-{os.geteuid()}"
    root.mkdir(mode=0o711, exist_ok=True)
    if root.stat().st_uid != os.geteuid():
        raise PermissionError(f"{root} belongs to another user")
    return root


@contextlib.contextmanager
def own_folder(root: Path) -> Iterator[Path]:
    """A new folder below `root`, removed at the end.

    Others pass through it to what they know the name of, and see no names.
    """
    root.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(root)
    name = secrets.token_hex(8)
    new, folder = root / f"{_NEW}{name}", root / name
    new.mkdir()
    new.chmod(0o711)
    with (new / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        new.rename(folder)  # nobody takes it for abandoned before it is locked
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def empty(folder: Path) -> None:
    """Remove what foreign code left in a folder, however deep it lies."""
    entries = [entry.path for entry in os.scandir(folder)]
    if entries:
        subprocess.run(["rm", "-rf", "--", *entries], check=True)


def _remove_abandoned(root: Path) -> None:
    """Remove the folders whose owner no longer holds their lock; a pid would say nothing about
    processes of another container that shares the directory."""
    for folder in root.iterdir():
        if folder.name.startswith(_NEW):
            continue
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError, BlockingIOError),
            (folder / _LOCK).open() as lock,
        ):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
