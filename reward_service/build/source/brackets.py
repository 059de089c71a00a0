"""Which bracket closes which, and walking back over the expression that ends at a token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reward_service.build.source.tokens import Kind, Token, UnsuitableError, directive_name, words

Partners = Mapping[int, int]
"""Index of each of ()[]{} -> index of the one that it pairs with."""

_CLOSES = {")": "(", "]": "[", "}": "{"}
_CONDITIONS = frozenset({"if", "ifdef", "ifndef"})
_BRANCHES = frozenset({"else", "elif", "elifdef", "elifndef"})
CONDITIONALS = _CONDITIONS | _BRANCHES | {"endif"}
"""Directives that choose between pieces of text."""

STATEMENT_WORDS = words(
    """
    if while for switch return else do case goto sizeof alignof decltype noexcept catch
    throw new delete co_return void int float double bool char unsigned signed long short
    auto const constexpr static inline typename operator
    """
)
"""Names that are never the last part of a callable expression."""


def partners(tokens: Sequence[Token]) -> dict[int, int]:
    """Pairs of brackets; each branch of a conditional directive must be balanced by itself."""
    found: dict[int, int] = {}
    open_at: list[int] = []
    depth_at_if: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind is Kind.DIRECTIVE:
            name = directive_name(token)
            if name in _CONDITIONS:
                depth_at_if.append(len(open_at))
            elif name in CONDITIONALS:
                if not depth_at_if or depth_at_if[-1] != len(open_at):
                    raise UnsuitableError(f"brackets do not balance before #{name}")
                if name == "endif":
                    depth_at_if.pop()
        elif token.kind is Kind.PUNCTUATION and token.text in "([{":
            open_at.append(index)
        elif token.kind is Kind.PUNCTUATION and token.text in _CLOSES:
            floor = depth_at_if[-1] if depth_at_if else 0
            if len(open_at) <= floor or tokens[open_at[-1]].text != _CLOSES[token.text]:
                raise UnsuitableError(f"a {token.text!r} closes nothing")
            start = open_at.pop()
            found[start], found[index] = index, start
    if open_at or depth_at_if:
        raise UnsuitableError("brackets or conditional directives do not balance")
    return found


def before(tokens: Sequence[Token], index: int) -> int:
    """Index of the last token before `index` that is not blank; -1 if there is none."""
    index -= 1
    while index >= 0 and tokens[index].blank:
        index -= 1
    return index


def after(tokens: Sequence[Token], index: int) -> int:
    """Index of the first token after `index` that is not blank; len(tokens) if there is none."""
    index += 1
    while index < len(tokens) and tokens[index].blank:
        index += 1
    return index


def angle_end(tokens: Sequence[Token], pairs: Partners, start: int) -> int:
    """Index of the `>` that closes the `<` at `start`."""
    depth = 0
    index = start
    while index < len(tokens):
        text = tokens[index].text
        if tokens[index].kind is Kind.PUNCTUATION:
            if text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return index
            elif text in "([{":
                index = pairs[index]
            elif text in (")", "]", "}", ";", "<<<"):
                break
        index += 1
    raise UnsuitableError("a template list does not end")


def _angle_start(tokens: Sequence[Token], pairs: Partners, end: int) -> int:
    depth = 0
    index = end
    while index >= 0:
        text = tokens[index].text
        if tokens[index].kind is Kind.PUNCTUATION:
            if text == ">":
                depth += 1
            elif text == "<":
                depth -= 1
                if depth == 0:
                    return index
            elif text in _CLOSES:
                index = pairs[index]
            elif text in ("(", "[", "{", ";", "<<<"):
                break
        index -= 1
    raise UnsuitableError("a template list does not begin")


def expression_start(tokens: Sequence[Token], pairs: Partners, end: int) -> int:
    """First token of the postfix expression whose last token is `end`.

    It covers qualified names, template arguments, calls, subscripts, members, parentheses and
    names pasted with `##`.
    """
    index = end
    while True:
        token = tokens[index]
        if token.text in (")", "]"):
            index = pairs[index]
            previous = before(tokens, index)
            if previous < 0 or not _is_called(tokens, pairs, previous):
                return index
            index = previous
            continue
        if token.text == ">":
            index = before(tokens, _angle_start(tokens, pairs, index))
            if index < 0:
                raise UnsuitableError("template arguments without a name")
            token = tokens[index]
        if token.kind is not Kind.NAME or _is_word(token):
            raise UnsuitableError(f"a launch of {token.text!r} is not understood")
        previous = before(tokens, index)
        if previous >= 0 and tokens[previous].text == "template":
            index, previous = previous, before(tokens, previous)
        if previous < 0 or tokens[previous].text not in ("::", ".", "->", "##"):
            return index
        left = before(tokens, previous)
        qualifies = left >= 0 and (
            tokens[left].text == ">"
            or (tokens[left].kind is Kind.NAME and not _is_word(tokens[left]))
        )
        if qualifies or (left >= 0 and tokens[previous].text in (".", "->")):
            index = left
            continue
        return previous


def _is_called(tokens: Sequence[Token], pairs: Partners, index: int) -> bool:
    """True if a `(` or `[` after the token at `index` belongs to the same expression."""
    token = tokens[index]
    if token.text == ")":
        name = before(tokens, pairs[index])
        if name >= 0 and tokens[name].text in ("if", "while", "for", "switch", "catch"):
            return False
        if name < 0 or tokens[name].kind is not Kind.NAME or _is_word(tokens[name]):
            raise UnsuitableError("a launch after a cast or a call")
        return True
    return token.text in ("]", ">") or (token.kind is Kind.NAME and not _is_word(token))


def _is_word(token: Token) -> bool:
    return token.text in STATEMENT_WORDS
