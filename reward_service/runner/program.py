"""Loads a program (a problem or a candidate) from its source, with its extension calls answered.

`load_inline` and `load` do not compile here: the build stage did, in its own sandbox. A call is
looked up by the key of its arguments and answered with the built module; a call that was not
seen at build time is an error.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch.utils.cpp_extension as cpp_extension

from reward_service.formats.extension_call import ExtensionCall, Kind
from reward_service.runner.frames import Frame, enclose, operators


class UnknownExtensionError(RuntimeError):
    """The program asked for an extension that the build stage did not see."""


def load_program(source: str, name: str) -> ModuleType:
    """Run `source` as a module of its own, from a file in the working directory, so that
    tracebacks show its lines."""
    path = Path.cwd() / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module_spec = importlib.util.spec_from_loader(name, loader)
    assert module_spec is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def answer_extension_calls(modules: Mapping[str, str], frame: Frame | None = None) -> set[str]:
    """Answer `load_inline` and `load` from `modules`: key of the call -> path of its module.

    The functions of the modules are put into `frame`. The set that is returned comes to hold the
    operators that modules register with torch.
    """
    loaded: dict[str, ModuleType] = {}
    registered: set[str] = set()

    def answer(kind: Kind, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ModuleType:
        key = ExtensionCall.capture(kind, args, kwargs).key
        if key not in modules:
            raise UnknownExtensionError(
                f"this {kind} call has other arguments than when the program was built; "
                "make its sources and flags the same on every run"
            )
        if key not in loaded:
            before = operators() if frame is not None else set()
            loaded[key] = _load_extension(Path(modules[key]))
            if frame is not None:
                new = operators() - before
                enclose(loaded[key], new, frame)
                registered.update(new)
        return loaded[key]

    def load_inline(*args: Any, **kwargs: Any) -> ModuleType:
        return answer("load_inline", args, kwargs)

    def load(*args: Any, **kwargs: Any) -> ModuleType:
        return answer("load", args, kwargs)

    cpp_extension.load_inline = load_inline
    cpp_extension.load = load
    return registered


def _load_extension(path: Path) -> ModuleType:
    name = path.name.split(".")[0]
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    module_spec = importlib.util.spec_from_loader(name, loader)
    assert module_spec is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module
