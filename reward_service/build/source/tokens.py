"""Tokens of C++ and CUDA text before preprocessing. Joined, they give the text back.

A preprocessor directive is one token, up to the end of its logical line. `<<<` and `<<` are
tokens, as in nvcc, but every `>` stands alone, since only the context tells whether `>>>` closes
three template lists or a launch configuration.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple


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


class Token(NamedTuple):
    """A piece of text. `text` is exactly what stands in the source."""

    kind: Kind
    text: str

    @property
    def blank(self) -> bool:
        """True for what the compiler does not see."""
        return self.kind in (Kind.SPACE, Kind.COMMENT)


_TOKEN = re.compile(
    r"""
    (?P<SPACE>        (?:[ \t\r\f\v]|\\\r?\n)+ | \n )
  | (?P<COMMENT>      //(?:\\\r?\n|[^\n])* | /\*(?s:.*?)\*/ )
  | (?P<STRING>       (?:u8|[uUL])?R"(?P<mark>[^\s()\\"]{0,16})\((?s:.*?)\)(?P=mark)"
                    | (?:u8|[uUL])?"(?:\\\r?\n|\\.|[^"\\\n])*"
                    | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+' )
  | (?P<UNENDED>      /\* | ["'] | (?:u8|[uUL])?R" )
  | (?P<DIGRAPH>      <% | %> | %: )
  | (?P<NAME>         [A-Za-z_$\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]* )
  | (?P<NUMBER>       \.?[0-9](?:[eEpP][+-]|'?[A-Za-z0-9_]|\.)* )
  | (?P<PUNCTUATION>  <<<|<<=|<=>|<=|<<|->\*?|::|\.\.\.|\#\#|&&|\|\||\+\+|--|[-+*/%^&|=!]=|[!-~] )
    """,
    re.VERBOSE,
)
_KINDS = {kind.name: kind for kind in Kind}
_REST_OF_LINE = re.compile(
    r"(?:"
    r"//(?:\\\r?\n|[^\n])*"
    r"|/\*(?s:.*?)\*/"
    r'|"(?:\\\r?\n|\\.|[^"\\\n])*"?'
    r"|\\\r?\n"
    r"|/\*(?P<open>)[^\n]*"
    r"|[^\n]"
    r")*"
)


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
    match = _TOKEN.match(text, at)
    group = match.lastgroup if match else None
    if match is None or group is None or group not in _KINDS:
        raise UnsuitableError(f"line {_line(text, at)}: {text[at]!r} is not understood here")
    return Token(_KINDS[group], match.group())


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


_DIRECTIVE_NAME = re.compile(r"#(?:[ \t]|\\\r?\n|/\*(?s:.*?)\*/)*+([A-Za-z_]*)")


def directive_name(token: Token) -> str:
    """`define`, `if`, ... of a directive; empty for a lone `#`."""
    match = _DIRECTIVE_NAME.match(token.text)
    return match.group(1) if match else ""


def directive_rest(token: Token) -> str:
    """What follows the name of a directive."""
    match = _DIRECTIVE_NAME.match(token.text)
    return token.text[match.end() :] if match else ""
