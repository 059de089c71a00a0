"""Evaluates the expressions of a Python source that are constant, without running any of it.

A name is constant where its scope binds it once (`scopes`), to a constant expression. Lists and
dicts count only while nobody can have changed them. Everything is bounded: a source may ask for
a string of any length.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable
from typing import Any

from reward_service.formats.scopes import Scopes

MAX_CHARS = 4 << 20
_MAX_DEPTH = 200
_BUDGET_CHARS = 64 << 20
_SIMPLE_PERCENT = re.compile(r"%(?:\((\w+)\))?([sdi%])")
_SIMPLE_BRACES = re.compile(r"\{(\w*)\}")
_STRIPS: dict[str, Callable[..., str]] = {
    "strip": str.strip,
    "lstrip": str.lstrip,
    "rstrip": str.rstrip,
}


class NotLiteralError(ValueError):
    """The expression is not constant, as far as this module can see."""


class Evaluator:
    """Evaluates constant expressions of one tree."""

    def __init__(self, tree: ast.Module) -> None:
        self.scopes = Scopes(tree)
        self._known: dict[ast.expr, Any] = {}
        self._spent = 0
        self._uses: dict[str, list[ast.Name]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._uses.setdefault(node.id, []).append(node)

    def path(self, node: ast.expr) -> str | None:
        """The dotted path that a name or attribute means by the imports, such as
        `torch.utils.cpp_extension.load_inline`; None if it means none."""
        if isinstance(node, ast.Attribute):
            base = self.path(node.value)
            return f"{base}.{node.attr}" if base is not None else None
        if isinstance(node, ast.Name):
            found = self.scopes.of[node].find(node.id)
            if found is not None and isinstance(found[1], str):
                return found[1]
        return None

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        """The value of a constant expression: text, number, list, tuple or dict of such.

        Raises NotLiteralError, with the line, for any other.
        """
        if node not in self._known:
            if depth > _MAX_DEPTH:
                raise NotLiteralError("too deep")
            result = self._evaluate(node, depth + 1)
            if isinstance(result, str):
                self._spend(result)
            self._known[node] = result
        return self._known[node]

    def _spend(self, text: str) -> None:
        """Bound the time and memory that one source can cost."""
        self._spent += len(text)
        if len(text) > MAX_CHARS or self._spent > _BUDGET_CHARS:
            raise NotLiteralError("too long")

    def _evaluate(self, node: ast.expr, depth: int) -> Any:
        match node:
            case ast.Constant(value=str() | int() | float() | bool() | None as value):
                return value
            case ast.List(elts=parts):
                return [self.value(p, depth) for p in parts]
            case ast.Tuple(elts=parts):
                return tuple(self.value(p, depth) for p in parts)
            case ast.Dict(keys=keys, values=values) if all(k is not None for k in keys):
                pairs = zip(keys, values, strict=True)
                return {self._text(k, depth): self.value(v, depth) for k, v in pairs if k}
            case ast.Name():
                return self._name(node, depth)
            case ast.JoinedStr(values=parts):
                return "".join(self._piece(p, depth) for p in parts)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._sum(self.value(left, depth), self.value(right, depth))
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return _percent(self._text(left, depth), self.value(right, depth))
            case ast.Call():
                return self._call(node, depth)
        raise NotLiteralError(f"line {node.lineno}: {type(node).__name__} is not constant")

    def _text(self, node: ast.expr, depth: int) -> str:
        value = self.value(node, depth)
        if not isinstance(value, str):
            raise NotLiteralError(f"line {node.lineno}: not a string")
        self._spend(value)
        return value

    def _name(self, node: ast.Name, depth: int) -> Any:
        found = self.scopes.of[node].find(node.id)
        if found is None or not isinstance(found[1], ast.expr):
            raise NotLiteralError(f"line {node.lineno}: {node.id} is not bound once to a constant")
        value = self.value(found[1], depth)
        if not isinstance(value, (str, int, float, type(None), tuple)):
            for use in self._uses.get(node.id, ()):
                if not self._only_read(use):
                    raise NotLiteralError(f"line {use.lineno}: {node.id} may be changed")
        return value

    def _only_read(self, use: ast.Name) -> bool:
        above = self.scopes.parents.get(use)
        if isinstance(above, ast.keyword):
            above = self.scopes.parents[above]
        if isinstance(above, ast.Call):
            return use is not above.func and (self.path(above.func) or "").startswith("torch.utils")
        return isinstance(above, (ast.BinOp, ast.Compare))

    def _piece(self, node: ast.expr, depth: int) -> str:
        if isinstance(node, ast.FormattedValue):
            if node.conversion not in (-1, ord("s")) or node.format_spec is not None:
                raise NotLiteralError(f"line {node.lineno}: a format")
            return _plain(self.value(node.value, depth))
        return self._text(node, depth)

    def _sum(self, left: Any, right: Any) -> Any:
        if type(left) is not type(right) or not isinstance(left, (str, list, tuple)):
            raise NotLiteralError("a sum of other things than strings or lists")
        if len(left) + len(right) > MAX_CHARS:
            raise NotLiteralError("too long")
        return left + right

    def _call(self, node: ast.Call, depth: int) -> str:
        if self.path(node.func) == "textwrap.dedent" and len(node.args) == 1 and not node.keywords:
            return textwrap.dedent(self._text(node.args[0], depth))
        if not isinstance(node.func, ast.Attribute):
            raise NotLiteralError(f"line {node.lineno}: a call")
        text = self._text(node.func.value, depth)
        args = [self.value(a, depth) for a in node.args]
        named = {k.arg: self.value(k.value, depth) for k in node.keywords if k.arg is not None}
        if len(named) != len(node.keywords):
            raise NotLiteralError(f"line {node.lineno}: **arguments")
        return _method(node.func.attr, text, args, named)


def _method(name: str, text: str, args: list[Any], named: dict[str, Any]) -> str:
    if name == "format":
        return _braces(text, args, named)
    if not named:
        match args:
            case [] if name in _STRIPS:
                return _STRIPS[name](text)
            case [str() as characters] if name in _STRIPS:
                return _STRIPS[name](text, characters)
            case [str() as old, str() as new] if name == "replace":
                if len(text) + text.count(old) * len(new) > MAX_CHARS:
                    raise NotLiteralError("too long")
                return text.replace(old, new)
            case [list() | tuple() as parts] if name == "join":
                if all(isinstance(p, str) for p in parts):
                    if sum(len(p) + len(text) for p in parts) > MAX_CHARS:
                        raise NotLiteralError("too long")
                    return text.join(map(str, parts))
    raise NotLiteralError(f".{name}() with these arguments")


def _percent(text: str, given: Any) -> str:
    """`text % given`, where only plain %s, %d and %i are used: a width could ask for gigabytes."""
    if text.count("%") != sum(m.group().count("%") for m in _SIMPLE_PERCENT.finditer(text)):
        raise NotLiteralError("a % format")
    holes = [m for m in _SIMPLE_PERCENT.finditer(text) if m[2] != "%"]
    values = _flat(given)
    if len(text) + len(holes) * max(map(len, values), default=0) > MAX_CHARS:
        raise NotLiteralError("too long")
    try:
        return str(text % given)
    except (TypeError, ValueError, KeyError) as error:
        raise NotLiteralError(f"a % format that fails: {error}") from error


def _braces(text: str, args: list[Any], named: dict[str, Any]) -> str:
    """`text.format(...)`, where only `{}`, `{0}` and `{name}` are used."""
    bare = text.replace("{{", "").replace("}}", "")
    holes = list(_SIMPLE_BRACES.finditer(bare))
    if bare.count("{") != len(holes) or bare.count("}") != len(holes):
        raise NotLiteralError("a format")
    values = [*_flat(args), *_flat(named)]
    if len(text) + len(holes) * max(map(len, values), default=0) > MAX_CHARS:
        raise NotLiteralError("too long")
    try:
        return text.format(*args, **named)
    except (IndexError, KeyError, ValueError) as error:
        raise NotLiteralError(f"a format that fails: {error}") from error


def _flat(given: Any) -> list[str]:
    """What a format puts in, as text."""
    if isinstance(given, dict):
        given = list(given.values())
    return [_plain(v) for v in (given if isinstance(given, (list, tuple)) else [given])]


def _plain(value: Any) -> str:
    if not isinstance(value, (str, int, float)):
        raise NotLiteralError("a format of something else than text or a number")
    try:
        return str(value)
    except ValueError as error:  # an integer with very many digits
        raise NotLiteralError(str(error)) from error
