"""One call of torch's `load_inline` or `load`, as plain data.

The build stage makes a call from what it read off the source or recorded; the runner makes one
from the arguments that the candidate really passed. Both get the same `key` when the same module
is meant, and that is how a built module finds its way back. The name, the build directory and
whatever else does not change the module are no part of the key.

This module needs the standard library only: the runner imports it beside foreign code.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

Kind = Literal["load_inline", "load"]

MAX_CHARS = 4 << 20
"""Characters that the sources and headers of one call may have together."""
MAX_ITEMS = 256
"""Entries that each list of a call may have."""

_PARAMETERS: dict[Kind, str] = {
    "load_inline": "name cpp_sources cuda_sources sycl_sources functions extra_cflags "
    "extra_cuda_cflags extra_sycl_cflags extra_ldflags extra_include_paths build_directory verbose "
    "with_cuda with_sycl is_python_module with_pytorch_error_handling keep_intermediates use_pch "
    "no_implicit_headers",
    "load": "name sources extra_cflags extra_cuda_cflags extra_sycl_cflags extra_ldflags "
    "extra_include_paths build_directory verbose with_cuda with_sycl is_python_module "
    "is_standalone keep_intermediates",
}
"""The arguments of each function, in torch's order."""
_CUDA_SUFFIXES = (".cu", ".cuh")
_HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".cuh", ".inl")
_UNSUPPORTED = ("sycl_sources", "extra_sycl_cflags", "with_sycl", "is_standalone")

_TEXT_FIELDS = (
    "cpp_sources",
    "cuda_sources",
    "extra_cflags",
    "extra_cuda_cflags",
    "extra_ldflags",
    "extra_include_paths",
)
_PAIR_FIELDS = ("functions", "sources", "headers")
_FLAG_FIELDS = (
    "with_cuda",
    "is_python_module",
    "with_pytorch_error_handling",
    "no_implicit_headers",
)

Texts = tuple[str, ...]
Pairs = tuple[tuple[str, str], ...]


class BadExtensionCall(ValueError):  # noqa: N818 - named like the call it is about
    """The arguments are not what `load_inline` or `load` takes, or not plain data."""


@dataclass(frozen=True)
class ExtensionCall:
    """What one call asks to be built. Build it with `capture`, or with `from_json`."""

    kind: Kind
    name: str = field(default="", compare=False)
    """What the candidate calls the module: for messages only, never in a path or a command."""
    cpp_sources: Texts = ()
    cuda_sources: Texts = ()
    functions: Pairs | None = None
    """`load_inline`: names to bind, with their docstrings; None: the source binds by itself."""
    sources: Pairs = ()
    """`load`: file names without directory, and their text."""
    headers: Pairs = ()
    """Headers found beside the sources of `load` and in include directories of its own."""
    extra_cflags: Texts = ()
    extra_cuda_cflags: Texts = ()
    extra_ldflags: Texts = ()
    extra_include_paths: Texts = ()
    with_cuda: bool = False
    is_python_module: bool = True
    with_pytorch_error_handling: bool = True
    no_implicit_headers: bool = False

    @classmethod
    def capture(cls, kind: Kind, args: Sequence[Any], kwargs: Mapping[str, Any]) -> ExtensionCall:
        """The call with these Python arguments.

        Files that it names (sources of `load`, include directories below the working directory)
        are read now. Raises BadExtensionCall, with the argument at fault, for what torch would
        refuse or we cannot do.
        """
        given = _bind(kind, args, kwargs)
        for unsupported in _UNSUPPORTED:
            if given.get(unsupported):
                raise BadExtensionCall(f"{kind}: {unsupported} is not supported")
        paths = [Path(p).absolute() for p in _texts(given, "sources", one=True)]
        include, own = _split_include(_texts(given, "extra_include_paths"))
        cuda_sources = _texts(given, "cuda_sources", one=True)
        with_cuda = given.get("with_cuda")
        if with_cuda is None:
            with_cuda = bool(cuda_sources) or any(p.suffix in _CUDA_SUFFIXES for p in paths)
        call = cls(
            kind=kind,
            name=str(given["name"])[:200],
            cpp_sources=_texts(given, "cpp_sources", one=True),
            cuda_sources=cuda_sources,
            functions=_functions(given.get("functions")),
            sources=tuple((p.name, _read(p)) for p in paths),
            headers=_headers([*(p.parent for p in paths), *own], paths),
            extra_cflags=_texts(given, "extra_cflags"),
            extra_cuda_cflags=_texts(given, "extra_cuda_cflags"),
            extra_ldflags=_texts(given, "extra_ldflags"),
            extra_include_paths=include,
            with_cuda=bool(with_cuda),
            is_python_module=bool(given.get("is_python_module", True)),
            with_pytorch_error_handling=bool(given.get("with_pytorch_error_handling", True)),
            no_implicit_headers=bool(given.get("no_implicit_headers", False)),
        )
        call._check()
        return call

    @classmethod
    def from_json(cls, data: object) -> ExtensionCall:
        """The call that `to_json` gave `data`; raises BadExtensionCall for any other value."""
        if not isinstance(data, dict) or data.keys() != {f.name for f in fields(cls)}:
            raise BadExtensionCall("the record of a call must be an object with its fields")
        values: dict[str, Any] = {
            key: tuple(tuple(v) if isinstance(v, list) else v for v in value)
            if isinstance(value, list)
            else value
            for key, value in data.items()
        }
        call = cls(**values)
        call._check()
        return call

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self)

    @property
    def key(self) -> str:
        """Hex SHA-256 of all that determines the module."""
        data = self.to_json()
        del data["name"]
        canonical = json.dumps(data, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def _check(self) -> None:
        """Raise BadExtensionCall unless every field has its type and the whole its size."""
        if self.kind not in get_args(Kind) or not isinstance(self.name, str):
            raise BadExtensionCall("the record of a call has no kind or name")
        for which in _TEXT_FIELDS:
            _require(which, getattr(self, which), _is_text)
        for which in _PAIR_FIELDS:
            value = getattr(self, which)
            if value is not None or which != "functions":
                _require(which, value, _is_pair)
        for which in _FLAG_FIELDS:
            if not isinstance(getattr(self, which), bool):
                raise BadExtensionCall(f"{which} must be true or false")
        texts = [*self.cpp_sources, *self.cuda_sources]
        texts += [text for _, text in (*self.sources, *self.headers)]
        if sum(map(len, texts)) > MAX_CHARS:
            raise BadExtensionCall(
                f"the sources of one call are larger than {MAX_CHARS} characters"
            )
        names = [name for name, _ in (*self.sources, *self.headers)]
        if len(set(names)) != len(names) or any(not _is_file_name(n) for n in names):
            raise BadExtensionCall("sources and headers must have distinct, plain file names")


def _bind(kind: Kind, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    names = _PARAMETERS[kind].split()
    if len(args) > len(names):
        raise BadExtensionCall(f"{kind} takes {len(names)} arguments, not {len(args)}")
    given = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key not in names:
            raise BadExtensionCall(f"{kind} has no argument {key!r}")
        if key in given:
            raise BadExtensionCall(f"{kind}: {key} is given twice")
        given[key] = value
    for needed in names[:2]:
        if needed not in given:
            raise BadExtensionCall(f"{kind} needs {needed}")
    return given


def _texts(given: Mapping[str, Any], which: str, *, one: bool = False) -> Texts:
    """The strings of an argument; `one`: a string alone is a list of one."""
    value = given.get(which)
    if value is None:
        return ()
    if one and isinstance(value, str):
        value = [value] if value else []
    if isinstance(value, (list, tuple)):
        texts = tuple(os.fspath(v) if isinstance(v, os.PathLike) else v for v in value)
        if len(texts) <= MAX_ITEMS and all(map(_is_text, texts)):
            return texts
    raise BadExtensionCall(
        f"{which} must be {'a string or ' if one else ''}a list of at most {MAX_ITEMS} strings"
    )


def _functions(value: object) -> Pairs | None:
    if value is None:
        return None
    if isinstance(value, dict):
        return tuple(value.items())
    names = _texts({"functions": value}, "functions", one=True)
    return tuple((name, name) for name in dict.fromkeys(names))


def _split_include(given: Texts) -> tuple[Texts, list[Path]]:
    """The include directories, and apart from them those below the working directory: these are
    in another place in every process, so that what is in them stands for them."""
    paths = [Path(p).absolute() for p in given]
    own = [p for p in paths if p.is_relative_to(Path.cwd())]
    return tuple(os.fspath(p) for p in paths if p not in own), own


def _headers(folders: Iterable[Path], sources: Iterable[Path]) -> Pairs:
    found: dict[str, Path] = {}
    for folder in folders:
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            if entry.suffix in _HEADER_SUFFIXES and entry not in sources:
                found.setdefault(entry.name, entry)
    if len(found) > MAX_ITEMS:
        raise BadExtensionCall(f"more than {MAX_ITEMS} headers beside the sources")
    return tuple((name, _read(path)) for name, path in sorted(found.items()))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CHARS + 1)
    except OSError as error:
        raise BadExtensionCall(f"{path.name} cannot be read ({error.strerror})") from error
    return content.decode(errors="replace")


def _require(which: str, value: object, test: Any) -> None:
    if not isinstance(value, tuple) or len(value) > MAX_ITEMS or not all(map(test, value)):
        raise BadExtensionCall(f"{which} must be at most {MAX_ITEMS} strings (UTF-8)")


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_text, value))


def _is_file_name(name: str) -> bool:
    return bool(name) and name[0] not in ".-" and not set(name) & set("/\0\n")
