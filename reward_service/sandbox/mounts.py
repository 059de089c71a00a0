"""Lets a process under another uid reach trees that lie under a closed directory.

An interpreter is often installed below a home directory that only its owner may enter, so that
a process that gives up its user could no longer read its own standard library. `expose` gives
the calling process a mount namespace of its own and, for each tree with an ancestor that others
may not enter, covers the topmost such ancestor with a tiny empty file system and binds the tree
back at its old path. The rest of that directory is hidden from the process with it. Nothing
changes for any other process.

The trees' own permissions stay what they are: a tree that others may not read is an error.
"""

from __future__ import annotations

import importlib.util
import os
import stat
import sys
from collections.abc import Iterable, Sequence

from reward_service.sandbox import libc

_COVER = "size=1m,nr_inodes=4096,mode=0755"


def interpreter_trees() -> list[str]:
    """The trees that this interpreter, torch and this package are read from."""
    trees = [sys.prefix, sys.base_prefix, *(p for p in sys.path if os.path.isabs(p))]
    for name in ("reward_service", "torch"):
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations or []) if spec else []:
            trees.append(place)
    return [t for t in dict.fromkeys(trees) if os.path.exists(t)]


class UnreachableError(OSError):
    """A tree cannot be made reachable; `missing` says which, `fix` what to do."""

    def __init__(self, missing: str, path: str, mode: str = "o+x") -> None:
        super().__init__(missing)
        self.missing = missing
        self.fix = f"run `chmod {mode} {path}`, or install it elsewhere"


def expose(
    paths: Iterable[str | os.PathLike[str]] = (),
    *,
    writable: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Make what the interpreter needs, and `paths`, reachable for any uid; see `expose_only`.

    Raises PrerequisiteError with the path and the fix where that cannot be had.
    """
    try:
        expose_only([*(os.fspath(p) for p in paths), *interpreter_trees()], writable)
    except UnreachableError as error:
        # Imported here because the error's module needs pydantic, and `launch` has none.
        from reward_service.errors import PrerequisiteError

        raise PrerequisiteError(error.missing, error.fix) from error


def expose_only(
    paths: Iterable[str | os.PathLike[str]],
    writable: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Make `paths` and `writable` reachable for any uid, `paths` read-only where they are bound.

    To be called once, as root, with everything that will be needed: what else lies under a
    covered directory is gone for this process and its children. Raises UnreachableError.
    """
    read_only = _places(paths)
    writables = _places(writable)
    blocked = {p: a for p in [*read_only, *writables] if (a := blocked_ancestor(p)) is not None}
    for place in read_only:
        _require_readable(place)
    if not blocked:
        return
    try:
        _bind(blocked, set(writables))
    except OSError as error:
        path, ancestor = next(iter(blocked.items()))
        raise UnreachableError(
            f"{path} cannot be reached under another user id ({error})", ancestor
        ) from error


def blocked_ancestor(path: str) -> str | None:
    """The topmost directory above `path` that others may not enter, if there is one."""
    parts = path.split("/")[1:-1]
    for n in range(len(parts) + 1):
        ancestor = "/" + "/".join(parts[:n])
        if not os.stat(ancestor).st_mode & stat.S_IXOTH:
            return ancestor
    return None


def _places(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Each path as it is written and with its links resolved, since both get walked."""
    both = [p for path in paths for p in (os.path.abspath(path), os.path.realpath(path))]
    return list(dict.fromkeys(both))


def _require_readable(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise UnreachableError(f"{path} cannot be read ({error.strerror})", path) from error
    need = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    if mode & need != need:
        raise UnreachableError(f"{path} is closed to other users", path, "o+rX")


def _bind(blocked: dict[str, str], writable: set[str]) -> None:
    """Cover each ancestor and bind back what is under it; outer trees before inner ones."""
    libc.private_mounts()  # before the opens: only what was opened inside can be bound
    paths = _outermost(blocked, writable)
    held = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths}
    try:
        covers = sorted(set(blocked.values()))
        for ancestor in covers:
            flags = libc.MS_NOSUID | libc.MS_NODEV
            libc.mount("tmpfs", ancestor, "tmpfs", flags, _COVER)
        for path, fd in held.items():
            _make_target(path, directory=stat.S_ISDIR(os.fstat(fd).st_mode))
            libc.mount(f"/proc/self/fd/{fd}", path, None, libc.MS_BIND | libc.MS_REC)
            flags = libc.MS_REMOUNT | libc.MS_BIND | libc.MS_NOSUID | libc.MS_NODEV
            if path not in writable:
                flags |= libc.MS_RDONLY
            libc.mount(None, path, None, flags)
        for ancestor in covers:
            flags = libc.MS_REMOUNT | libc.MS_RDONLY | libc.MS_NOSUID | libc.MS_NODEV
            libc.mount(None, ancestor, None, flags, _COVER)
    finally:
        for fd in held.values():
            os.close(fd)


def _outermost(blocked: Iterable[str], writable: set[str]) -> Sequence[str]:
    """The paths without those that lie under another one of the same kind."""
    kept: list[str] = []
    for path in sorted(blocked):
        above = [k for k in kept if path.startswith(k + "/")]
        if not above or (path in writable) != (above[-1] in writable):
            kept.append(path)
    return kept


def _make_target(path: str, *, directory: bool) -> None:
    if os.path.exists(path):
        return  # inside a tree that was bound before
    made = path if directory else os.path.dirname(path)
    missing = []
    while not os.path.exists(made):
        missing.append(made)
        made = os.path.dirname(made)
    for folder in reversed(missing):
        os.mkdir(folder)
        os.chmod(folder, 0o755)  # whatever the umask
    if not directory:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
