"""What becomes of `__device__` and `__constant__` variables, and of `extern __shared__` ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reward_service.build.source.brackets import after
from reward_service.build.source.declarations import Declaration
from reward_service.build.source.edits import Edits
from reward_service.build.source.macros import Macros
from reward_service.build.source.optional import Optional
from reward_service.build.source.tokens import Kind, Token, UnsuitableError, words

_SYMBOL_CALLS = words(
    """
    cudaMemcpyToSymbol cudaMemcpyToSymbolAsync cudaMemcpyFromSymbol
    cudaMemcpyFromSymbolAsync cudaGetSymbolAddress cudaGetSymbolSize
    """
)


class Variables:
    """Edits the variables of one text, as they come."""

    def __init__(
        self, tokens: Sequence[Token], macros: Macros, edits: Edits, in_macro: bool
    ) -> None:
        self._tokens = tokens
        self._macros = macros
        self._edits = edits
        self._in_macro = in_macro

    @staticmethod
    def owns(declaration: Declaration) -> bool:
        """True if the declaration is of variables."""
        return bool(declaration.words & {"__constant__", "__shared__", "__managed__"}) or (
            declaration.parameters is None and "__device__" in declaration.words
        )

    def handle(self, declaration: Declaration) -> Iterator[Optional]:
        """Edits at once, or yields what depends on the rest of the text."""
        texts = [self._tokens[index].text for index in declaration.head]
        if declaration.conditional or self._in_macro or "__managed__" in declaration.words:
            raise UnsuitableError("a device variable that is not understood")
        if {"class", "struct", "union", "enum", "operator"} & set(texts):
            raise UnsuitableError("a device variable of a type of its own")
        if declaration.in_class:
            if "constexpr" not in texts:
                raise UnsuitableError("a device variable in a class")
            return
        names = self._names(declaration)
        if not names:
            raise UnsuitableError("a device variable without a name")
        yield Optional(
            names,
            declaration.start,
            declaration.end,
            declaration.end,
            lambda: self._keep(declaration, texts),
            lambda: self._edits.remove(declaration.start, declaration.end),
        )

    def _names(self, declaration: Declaration) -> frozenset[str]:
        return frozenset(
            self._tokens[index].text
            for index in declaration.head
            if self._tokens[index].kind is Kind.NAME
            and self._tokens[after(self._tokens, index)].text in ("[", "=", ";", ",", "{", "(", ")")
            and not self._macros.words(self._tokens[index].text)
        )

    def _keep(self, declaration: Declaration, texts: list[str]) -> None:
        """A host variable of the same name, for the runtime to know the device's by."""
        if "__shared__" in declaration.words or "extern" in texts or declaration.templates:
            raise UnsuitableError("host code names a device variable that is not understood")
        if {"const", "constexpr"} & set(texts):
            if any(token.text in _SYMBOL_CALLS for token in self._tokens):
                raise UnsuitableError("a constant device variable may be copied to")
            return
        for index in declaration.head:
            text = self._tokens[index].text
            if text == "static":
                self._edits.drop(index)
            elif self._macros.named(text) and self._macros.reaches(
                text, {"static", "const", "extern", "constexpr"}
            ):
                raise UnsuitableError(f"a device variable by the macro {text}")
        zero = "=" not in texts and "}" not in texts and "(" not in texts
        start = declaration.start
        self._edits.host[start] = (
            "RS_VARIABLE " if zero else "RS_VARIABLE_SET "
        ) + self._edits.host[start]
