"""The names of a kernel's parameters and template parameters, given where there are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reward_service.build.source.brackets import Partners, angle_end, before
from reward_service.build.source.macros import Macros
from reward_service.build.source.tokens import Kind, Token, UnsuitableError, words

_TYPE_WORDS = words(
    """
    void bool char short int long float double unsigned signed const volatile auto
    typename class struct __restrict__ __restrict restrict wchar_t char8_t char16_t
    char32_t
    """
)
_NO_TYPE = frozenset({"const", "volatile", "["})
_NO_ARGUMENT_TYPE = _NO_TYPE | {"__grid_constant__", "typename", "struct", "class"}


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, and the token after which a made-up name is to be written."""

    name: str
    pack: bool
    insert_after: int | None
    """None where the source names it."""


@dataclass(frozen=True)
class Lists:
    """What reading a list of parameters needs."""

    tokens: Sequence[Token]
    pairs: Partners
    macros: Macros

    def function(self, opening: int) -> list[Parameter]:
        """The parameters between `(` at `opening` and its `)`."""
        found = []
        for number, (start, end) in enumerate(self._split(opening + 1, self.pairs[opening])):
            seen = self._significant(start, end)
            if seen == ["void"]:
                continue
            if seen == ["..."]:
                raise UnsuitableError("a kernel takes any number of arguments")
            if "&" in self._top(start, end) or "&&" in self._top(start, end):
                raise UnsuitableError("a kernel takes a reference")
            found.append(self._parameter(start, end, f"rs_a{number}", _NO_ARGUMENT_TYPE))
        return found

    def template(self, opening: int, closing: int) -> list[Parameter]:
        """The parameters between the `<` and `>` of `template <...>`."""
        found = []
        for number, (start, end) in enumerate(self._split(opening + 1, closing)):
            found.append(self._parameter(start, end, f"rs_t{number}", _NO_TYPE))
        return found

    def _significant(self, start: int, end: int) -> list[str]:
        return [token.text for token in self.tokens[start:end] if not token.blank]

    def _split(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The pieces between commas, without defaults; nothing for an empty list."""
        if not self._significant(start, end):
            return
        for token in self.tokens[start:end]:
            self._check(token)
        begin, stop, index = start, -1, start
        while index < end:
            token = self.tokens[index]
            if token.kind is Kind.PUNCTUATION:
                if token.text in "([{":
                    index = self.pairs[index]
                elif token.text == "<":
                    index = angle_end(self.tokens, self.pairs, index)
                elif token.text == "=" and stop < 0:
                    stop = index
                elif token.text == ",":
                    yield begin, index if stop < 0 else stop
                    begin, stop = index + 1, -1
            index += 1
        if index != end:
            raise UnsuitableError("a default argument is not understood")
        yield begin, end if stop < 0 else stop

    def _check(self, token: Token) -> None:
        if token.kind is Kind.DIRECTIVE:
            raise UnsuitableError("a directive within parameters")
        for macro in self.macros.named(token.text):
            if macro.function_like or macro.has(",", "(", "=", "<", "..."):
                raise UnsuitableError(f"the macro {token.text} within parameters")

    def _top(self, start: int, end: int) -> list[str]:
        """Texts outside of brackets and template arguments."""
        return [self.tokens[index].text for index in self._top_indices(start, end)]

    def _top_indices(self, start: int, end: int) -> list[int]:
        found = []
        index = start
        while index < end:
            token = self.tokens[index]
            if not token.blank:
                found.append(index)
            if token.kind is Kind.PUNCTUATION:
                if token.text in "([{":
                    index = self.pairs[index]
                elif token.text == "<":
                    index = angle_end(self.tokens, self.pairs, index)
            index += 1
        return found

    def _parameter(self, start: int, end: int, made_up: str, no_type: frozenset[str]) -> Parameter:
        top = self._top_indices(start, end)
        texts = [self.tokens[index].text for index in top]
        if not top or "##" in texts:
            raise UnsuitableError("a parameter is not understood")
        if "(" in texts:
            return self._declarator(top, texts)
        array = texts[-1] == "["
        while texts and texts[-1] == "[":
            top.pop()
            texts.pop()
        if (
            len(top) >= 2
            and self.tokens[top[-1]].kind is Kind.NAME
            and texts[-1] not in _TYPE_WORDS
            and texts[-2] != "::"
            and not no_type.issuperset(texts[:-1])
        ):
            if self.macros.named(texts[-1]):
                raise UnsuitableError(f"a parameter named by the macro {texts[-1]}")
            return Parameter(texts[-1], "..." in texts, None)
        if array:
            raise UnsuitableError("an unnamed array parameter")
        return Parameter(made_up, "..." in texts, before(self.tokens, end))

    def _declarator(self, top: list[int], texts: list[str]) -> Parameter:
        """The name in `float (*name)(float)` or `float (*name)[4]`."""
        opening = next(index for index, text in zip(top, texts, strict=True) if text == "(")
        inner = self._significant(opening + 1, self.pairs[opening])
        if len(inner) == 2 and inner[0] == "*" and inner[1] not in _TYPE_WORDS:
            return Parameter(inner[1], False, None)
        raise UnsuitableError("a parameter is not understood")
