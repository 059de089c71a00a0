"""The `kernelbench` format: Python source that defines `ModelNew`, usually around `load_inline`.

`extract` finds the calls of `load_inline` and `load` in the source and reads their arguments
where these are constant, wherever the call stands. Where it cannot be sure to have them all, it
says `needs_recording`: then the module level is run in the sandbox as well, and both kinds of
find are built. What neither finds, the runner reports when the candidate asks for it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from reward_service.findings import Finding
from reward_service.formats.extension_call import BadExtensionCall, ExtensionCall, Kind
from reward_service.formats.literals import Evaluator, NotLiteralError
from reward_service.formats.syntax import NOT_PYTHON, parse
from reward_service.schemas import Reason

_MODULE = "torch.utils.cpp_extension"
_FUNCTIONS: dict[str, Kind] = {f"{_MODULE}.load_inline": "load_inline", f"{_MODULE}.load": "load"}
_MENTION = re.compile(r"cpp_extension|load_inline")
# With these a program can call what its text does not name, ...
_HIDING = frozenset({"exec", "eval", "compile", "__import__", "importlib", "runpy"})
# ... and with these it can give another value to a name or attribute that its text binds.
_REBINDING = frozenset({"getattr", "setattr", "globals", "locals", "vars", "__builtins__"})
_REBINDING_ATTRIBUTES = frozenset({"__dict__", "modules"})


@dataclass(frozen=True)
class Extraction:
    """What the source says about the extensions it builds."""

    calls: tuple[ExtensionCall, ...]
    """The calls that were read off the source, each once."""
    needs_recording: str | None
    """Why the source may make further calls; None: these are all."""
    in_function: bool
    """A call that could not be read stands in a function or method."""


def extract(source: str) -> Extraction | Finding:
    """Read the extension calls off a candidate's source; a Finding if it is not Python."""
    try:
        tree = parse(source)
    except NOT_PYTHON as error:
        return _not_python(error)
    names = _names(tree)
    hiding = sorted(names & _HIDING)
    if not _MENTION.search(source):
        return Extraction((), f"it uses {hiding[0]}" if hiding else None, bool(hiding))
    try:
        return _extract(tree, sorted(names & (_HIDING | _REBINDING)))
    except RecursionError:
        return Extraction((), "it nests too deeply", True)


def _extract(tree: ast.Module, suspicious: list[str]) -> Extraction:
    evaluator = Evaluator(tree)
    calls: dict[str, ExtensionCall] = {}
    why = f"it uses {suspicious[0]}" if suspicious else None
    in_function = bool(suspicious)
    understood: set[ast.expr] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        kind = _FUNCTIONS.get(evaluator.path(node.func) or "")
        if kind is None:
            continue
        understood.add(node.func)
        try:
            call = _read(evaluator, kind, node)
        except (NotLiteralError, BadExtensionCall) as error:
            why = f"line {node.lineno}: {error}"
            in_function |= evaluator.scopes.of[node] is not evaluator.scopes.module
        else:
            calls.setdefault(call.key, call)
    loose = _loose_use(tree, evaluator, understood)
    if loose is not None:
        why, in_function = loose, True
    return Extraction(tuple(calls.values()), why, in_function)


def _read(evaluator: Evaluator, kind: Kind, node: ast.Call) -> ExtensionCall:
    if kind == "load":
        raise NotLiteralError("load reads files")
    args = ["", *(evaluator.value(a) for a in node.args[1:])] if node.args else []
    named = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise NotLiteralError("**arguments")
        if keyword.arg not in ("name", "build_directory", "verbose"):
            named[keyword.arg] = evaluator.value(keyword.value)
    if named.get("extra_include_paths"):
        raise NotLiteralError("extra_include_paths names directories")
    if not args:
        named["name"] = ""
    return ExtensionCall.capture(kind, args, named)


def _names(tree: ast.Module) -> set[str]:
    """The names that are read and the modules that are imported; of attributes only those that
    open a namespace, since `model.eval()` and `re.compile()` are harmless."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name):
                names.add(name)
            case ast.Attribute(attr=name) if name in _REBINDING_ATTRIBUTES:
                names.update(_REBINDING)
            case ast.Import(names=aliases):
                names.update(a.name.split(".")[0] for a in aliases)
            case ast.ImportFrom(module=str() as module):
                names.add(module.split(".")[0])
    return names


def _loose_use(tree: ast.Module, evaluator: Evaluator, understood: set[ast.expr]) -> str | None:
    """A mention of the functions or of their module that is no direct call."""
    inner = {n.value for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    imported = _imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == _MODULE:
            if any(alias.name == "*" for alias in node.names):
                return f"line {node.lineno}: import *"
        elif isinstance(node, (ast.Name, ast.Attribute)) and node not in understood:
            path = evaluator.path(node)
            if path in _FUNCTIONS or (path == _MODULE and node not in inner):
                return f"line {node.lineno}: {path} is used in another way than called"
            name = node.id if isinstance(node, ast.Name) else node.attr
            known = imported if isinstance(node, ast.Name) else {"load_inline", "cpp_extension"}
            if path is None and name in known:
                return f"line {node.lineno}: {name} may mean more than one thing"
    return None


def _imported(tree: ast.Module) -> set[str]:
    """The names under which the source imports the functions or their module."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            paths = {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            paths = {a.asname: a.name for a in node.names if a.asname}
        else:
            continue
        found |= {name for name, path in paths.items() if path in {*_FUNCTIONS, _MODULE}}
    return found


def _not_python(error: Exception) -> Finding:
    if isinstance(error, SyntaxError):
        line = (error.text or "").strip()[:200]
        message = f"line {error.lineno}: {error.msg}: {line}" if line else f"{error.msg}"
    else:
        message = f"it cannot be parsed: {type(error).__name__}: {error}"
    return Finding(Reason.BUILD_FAILED, f"the candidate is not Python: {message}"[:1000])
