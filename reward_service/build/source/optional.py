"""Declarations that the host text keeps only if something in it names them.

A `__host__ __device__` function may call what a plain compiler does not know; a device function
may be a template argument of a launch; a device variable may be copied to. None of it is needed
as long as no host code names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from reward_service.build.source.brackets import before
from reward_service.build.source.tokens import Kind, Token, directive_name, tokenise


@dataclass(frozen=True)
class Optional:
    """One such declaration."""

    names: frozenset[str]
    start: int
    end: int
    needs_until: int
    """One past the last token whose names are needed, if this one is."""
    keep: Callable[[], None]
    drop: Callable[[], None]


def settle(tokens: Sequence[Token], removed: Sequence[bool], found: Sequence[Optional]) -> None:
    """Keeps those that are named, directly or by one that is kept; drops the others."""
    owned: set[int] = set()
    for each in found:
        owned.update(range(each.start, each.end))
    used = names_in(tokens, (i for i in range(len(tokens)) if not removed[i] and i not in owned))
    by_name: dict[str, list[int]] = {}
    for number, each in enumerate(found):
        for name in each.names:
            by_name.setdefault(name, []).append(number)
    waiting = dict(enumerate(found))
    ahead = [name for name in by_name if name in used]
    while ahead:
        for number in by_name.pop(ahead.pop(), ()):
            named = waiting.pop(number, None)
            if named is not None:
                ahead.extend(names_in(tokens, range(named.start, named.needs_until)))
                named.keep()
    for each in waiting.values():
        each.drop()


def names_in(tokens: Sequence[Token], indices: Iterable[int]) -> set[str]:
    """The names at these tokens, in macros too; members (`x.name`) do not count."""
    found: set[str] = set()
    for index in indices:
        token = tokens[index]
        if token.kind is Kind.NAME:
            previous = before(tokens, index)
            if previous < 0 or tokens[previous].text not in (".", "->"):
                found.add(token.text)
        elif token.kind is Kind.DIRECTIVE and directive_name(token) == "define":
            inner = tokenise(token.text[1:])
            found |= names_in(inner, range(len(inner)))
    return found
