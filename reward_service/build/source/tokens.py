"""Tokens of C++ and CUDA text before preprocessing. Joined, they give the text back.

A preprocessor directive is one token, up to the end of its logical line. `<<<` and `<<` are
tokens, as in nvcc, but every `>` stands alone, since only the context tells whether `>>>` closes
three template lists or a launch configuration.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto


class UnsuitableError(Exception):
    """The text may be fine, but this reading of it is not sure: the stock build must take it."""


class Kind(Enum):
    """What a token is."""

    SPACE = auto()
    """Blanks, line ends, spliced line ends."""
    COMMENT = auto()
    STRING = auto()
    """String and character literals."""
    NUMBER = auto()
    NAME = auto()
    DIRECTIVE = auto()
    PUNCTUATION = auto()


@dataclass(frozen=True)
class Token:
    """A piece of text. `text` is exactly what stands in the source."""

    kind: Kind
    text: str

    @property
    def blank(self) -> bool:
        """True for what the compiler does not see."""
        return self.kind in (Kind.SPACE, Kind.COMMENT)


_RAW_STRING = re.compile(r'(?:u8|[uUL])?R"([^\s()\\"]{0,16})\(')
_PIECES: tuple[tuple[Kind, str], ...] = (
    (Kind.SPACE, r"(?:[ \t\r\f\v]|\\\r?\n)+|\n"),
    (Kind.COMMENT, r"//(?:\\\r?\n|[^\n])*|/\*(?s:.*?)\*/"),
    (Kind.STRING, r'(?:u8|[uUL])?(?:"(?:\\\r?\n|\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\\n])+')"),
    (Kind.NUMBER, r"\.?[0-9](?:[eEpP][+-]|'?[A-Za-z0-9_]|\.)*"),
    (Kind.NAME, r"[A-Za-z_$\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*"),
    (
        Kind.PUNCTUATION,
        r"<<<|<<=|<=>|<=|<<|->\*?|::|\.\.\.|\#\#|&&|\|\||\+\+|--|[-+*/%^&|=!]=|[!-~]",
    ),
)
_NAMED = [(kind, re.compile(pattern)) for kind, pattern in _PIECES]
_REST_OF_LINE = re.compile(
    r"(?:"
    r"//(?:\\\r?\n|[^\n])*"
    r"|/\*(?s:.*?)\*/"
    r'|"(?:\\\r?\n|\\.|[^"\\\n])*"'
    r"|\\\r?\n"
    r"|/\*(?P<open>)"
    r"|[^\n]"
    r")*"
)
_DIGRAPHS = ("<%", "%>", "%:")


def tokenise(text: str) -> list[Token]:
    """All tokens of `text`, in order; raises `UnsuitableError` where a literal does not end."""
    tokens: list[Token] = []
    at = 0
    line_start = True
    while at < len(text):
        token = _next(text, at, line_start)
        tokens.append(token)
        at += len(token.text)
        if token.kind is Kind.SPACE:
            line_start = line_start or token.text == "\n"
        elif token.kind is not Kind.COMMENT:
            line_start = False
    return tokens


def _next(text: str, at: int, line_start: bool) -> Token:
    if line_start and text[at] == "#":
        return _directive(text, at)
    raw = _RAW_STRING.match(text, at)
    if raw:
        end = text.find(f'){raw.group(1)}"', raw.end())
        if end < 0:
            raise UnsuitableError(f"line {_line(text, at)}: a raw string does not end")
        return Token(Kind.STRING, text[at : end + len(raw.group(1)) + 2])
    for kind, pattern in _NAMED:
        match = pattern.match(text, at)
        if match:
            piece = match.group()
            if piece in ('"', "'") or (text.startswith("/*", at) and kind is not Kind.COMMENT):
                raise UnsuitableError(f"line {_line(text, at)}: a literal or comment does not end")
            if kind is Kind.PUNCTUATION and text.startswith(_DIGRAPHS, at):
                raise UnsuitableError(f"line {_line(text, at)}: a digraph")
            return Token(kind, piece)
    raise UnsuitableError(f"line {_line(text, at)}: unexpected character {text[at]!r}")


def _directive(text: str, at: int) -> Token:
    match = _REST_OF_LINE.match(text, at)
    assert match is not None  # the pattern matches the empty string
    if match.group("open") is not None:
        raise UnsuitableError(f"line {_line(text, at)}: a comment does not end")
    return Token(Kind.DIRECTIVE, match.group())


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def words(text: str) -> frozenset[str]:
    """The words of a list written as text."""
    return frozenset(text.split())


def joined(tokens: Sequence[Token]) -> str:
    """The text that the tokens came from."""
    return "".join(token.text for token in tokens)


_DIRECTIVE_NAME = re.compile(r"#(?:[ \t]|\\\r?\n|/\*(?s:.*?)\*/)*([A-Za-z_]*)")


def directive_name(token: Token) -> str:
    """`define`, `if`, ... of a directive; empty for a lone `#`."""
    match = _DIRECTIVE_NAME.match(token.text)
    return match.group(1) if match else ""


def directive_rest(token: Token) -> str:
    """What follows the name of a directive."""
    match = _DIRECTIVE_NAME.match(token.text)
    return token.text[match.end() :] if match else ""
