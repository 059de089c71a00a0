"""Run by `record` in the sandbox: runs a candidate's module level with recorders in the place of
`load_inline` and `load`, and writes each call as a line of JSON to descriptor 3.

Stdin holds `{"source": str, "problem": str | null}`; with a problem the candidate's `ModelNew` is
constructed too, because some build in their constructor. The last line is
`{"end": "done" | "stub" | "error" | "exit", ...}`; without it the program ended by itself.
"""

from __future__ import annotations

import importlib.util
import json
import linecache
import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any, NoReturn

_CHANNEL = 3
_MAX_CALLS = 64
_FILE = "candidate.py"


class NotBuiltError(RuntimeError):
    """The candidate used a module that is only being asked for."""


class _Recorded(types.ModuleType):
    """Stands for the module that will be built; whatever is called in it raises."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def not_built(*_: Any, **__: Any) -> NoReturn:
            raise NotBuiltError(f"{name} is called while the module level is only being recorded")

        return not_built


def main() -> None:
    """Record; see the module."""
    given = json.load(sys.stdin)
    _find_our_package()
    from torch.utils import cpp_extension

    count = 0

    def recorder(kind: Any) -> Any:
        from reward_service.formats.extension_call import ExtensionCall

        def record(*args: Any, **kwargs: Any) -> _Recorded | str:
            nonlocal count
            count += 1
            if count > _MAX_CALLS:
                raise ValueError(f"more than {_MAX_CALLS} extensions")
            call = ExtensionCall.capture(kind, args, kwargs)
            _write({"call": call.to_json()})
            return _Recorded(call.name) if call.is_python_module else call.name

        return record

    cpp_extension.load_inline = recorder("load_inline")
    cpp_extension.load = recorder("load")
    constructing = False
    try:
        candidate = _module("candidate", given["source"], _FILE)
        if given["problem"] is not None:
            constructing = True
            problem = _module("problem", given["problem"], "problem.py")
            candidate.ModelNew(*problem.get_init_inputs())
        end: dict[str, Any] = {"end": "done"}
    except NotBuiltError:
        end = {"end": "stub"}
    except SystemExit as error:
        end = {"end": "exit", "message": str(error.code)}
    except BaseException as error:  # noqa: BLE001 - any end of foreign code is told
        end = {"end": "error", "constructing": constructing, **_describe(error)}
    _write(end)
    os._exit(0)


def _find_our_package() -> None:
    """By its place: the directory that a checkout lies in cannot be listed from here."""
    place = Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location(
        place.name, place / "__init__.py", submodule_search_locations=[str(place)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = sys.modules[place.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


def _module(name: str, source: str, file: str) -> Any:
    path = os.path.abspath(file)
    Path(path).write_text(source)
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def _describe(error: BaseException) -> dict[str, Any]:
    """What happened, and the last line of the candidate's own."""
    import torch

    path = os.path.abspath(_FILE)
    own = [f for f, _ in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == path]
    lines = [n for f, n in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == path]
    line = lines[-1] if own else None
    text = str(error)[:1000]
    return {
        "type": type(error).__name__[:100],
        "message": text,
        "line": line,
        "text": linecache.getline(path, line).strip()[:200] if line else "",
        "no_device": not torch.cuda.is_available() and ("CUDA" in text or "NVIDIA" in text),
    }


def _write(what: dict[str, Any]) -> None:
    data = json.dumps(what).encode() + b"\n"
    while data:
        data = data[os.write(_CHANNEL, data) :]


if __name__ == "__main__":
    main()
