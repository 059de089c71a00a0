"""The `infill` format: a model fills a hole in a scaffold, and the service puts the parts together.

So the text of the scaffold is fixed; `contained` decides whether its meaning is, too. It compares
the syntax tree of the splice with that of the scaffold around a placeholder:

- where the hole is in a string literal (CUDA source, usually), the trees must be equal but for the
  value of that literal, which must begin and end as the scaffold says;
- where the hole is code, the statements outside of it must be the same ones in the same places,
  the hole's own must stand together in one, and the suffix must consist of the same tokens.

Where the scaffold leaves open to which block the hole belongs, the middle may choose, once: it is
contained if any placeholder that the scaffold takes shows that it is.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from reward_service.formats.syntax import NOT_PYTHON, parse

Place: TypeAlias = tuple[int, int]
"""Line, from 1, and column, from 0."""

_BLANK = " \t\n\f"
_LAYOUT = frozenset({tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE, tokenize.NL})
_UNTOLD = _LAYOUT | {tokenize.COMMENT, tokenize.ENDMARKER}
_CODE = re.compile(r"^[ \t\f]*[^ \t\f\n#]", re.MULTILINE)
_HOLE = "the hole"


@dataclass(frozen=True)
class Infill:
    """A program in three parts; the outer two are the scaffold."""

    prefix: str
    middle: str
    suffix: str

    @property
    def text(self) -> str:
        """The program."""
        return self.prefix + self.middle + self.suffix

    def filled(self, middle: str) -> Infill:
        """The scaffold with something else in its hole."""
        return Infill(self.prefix, middle, self.suffix)

    def with_plain_newlines(self) -> Infill:
        """As Python reads it; a line's end that is cut in two becomes two, which is harmless."""
        parts = (self.prefix, self.middle, self.suffix)
        return Infill(*(p.replace("\r\n", "\n").replace("\r", "\n") for p in parts))


def contained(infill: Infill) -> bool | None:
    """Whether the middle stays in its place.

    None where that cannot be asked: the splice is not Python, or the scaffold is not with any
    placeholder, so that it has no meaning of its own.
    """
    infill = infill.with_plain_newlines()
    spliced = _parse(infill.text)
    if spliced is None:
        return None
    name = _unused_name(infill.text)
    answer = _judge(infill, spliced, name, _placeholders(infill, name))
    # The bare name comes last: beside it a suffix that is a line may read as the rest of one.
    return _judge(infill, spliced, name, [name]) if answer is None else answer


def _judge(
    infill: Infill, spliced: ast.Module, name: str, placeholders: Sequence[str]
) -> bool | None:
    """What the placeholders show; None where the scaffold takes none of them."""
    answer = None
    for placeholder in placeholders:
        scaffold = infill.filled(placeholder)
        tree = _parse(scaffold.text)
        if tree is None:
            continue
        try:
            literal = _literal(tree, name)
            if literal is not None:
                return _same_but_for(literal, name, tree, spliced)
            if _same_around(scaffold, tree, infill, spliced):
                return True
        except RecursionError:
            return False
        answer = False
    return answer


def _parse(text: str) -> ast.Module | None:
    try:
        return parse(text)
    except NOT_PYTHON:
        return None


def _unused_name(text: str) -> str:
    """An identifier that occurs nowhere in the text."""
    longest = max((len(m) for m in re.findall(r"hole_+", text)), default=0)
    return "hole_" + "_" * longest


def _placeholders(infill: Infill, name: str) -> list[str]:
    """The name as a statement or expression, at the places that the scaffold may mean.

    First as the middle itself is indented, then as the lines beside the hole are; nothing at all
    stands for a middle of comments.
    """
    body = infill.middle.strip(_BLANK)
    lead, _, trail = infill.middle.partition(body) if body else (infill.middle, "", "")
    before = [line for line in infill.prefix.split("\n") if line.strip(_BLANK)]
    behind = [line for line in infill.suffix.split("\n") if line.strip(_BLANK)]
    indents = [""]
    for line in [*before[-1:], *behind[:2]]:
        indent = line[: len(line) - len(line.lstrip(_BLANK))]
        indents += [indent, indent + "    "]
    lines = [f"\n{indent}{name}\n" for indent in indents]
    nothing = [] if _CODE.search(body) else [lead + trail]
    return list(dict.fromkeys([lead + name + trail, *lines, *nothing]))


# --- the hole is in a string literal ---------------------------------------------------------


def _literal(tree: ast.Module, name: str) -> ast.Constant | ast.FormattedValue | None:
    """The literal that the placeholder is in; of an f-string, the part that it is in."""
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    for node in constants:
        if isinstance(node.value, str | bytes) and _as(node.value, name) in node.value:
            return node
    parts = (node for node in ast.walk(tree) if isinstance(node, ast.FormattedValue))
    return next((part for part in parts if name in ast.dump(part)), None)


def _same_but_for(
    literal: ast.Constant | ast.FormattedValue,
    name: str,
    scaffold: ast.Module,
    spliced: ast.Module,
) -> bool:
    """Whether the trees are equal once the literal has its counterpart's value."""
    pairs = zip(ast.walk(scaffold), ast.walk(spliced), strict=False)
    theirs = next((theirs for ours, theirs in pairs if ours is literal), None)
    # Where the walks are not in step, the trees differ, and the comparison below shows it.
    if type(theirs) is not type(literal):
        return False
    if isinstance(literal, ast.Constant) and not _keeps_ends(literal.value, theirs.value, name):
        return False
    literal.value = theirs.value
    return ast.dump(scaffold) == ast.dump(spliced)


def _keeps_ends(ours: Any, theirs: Any, name: str) -> bool:
    """Whether what the scaffold has of the literal is still there on both sides."""
    if type(theirs) is not type(ours):
        return False
    before, _, behind = ours.partition(_as(ours, name))
    room = len(theirs) >= len(before) + len(behind)
    return bool(room and theirs.startswith(before) and theirs.endswith(behind))


def _as(value: Any, name: str) -> Any:
    """The name in the literal's type."""
    return name if isinstance(value, str) else name.encode()


# --- the hole is code ------------------------------------------------------------------------


def _same_around(scaffold: Infill, tree: ast.Module, infill: Infill, spliced: ast.Module) -> bool:
    same = _outline(scaffold, tree) == _outline(infill, spliced)
    return same and _tokens_behind(scaffold) == _tokens_behind(infill)


def _outline(infill: Infill, tree: ast.Module) -> Any:
    """The tree with all that touches the hole, up to whole simple statements, as one `_HOLE`."""
    start = _place(infill.prefix)
    end = _place(infill.prefix + infill.middle)

    def outline(value: Any) -> Any:
        if isinstance(value, list):
            runs = [(item, [*run]) for item, run in groupby(map(outline, value))]
            return [x for item, run in runs for x in ([item] if item == _HOLE else run)]
        if not isinstance(value, ast.AST):
            return value
        if hasattr(value, "lineno"):
            located: Any = value
            first = (located.lineno, located.col_offset)
            last = (located.end_lineno, located.end_col_offset)
            if last <= start or first >= end:
                return ast.dump(value)
            if (first >= start and last <= end) or not _has_statements(value):
                return _HOLE
        return [type(value).__name__, [outline(part) for _, part in ast.iter_fields(value)]]

    return outline(tree)


def _has_statements(node: ast.AST) -> bool:
    """Whether it is a compound statement, or a part of one that holds some."""
    return any(
        isinstance(child, ast.stmt | ast.excepthandler | ast.match_case)
        for child in ast.iter_child_nodes(node)
    )


def _place(text: str) -> Place:
    """Where the text ends, as syntax trees count: in bytes."""
    return text.count("\n") + 1, len(text.rpartition("\n")[2].encode())


def _tokens_behind(infill: Infill) -> list[str] | None:
    """The suffix's tokens; what the middle has made a comment or a string of is none of them."""
    before = infill.prefix + infill.middle
    end = before.count("\n") + 1, len(before.rpartition("\n")[2])
    try:
        return [
            token.string
            for token in tokenize.generate_tokens(io.StringIO(infill.text).readline)
            if token.start >= end and token.type not in _UNTOLD
        ]
    except (tokenize.TokenError, SyntaxError):
        return None  # the parser takes a few texts that this does not
