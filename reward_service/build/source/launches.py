"""`k<<<grid, block, shared, stream>>>(args)` becomes a call of `k` under a pushed configuration.

The configuration is handed on as it stands, so that its commas need no understanding. The stub
that is called pops it again: this is what nvcc makes of a launch.
"""

from __future__ import annotations

from collections.abc import Sequence

from reward_service.build.source.brackets import (
    Partners,
    after,
    before,
    expression_start,
)
from reward_service.build.source.tokens import Kind, Token, UnsuitableError


def rewrite(tokens: Sequence[Token], pairs: Partners, text: list[str]) -> None:
    """Rewrites every launch in `text`, which holds the present text of each token.

    A launch whose text is gone already (it was in a removed body) is skipped.
    """
    for index, token in enumerate(tokens):
        if token.text == "<<<" and token.kind is Kind.PUNCTUATION and text[index]:
            _rewrite_one(tokens, pairs, text, index)


def _rewrite_one(tokens: Sequence[Token], pairs: Partners, text: list[str], at: int) -> None:
    callee_end = before(tokens, at)
    if callee_end < 0:
        raise UnsuitableError("a launch without a kernel")
    start = expression_start(tokens, pairs, callee_end)
    closing = _closing(tokens, pairs, at)
    opening = after(tokens, closing + 2)
    if opening >= len(tokens) or tokens[opening].text != "(":
        raise UnsuitableError("a launch without arguments")
    if any(token.kind is Kind.DIRECTIVE for token in tokens[start : pairs[opening]]):
        raise UnsuitableError("a directive within a launch")
    callee = "".join(text[start:at])
    for index in range(start, at + 1):
        text[index] = ""
    text[start] = "(__cudaPushCallConfiguration("
    text[closing] = f") ? (void)0 : {callee}"
    text[closing + 1] = text[closing + 2] = ""
    text[pairs[opening]] += ")"


def _closing(tokens: Sequence[Token], pairs: Partners, at: int) -> int:
    """Index of the first `>` of the `>>>` that ends the configuration opened at `at`."""
    index = at + 1
    angles = 0
    while index < len(tokens):
        text = tokens[index].text
        if tokens[index].kind is Kind.PUNCTUATION:
            if text in "([{":
                index = pairs[index]
            elif text in (")", "]", "}", ";", "<<<"):
                break
            elif text == "<":
                angles += 1
            elif text == ">":
                run = _run(tokens, index)
                if run == 3 and (angles == 0 or _is_only_run(tokens, pairs, index + 3)):
                    return index
                if run >= 3:
                    raise UnsuitableError("several ways to read a `>>>`")
                angles -= 1
        index += 1
    raise UnsuitableError("a launch configuration does not end")


def _run(tokens: Sequence[Token], index: int) -> int:
    end = index
    while end < len(tokens) and tokens[end].text == ">":
        end += 1
    return end - index


def _is_only_run(tokens: Sequence[Token], pairs: Partners, index: int) -> bool:
    """True if no other `>>>` stands before the end of the statement or bracket."""
    while index < len(tokens):
        text = tokens[index].text
        if tokens[index].kind is Kind.PUNCTUATION:
            if text in "([{":
                index = pairs[index]
            elif text in (")", "]", "}", ";"):
                return True
            elif text == ">" and _run(tokens, index) >= 3:
                return False
        index += 1
    return True
