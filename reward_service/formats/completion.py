"""Finds the program in what a model said. The rule, for people, is in docs/formats.md.

1. A text that is Python and defines `ModelNew` is the program, whatever is in its strings.
2. Otherwise the text ends at the first end marker of a chat template, and a leading reasoning
   part is no part of it.
3. Of its fenced blocks the last that defines `ModelNew` is the program; without any fence, the
   text itself if it does.

Whether a block defines it is asked of its syntax tree, or of its words where it does not parse:
a broken program is still what the model answered. Parsing is bounded, and so are the fences that
are looked at: the time is linear in the text, whatever the text is.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from reward_service.formats.syntax import NOT_PYTHON, parse

MAX_FENCES = 256
"""Lines that may open or close a block; of more, the last count."""
MAX_CLOSERS = 8
"""Lines that are tried as the end of one block."""
MAX_PARSED_CHARS = 1 << 16
"""Characters that are parsed of one block; past it, its words decide."""
MAX_PARSED_CHARS_IN_ALL = 1 << 18

_NAME = "ModelNew"
_WORDS = re.compile(rf"^[ \t]*class[ \t]+{_NAME}\b", re.MULTILINE)
_FENCE = re.compile(
    r"^[ \t]*(?:(?P<ticks>`{3,})(?P<info>[^`\n]*)|(?P<waves>~{3,})(?P<notes>[^\n]*))$", re.MULTILINE
)
_FIRST = re.compile(r"^(?P<indent>[ \t]*)[^ \t\n#]", re.MULTILINE)
_END = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|eom_id|end_of_text|end|eos)\|>|<end_of_turn>|</s>|<eos>"
)
_OPEN, _CLOSE = "<think>", "</think>"


def find_program(text: str) -> str | None:
    """The program in a completion, with `\\n` at the ends of its lines; None if there is none."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    reader = _Reader()
    tree = reader.tree(text)
    if tree is not None and _binds(tree):
        return text
    end = _END.search(text)
    answer = _answer(text if end is None else text[: end.start()])
    fences = [_Fence.of(match) for match in deque(_FENCE.finditer(answer), MAX_FENCES)]
    if not fences:
        return answer if reader.defines(answer) else None
    blocks = list(_blocks(answer, fences, reader))
    return next((block for block in reversed(blocks) if reader.defines(block)), None)


class _Reader:
    """Parses as much as one completion is worth, and each text once."""

    def __init__(self) -> None:
        self._left = MAX_PARSED_CHARS_IN_ALL
        self._trees: dict[str, ast.Module | None] = {}

    def tree(self, text: str) -> ast.Module | None:
        """The syntax tree; None if there is none, or the text is too long to be parsed."""
        if len(text) > MAX_PARSED_CHARS:
            return None
        if text not in self._trees:
            self._trees[text] = self._parse(text)
        return self._trees[text]

    def defines(self, text: str) -> bool:
        """Whether the text defines `ModelNew`."""
        if _NAME not in text:
            return False
        tree = self.tree(text)
        return _WORDS.search(text) is not None if tree is None else _binds(tree)

    def _parse(self, text: str) -> ast.Module | None:
        if len(text) > self._left:
            return None
        self._left -= len(text)
        try:
            return parse(text)
        except NOT_PYTHON:
            return None


@dataclass(frozen=True)
class _Fence:
    """A line of three or more backticks or tildes."""

    start: int
    end: int
    mark: str
    info: str

    @classmethod
    def of(cls, match: re.Match[str]) -> _Fence:
        mark = match["ticks"] or match["waves"]
        info = match["info"] if match["ticks"] else match["notes"]
        return cls(match.start(), match.end() + 1, mark, info.strip())

    def closes(self, opener: _Fence) -> bool:
        """Its indentation does not matter: what stands in a string is told by parsing."""
        return not self.info and self.mark.startswith(opener.mark)


def _answer(text: str) -> str:
    """The text behind the reasoning. Templates that open it in the prompt leave only its end."""
    before, close, after = text.partition(_CLOSE)
    opened = before.lstrip().startswith(_OPEN)
    if close and (opened or _OPEN not in before):
        return after
    return "" if opened else text


def _blocks(text: str, fences: Sequence[_Fence], reader: _Reader) -> Iterator[str]:
    """The contents of the blocks, in their order.

    A block ends at the first bare fence, or the end of the text, at which it is Python: a fence
    before that stands in a string. If it is Python nowhere, it ends at the first bare fence, or
    at one before it that says what it opens: then the block's own was never closed, or opened
    none.
    """
    at = 0
    while at < len(fences):
        opener, rest = fences[at], range(at + 1, len(fences))
        closers = list(islice((n for n in rest if fences[n].closes(opener)), MAX_CLOSERS))
        closers.append(len(fences))
        ends = [fences[n].start if n < len(fences) else len(text) for n in closers]
        if not _may_be_in_string(text[opener.end : ends[0]]):
            del ends[1:]
        spans = [_dedent(text[opener.end : end]) for end in ends]
        fits = next((n for n, span in enumerate(spans) if reader.tree(span) is not None), None)
        inner = next((n for n in rest if fences[n].info and fences[n].start < ends[0]), None)
        if fits is not None:
            yield spans[fits]
            at = closers[fits] + 1
        elif inner is not None:
            yield _dedent(text[opener.end : fences[inner].start])
            at = inner
        else:
            yield spans[0]
            at = closers[0] + 1


def _may_be_in_string(before: str) -> bool:
    """Whether what follows may stand in a string of several lines."""
    return '"""' in before or "'''" in before


def _dedent(block: str) -> str:
    """Take the indentation of its first statement off all lines that have it.

    Text in a string that stands further out, CUDA usually, stays as it is.
    """
    first = _FIRST.search(block)
    if first is None or not first["indent"]:
        return block
    return "\n".join(line.removeprefix(first["indent"]) for line in block.split("\n"))


def _binds(tree: ast.Module) -> bool:
    """Whether the module level binds `ModelNew`, under an `if` or a `try` as well."""
    todo: list[ast.AST] = [*tree.body]
    while todo:
        node = todo.pop()
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                if name == _NAME:
                    return True
            case ast.alias(name=name, asname=asname):
                if (asname or name) == _NAME:
                    return True
            case ast.Name(id=name, ctx=ast.Store()) if name == _NAME:
                return True
            case ast.stmt() | ast.excepthandler() | ast.match_case() | ast.Tuple():
                todo += ast.iter_child_nodes(node)
    return False
