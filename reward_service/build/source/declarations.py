"""The declarations at namespace and class scope, found by brackets and a few keywords.

Only boundaries and the head (the tokens outside of brackets before the body) are read. What is
inside function bodies and initialisers is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from reward_service.build.source.brackets import CONDITIONALS, Partners, after, angle_end
from reward_service.build.source.macros import Macros
from reward_service.build.source.tokens import Kind, Token, UnsuitableError, directive_name, words

_CLASS_KEYS = frozenset({"class", "struct", "union", "enum"})
_ACCESS = frozenset({"public", "private", "protected"})
_NOT_FUNCTIONS = words(
    """
    __launch_bounds__ __attribute__ __align__ __cluster_dims__ __maxnreg__ __block_size__
    __declspec alignas decltype noexcept explicit requires void int float double bool char
    auto unsigned signed long short const constexpr static inline __asm__ asm throw sizeof
    """
)
_LONGEST = 512
"""Tokens of a head: more are no program's, and each of its brackets asks about all of them."""


@dataclass
class Declaration:
    """One declaration; all members are indices into the tokens of the text."""

    start: int
    end: int = 0
    """One past its last token."""
    in_class: bool = False
    head: list[int] = field(default_factory=list)
    """Tokens outside of brackets and template lists; of a bracket only the opening one."""
    templates: list[tuple[int, int]] = field(default_factory=list)
    """The `<` and `>` of each `template <...>`."""
    parameters: int | None = None
    """The `(` of a function's parameters."""
    body: int | None = None
    """The `{` of a function's body."""
    words: frozenset[str] = frozenset()
    """CUDA words in the head, whether written or by macro."""
    conditional: bool = False
    """True if a conditional directive stands within the head."""


@dataclass(frozen=True)
class AnonymousNamespace:
    """`namespace {`, at the index of the first of these words."""

    start: int


class Reader:
    """Reads the declarations of one text."""

    def __init__(self, tokens: Sequence[Token], pairs: Partners, macros: Macros) -> None:
        self._tokens = tokens
        self._pairs = pairs
        self._macros = macros

    def declarations(
        self, start: int, end: int, in_class: bool = False
    ) -> Iterator[Declaration | AnonymousNamespace]:
        """All of them in the tokens from `start` to before `end`, inner ones too."""
        index = start
        while index < end:
            token = self._tokens[index]
            text = token.text
            if token.blank or token.kind is Kind.DIRECTIVE or text == ";":
                index += 1
                continue
            following = after(self._tokens, index)
            if text == "namespace" or (text == "inline" and self._is(following, "namespace")):
                brace = self._namespace_body(index, end)
                if brace is None:
                    index = self._after_semicolon(index, end)
                    continue
                if text == "namespace" and following == brace:
                    yield AnonymousNamespace(index)
                yield from self.declarations(brace + 1, self._pairs[brace])
                index = self._pairs[brace] + 1
            elif text == "extern" and self._is_linkage_block(following):
                brace = after(self._tokens, following)
                yield from self.declarations(brace + 1, self._pairs[brace])
                index = self._pairs[brace] + 1
            elif in_class and text in _ACCESS and self._is(following, ":"):
                index = following + 1
            elif self._is_code_macro(index, following):
                index = self._pairs[following] + 1
            else:
                declaration = Declaration(index, in_class=in_class)
                yield from self._read(declaration, end)
                yield declaration
                index = declaration.end

    def _is(self, index: int, text: str) -> bool:
        return index < len(self._tokens) and self._tokens[index].text == text

    def _is_linkage_block(self, index: int) -> bool:
        return (
            index < len(self._tokens)
            and self._tokens[index].kind is Kind.STRING
            and self._is(after(self._tokens, index), "{")
        )

    def _is_code_macro(self, index: int, following: int) -> bool:
        name = self._tokens[index].text
        return (
            self._tokens[index].kind is Kind.NAME
            and self._macros.function_like(name)
            and self._macros.defines_code(name)
            and self._is(following, "(")
        )

    def _namespace_body(self, index: int, end: int) -> int | None:
        while index < end and not self._is(index, ";"):
            if self._is(index, "{"):
                return index
            index += 1
        return None

    def _after_semicolon(self, index: int, end: int) -> int:
        while index < end and not self._is(index, ";"):
            index += 1
        return index + 1

    def _read(
        self, declaration: Declaration, end: int
    ) -> Iterator[Declaration | AnonymousNamespace]:
        """Fills `declaration`; yields what is declared inside of a class."""
        index = declaration.start
        runs_on = False
        while index < end:
            token = self._tokens[index]
            if len(declaration.head) > _LONGEST:
                raise UnsuitableError("a declaration is too long")
            if token.kind is Kind.DIRECTIVE:
                declaration.conditional |= directive_name(token) in CONDITIONALS
            elif token.text == "template" and self._is(after(self._tokens, index), "<"):
                opening = after(self._tokens, index)
                closing = angle_end(self._tokens, self._pairs, opening)
                declaration.head.append(index)
                declaration.templates.append((opening, closing))
                index = closing
            elif token.text == ";" and token.kind is Kind.PUNCTUATION:
                break
            elif token.text == "{" and token.kind is Kind.PUNCTUATION:
                if self._begins_class(declaration):
                    if "enum" not in self._texts(declaration):
                        yield from self.declarations(index + 1, self._pairs[index], in_class=True)
                elif self._begins_body(declaration):
                    declaration.body = index
                    index = self._pairs[index]
                    break
                declaration.head.append(self._pairs[index])
                index = self._pairs[index]
                behind = after(self._tokens, index)
                member = declaration.parameters is not None and ":" in self._texts(declaration)
                runs_on |= not (member or self._is(behind, ";") or self._is(behind, ","))
            elif token.text in ("(", "[") and token.kind is Kind.PUNCTUATION:
                if token.text == "(" and declaration.parameters is None:
                    declaration.parameters = self._parameters(declaration, index)
                declaration.head.append(index)
                index = self._pairs[index]
            elif not token.blank:
                declaration.head.append(index)
            index += 1
        else:
            if self._words(declaration):
                raise UnsuitableError("a declaration with CUDA words does not end")
        declaration.end = min(index + 1, end)
        declaration.words = self._words(declaration)
        if declaration.words and (runs_on or self._has_code_macro(declaration)):
            # Its body may stand behind a macro, and what follows would be taken for a part of it.
            raise UnsuitableError("where a declaration with CUDA words ends is not understood")

    def _has_code_macro(self, declaration: Declaration) -> bool:
        names = (self._tokens[index].text for index in declaration.head)
        return any(self._macros.named(n) and self._macros.defines_code(n) for n in names)

    def _texts(self, declaration: Declaration) -> list[str]:
        return [self._tokens[index].text for index in declaration.head]

    def _words(self, declaration: Declaration) -> frozenset[str]:
        return frozenset().union(
            *(
                self._macros.words(self._tokens[index].text)
                for index in declaration.head
                if self._tokens[index].kind is Kind.NAME
            )
        )

    def _begins_class(self, declaration: Declaration) -> bool:
        texts = self._texts(declaration)
        return (
            declaration.parameters is None and "=" not in texts and bool(_CLASS_KEYS & set(texts))
        )

    def _begins_body(self, declaration: Declaration) -> bool:
        """True at the `{` of a function's body, False at that of an initialiser."""
        if declaration.parameters is None:
            return False
        start = declaration.head.index(declaration.parameters)
        later = declaration.head[start + 1 :]
        texts = [self._tokens[index].text for index in later]
        if "requires" in self._texts(declaration):
            raise UnsuitableError("a requires clause")
        if ":" in texts:
            last = self._tokens[later[-1]]
            return last.kind is not Kind.NAME and last.text != ">"
        return "=" not in texts

    def _parameters(self, declaration: Declaration, index: int) -> int | None:
        """`index`, if this `(` opens the parameters of a function."""
        if not declaration.head or "=" in self._texts(declaration)[:-1]:
            operator = "operator" in self._texts(declaration)
            return index if operator and self._texts(declaration)[-1] != "operator" else None
        last = self._tokens[declaration.head[-1]]
        if "operator" in self._texts(declaration):
            return None if last.text == "operator" else index
        if last.text == ">":
            return index
        if last.kind is not Kind.NAME or last.text in _NOT_FUNCTIONS:
            return None
        if self._macros.function_like(last.text):
            closed = after(self._tokens, self._pairs[index])
            if self._is(closed, "(") and not self._macros.words(last.text):
                return closed if self._tokens[closed].text == "(" else None
            return None
        inner = after(self._tokens, index)
        return None if self._is(inner, "*") else index
