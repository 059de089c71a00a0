"""Which names each scope of a Python source binds, how often, and to what.

Scopes nest as Python's do: a function sees its own names, those of the functions around it and
the module's, but not those of a class around it. Anything unusual (global, nonlocal, a walrus)
counts as one more binding wherever it may have an effect.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Scope:
    """A module, class, function or comprehension, and what its statements bind."""

    parent: Scope | None
    is_class: bool = False
    bindings: dict[str, list[ast.expr | str | None]] = field(default_factory=dict)
    """For each name, one entry a binding: an expression, a dotted path that was imported, or None
    for any other kind."""

    def bind(self, name: str, value: ast.expr | str | None) -> None:
        """Note one more binding of `name`."""
        self.bindings.setdefault(name, []).append(value)

    def find(self, name: str) -> tuple[Scope, ast.expr | str | None] | None:
        """The scope that `name` means seen from here, and its value (None: not constant);
        None altogether if nothing in the source binds it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bindings and (scope is self or not scope.is_class):
                values = set(scope.bindings[name])
                return scope, values.pop() if len(values) == 1 else None
            scope = scope.parent
        return None


class Scopes(ast.NodeVisitor):
    """Walks a tree once; afterwards `of[node]` is the scope of each expression node."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(None)
        self.of: dict[ast.AST, Scope] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self._now = self.module
        self.visit(tree)

    def generic_visit(self, node: ast.AST) -> None:
        """Note the scope and the parent of every node."""
        self.of[node] = self._now
        for child in ast.iter_child_nodes(node):
            self.parents[child] = node
            self.visit(child)

    def visit_Name(self, node: ast.Name) -> None:
        """A name that is stored or deleted in any way but those below is not constant."""
        if not isinstance(node.ctx, ast.Load):
            self._now.bind(node.id, None)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """`a = b = value`."""
        for target in node.targets:
            self._target(target, node.value, node)
        self._child(node.value, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """`a: str = value`; without a value the name is of this scope, and not constant."""
        self._child(node.annotation, node)
        if node.value is None:
            self._child(node.target, node)
        else:
            self._target(node.target, node.value, node)
            self._child(node.value, node)

    def visit_Import(self, node: ast.Import) -> None:
        """`import a.b` binds `a`; `import a.b as c` binds `c` to `a.b`."""
        for alias in node.names:
            root = alias.name.split(".")[0]
            self._now.bind(alias.asname or root, alias.name if alias.asname else root)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from a import b as c` binds `c` to `a.b`."""
        for alias in node.names:
            path = f"{node.module}.{alias.name}" if node.module and not node.level else None
            self._now.bind(alias.asname or alias.name, path)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        """A name that another scope may bind is constant nowhere."""
        scope: Scope | None = self._now
        while scope is not None:
            for name in node.names:
                scope.bind(name, None)
            scope = scope.parent

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """`name := value` may bind further out than where it stands."""
        self.visit_Global(ast.Global([node.target.id]))
        self.generic_visit(node)

    visit_Nonlocal = visit_Global  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """`except E as name`."""
        if node.name:
            self._now.bind(node.name, None)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        """`case name`."""
        if node.name:
            self._now.bind(node.name, None)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs  # noqa: N815

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        """`case {**name}`."""
        if node.rest:
            self._now.bind(node.rest, None)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function binds its name outside and its arguments inside."""
        self._now.bind(node.name, None)
        self._function(node, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """As a function without a name."""
        self._function(node, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class binds its name outside; its own names are not seen from its methods."""
        self._now.bind(node.name, None)
        self._inside(Scope(self._now, is_class=True), node)

    def visit_ListComp(self, node: ast.AST) -> None:
        """Comprehensions have a scope of their own."""
        self._inside(Scope(self._now), node)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815

    def _target(self, target: ast.expr, value: ast.expr, statement: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self._now.bind(target.id, value)
            self.of[target] = self._now
        else:
            self._child(target, statement)

    def _child(self, node: ast.AST, parent: ast.AST) -> None:
        self.parents[node] = parent
        self.visit(node)

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, body: list[Any]
    ) -> None:
        for name, part in ast.iter_fields(node):
            if name != "body":
                for expression in part if isinstance(part, list) else [part]:
                    if isinstance(expression, ast.AST):
                        self._child(expression, node)
        inner = Scope(self._now)
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                inner.bind(arg.arg, None)
        before, self._now = self._now, inner
        for part in body:
            self._child(part, node)
        self._now = before

    def _inside(self, scope: Scope, node: ast.AST) -> None:
        before, self._now = self._now, scope
        self.generic_visit(node)
        self._now = before
