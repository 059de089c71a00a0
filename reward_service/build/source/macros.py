"""The macros that a source text defines itself, and the CUDA words that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from reward_service.build.source.tokens import (
    Kind,
    Token,
    UnsuitableError,
    directive_name,
    directive_rest,
    tokenise,
    words,
)

CUDA_WORDS = frozenset(
    {"__global__", "__device__", "__host__", "__constant__", "__shared__", "__managed__"}
)
_FROM_HEADERS = {
    "C10_DEVICE": frozenset({"__device__"}),
    "C10_HOST": frozenset({"__host__"}),
    "C10_HOST_DEVICE": frozenset({"__host__", "__device__"}),
}
_KEYWORDS = words(
    """
    static inline extern const constexpr template typename class struct union enum
    namespace operator public private protected friend void using typedef if else for
    while return __CUDA_ARCH__ __launch_bounds__ __forceinline__
    """
)
_MOST = 1000
"""Macros of one text, past which it is not read: what each reaches is kept."""
_HEAD = re.compile(r"(?:[ \t]|\\\r?\n|(?>/\*(?s:.*?)\*/))*+([A-Za-z_]\w*)(\(([^()]*)\))?")


@dataclass(frozen=True)
class Macro:
    """One `#define`: the text of the directive is `prefix` and then `body`."""

    name: str
    function_like: bool
    prefix: str
    body: tuple[Token, ...]

    @property
    def names(self) -> frozenset[str]:
        """All names in the body."""
        return frozenset(token.text for token in self.body if token.kind is Kind.NAME)

    def has(self, *texts: str) -> bool:
        """True if a token of the body is one of `texts`."""
        return any(token.text in texts for token in self.body)

    @property
    def last(self) -> str:
        """The last token that is not blank, or nothing."""
        seen = [token.text for token in self.body if not token.blank]
        return seen[-1] if seen else ""


def parse_define(directive: Token) -> Macro:
    """The macro of a `#define` directive."""
    rest = directive_rest(directive)
    head = _HEAD.match(rest)
    if head is None:
        raise UnsuitableError("a #define is not understood")
    body = rest[head.end() :]
    prefix = directive.text[: len(directive.text) - len(body)]
    return Macro(head.group(1), head.group(2) is not None, prefix, tuple(tokenise(body)))


class Macros:
    """All macros that the text defines, a name with all its definitions."""

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._of: dict[str, list[Macro]] = {}
        for token in tokens:
            if token.kind is Kind.DIRECTIVE and directive_name(token) == "define":
                macro = parse_define(token)
                if macro.name in CUDA_WORDS | _KEYWORDS:
                    raise UnsuitableError(f"it defines {macro.name} anew")
                self._of.setdefault(macro.name, []).append(macro)
        if len(self._of) > _MOST:
            raise UnsuitableError("it defines too many macros")
        self._from: dict[str, frozenset[str]] = {}

    def named(self, name: str) -> Sequence[Macro]:
        """All definitions of `name`."""
        return self._of.get(name, ())

    def function_like(self, name: str) -> bool:
        """True if `name` takes arguments in any definition."""
        return any(macro.function_like for macro in self.named(name))

    def words(self, name: str) -> frozenset[str]:
        """The CUDA words that `name` is or expands to.

        Of several definitions one may be without (the one for other compilers).
        """
        if name in CUDA_WORDS:
            return frozenset({name})
        found = {
            frozenset().union(*map(self._reached, macro.names)) & CUDA_WORDS
            for macro in self.named(name)
        } - {frozenset()}
        if len(found) > 1:
            raise UnsuitableError(f"definitions of {name} differ")
        return found.pop() if found else _FROM_HEADERS.get(name, frozenset())

    def reaches(self, name: str, goals: AbstractSet[str]) -> bool:
        """True if one of `goals` may come out of `name`."""
        return not goals.isdisjoint(self._reached(name))

    def _reached(self, start: str) -> frozenset[str]:
        """`start`, and all names that may come out of it."""
        if start not in self._of:
            return frozenset({start})
        if start in self._from:
            return self._from[start]
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            name = ahead.pop()
            if name not in seen:
                seen.add(name)
                for macro in self.named(name):
                    ahead.extend(macro.names)
        self._from[start] = frozenset(seen)
        return self._from[start]

    def defines_code(self, name: str) -> bool:
        """True if `name` stands for whole statements or declarations."""
        return any(
            macro.has("{", ";") for inner in self._reached(name) for macro in self.named(inner)
        )
