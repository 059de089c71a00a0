"""What in a candidate's source a person may want to look at; it decides nothing.

Text proves nothing: what is harmless can look odd, and what is hostile can be put together while
it runs. So a hint is a warning beside a verdict that was reached by measuring, and no more. Names
are followed through imports in the syntax tree; comments and strings, and with them all C++ and
CUDA, are never looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from reward_service.formats.syntax import NOT_PYTHON, parse

MAX_HINTS = 10

_USES: dict[str, str] = {
    "sys._getframe": "looks at its callers",
    "sys._current_frames": "looks at its callers",
    "inspect.currentframe": "looks at its callers",
    "inspect.stack": "looks at its callers",
    "gc.get_objects": "looks for objects of others",
    "gc.get_referrers": "looks for objects of others",
    "sys.setprofile": "watches what others call",
    "sys.settrace": "watches what others call",
    "sys.meta_path": "changes how modules are found",
    "ctypes": "reaches native code beside its extension",
    "cffi": "reaches native code beside its extension",
    "os.environ": "reads or changes the environment",
    "os.getenv": "reads or changes the environment",
    "os.putenv": "reads or changes the environment",
    "subprocess": "starts processes",
    "multiprocessing": "starts processes",
    "os.fork": "starts processes",
    "os.system": "starts processes",
    "os.kill": "sends signals",
    "os._exit": "ends its process",
    "os.abort": "ends its process",
    "socket": "uses the network",
    "urllib": "uses the network",
    "http": "uses the network",
    "requests": "uses the network",
}
_IDENTITIES = frozenset({"data_ptr", "_version"})
_LOOKUPS = frozenset({"get", "setdefault", "pop"})
_FLAGS = "torch.backends."
"""Numerics are set here by honest programs; the policy sees to them."""


def hints(source: str) -> tuple[str, ...]:
    """At most `MAX_HINTS` warnings, in the order of the lines, each name once."""
    try:
        tree = parse(source)
        imported = _imported(tree)
        found = sorted(
            [*_uses(tree, imported), *_replaced(tree, imported), *_keyed_by_identity(tree)]
        )
    except NOT_PYTHON:
        return ()  # other parts of the service tell the author
    lines: dict[str, int] = {}
    for line, text in found:
        lines.setdefault(text, line)
    return tuple(f"hint: line {n}: {text}" for text, n in list(lines.items())[:MAX_HINTS])


def _imported(tree: ast.Module) -> dict[str, str]:
    """Names that imports bind, and the dotted path of each."""
    paths: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                paths[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                paths[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return paths


def _path(node: ast.expr, imported: dict[str, str]) -> str | None:
    if isinstance(node, ast.Attribute):
        base = _path(node.value, imported)
        return None if base is None else f"{base}.{node.attr}"
    return imported.get(node.id) if isinstance(node, ast.Name) else None


def _uses(tree: ast.Module, imported: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Names that honest kernels rarely need."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)):
            path = _path(node, imported)
            for name, why in _USES.items():
                if path is not None and f"{path}.".startswith(f"{name}."):
                    yield node.lineno, f"{name} {why}"
        elif isinstance(node, ast.Call) and _overrides(node, imported):
            yield node.lineno, "torch.library.Library overrides operators of torch"


def _overrides(call: ast.Call, imported: dict[str, str]) -> bool:
    if _path(call.func, imported) != "torch.library.Library" or not call.args:
        return False
    return isinstance(call.args[0], ast.Constant) and call.args[0].value == "aten"


def _replaced(tree: ast.Module, imported: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Attributes of imported modules that are given another value."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        for target in targets:
            path = _path(target, imported) if isinstance(target, ast.Attribute) else None
            if path is not None and not path.startswith(_FLAGS):
                yield target.lineno, f"{path} is given another value"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            path = _path(node.args[0], imported)
            if node.func.id == "setattr" and path is not None:
                yield node.lineno, f"attributes of {path} are given other values"


def _keyed_by_identity(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Lookups under the address or the identity of a tensor."""
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _has_identity(node.value, frozenset())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        keys: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            keys = [node.slice]
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            keys = [node.left]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            keys = node.args[:1] if node.func.attr in _LOOKUPS else []
        if any(_has_identity(key, names) for key in keys):
            yield keys[0].lineno, "something is looked up by the address or identity of a tensor"


def _has_identity(node: ast.expr, names: frozenset[str] | set[str]) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in _IDENTITIES:
            return True
        if isinstance(part, ast.Name) and part.id in names:
            return True
        is_call = isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
        if is_call and part.func.id == "id":  # type: ignore[attr-defined]
            return True
    return False
