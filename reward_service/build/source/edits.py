"""The two texts while they are being made: for each token, what stands for it in either."""

from __future__ import annotations

from collections.abc import Sequence

from reward_service.build.source.tokens import Kind, Token, UnsuitableError, directive_name, words

_KEPT_DIRECTIVES = words(
    """
    if ifdef ifndef else elif elifdef elifndef endif define undef error warning
    """
)


class Edits:
    """Host and device text by token; `removed` tells what the host text no longer has."""

    def __init__(self, tokens: Sequence[Token], in_macro: bool) -> None:
        self._tokens = tokens
        self._line_end = "\\\n" if in_macro else "\n"
        self.host = [token.text for token in tokens]
        self.device = [token.text for token in tokens]
        self.removed = [False] * len(tokens)

    def remove(self, start: int, end: int) -> None:
        """Takes the tokens from `start` to before `end` out of the host text.

        Line ends stay, and so do directives that the text around may depend on.
        """
        for index in range(start, end):
            token = self._tokens[index]
            self.removed[index] = True
            if token.kind is Kind.DIRECTIVE:
                name = directive_name(token)
                if name == "include":
                    raise UnsuitableError("an #include within a device function")
                if name in _KEPT_DIRECTIVES:
                    self.removed[index] = False
                    continue
            self.host[index] = self._line_end * token.text.count("\n")

    def drop(self, index: int) -> None:
        """Takes one word, such as `static`, out of both texts."""
        self.host[index] = self.device[index] = ""

    def around(self, start: int, end: int, before: str, after: str) -> None:
        """Puts `before` and `after` around the tokens from `start` to before `end`, in both."""
        for text in (self.host, self.device):
            text[start] = before + text[start]
            text[end - 1] += after
