"""What becomes of kernels and of functions that the device runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reward_service.build.source.brackets import Partners
from reward_service.build.source.declarations import Declaration
from reward_service.build.source.edits import Edits
from reward_service.build.source.macros import Macros
from reward_service.build.source.optional import Optional
from reward_service.build.source.stubs import name_range, stub
from reward_service.build.source.tokens import Kind, Token, UnsuitableError

_SPECIFIERS = frozenset(
    {"static", "inline", "__inline__", "__forceinline__", "__noinline__", "extern", "constexpr"}
)


class Functions:
    """Edits the functions of one text, as they come."""

    def __init__(
        self,
        tokens: Sequence[Token],
        pairs: Partners,
        macros: Macros,
        edits: Edits,
        space: str,
        in_macro: bool,
    ) -> None:
        self._tokens = tokens
        self._pairs = pairs
        self._macros = macros
        self._edits = edits
        self._space = space
        self._in_macro = in_macro
        self._static_kernels: set[str] = set()
        self._other_kernels: set[str] = set()

    def handle(self, declaration: Declaration) -> Iterator[Optional]:
        """Edits at once, or yields what depends on the rest of the text."""
        texts = {self._tokens[index].text for index in declaration.head}
        if declaration.conditional:
            raise UnsuitableError("a conditional directive within the head of a function")
        if declaration.parameters is None:
            raise UnsuitableError("a declaration with CUDA words is not understood")
        if "friend" in texts:
            raise UnsuitableError("a friend with CUDA words")
        if "__global__" in declaration.words:
            self._kernel(declaration, texts)
        elif "__host__" in declaration.words or texts & {"constexpr", "consteval"}:
            yield from self._for_both(declaration, texts)
        elif "virtual" in texts:
            raise UnsuitableError("a virtual device function")
        else:
            yield from self._for_device(declaration, texts)

    def check_linkage(self) -> None:
        """A kernel must be `static` in all its declarations or in none."""
        if self._static_kernels & self._other_kernels:
            raise UnsuitableError("a kernel is static in one declaration and not in another")

    def _kernel(self, declaration: Declaration, texts: set[str]) -> None:
        if declaration.in_class:
            raise UnsuitableError("a kernel in a class")
        if declaration.words - {"__global__"}:
            raise UnsuitableError("a kernel with other CUDA words")
        start, end = name_range(self._tokens, self._pairs, declaration)
        name = "".join(token.text for token in self._tokens[start:end] if not token.blank)
        if declaration.body is not None:
            self._give_stub(declaration, declaration.body)
        by_macro = any(
            self._macros.reaches(self._tokens[index].text, {"static"})
            for index in declaration.head
            if self._tokens[index].text != "static"
        )
        if by_macro:
            raise UnsuitableError("a kernel is static by macro")
        if "static" not in texts:
            self._other_kernels.add(name)
            return
        if "extern" in texts or "::" in name:
            raise UnsuitableError("a static kernel with a language linkage or a qualified name")
        self._static_kernels.add(name)
        for index in declaration.head:
            if self._tokens[index].text == "static":
                self._edits.drop(index)
        self._edits.around(declaration.start, declaration.end, f"{self._space} {{ ", " }")

    def _give_stub(self, declaration: Declaration, body: int) -> None:
        made = stub(self._tokens, self._pairs, self._macros, declaration)
        self._edits.remove(body, self._pairs[body] + 1)
        self._edits.host[body] = made.body
        for index, name in made.names:
            self._edits.host[index] += name

    def _simple_name(self, declaration: Declaration, texts: set[str]) -> str | None:
        """The name of a free function declared by an unqualified name."""
        if declaration.in_class or "operator" in texts or self._in_macro:
            return None
        start, end = name_range(self._tokens, self._pairs, declaration)
        if "::" in (token.text for token in self._tokens[start:end]):
            return None
        token = self._tokens[start]
        return token.text if token.kind is Kind.NAME else None

    def _for_both(self, declaration: Declaration, texts: set[str]) -> Iterator[Optional]:
        name = self._simple_name(declaration, texts)
        if name is not None:
            yield Optional(
                frozenset({name}),
                declaration.start,
                declaration.end,
                declaration.end,
                lambda: None,
                lambda: self._edits.remove(declaration.start, declaration.end),
            )

    def _for_device(self, declaration: Declaration, texts: set[str]) -> Iterator[Optional]:
        name = self._simple_name(declaration, texts)
        if name is None:
            self._edits.remove(declaration.start, declaration.end)
            return
        body = declaration.body
        names = [(index, self._tokens[index].text) for index in declaration.head]
        word = next(index for index, text in names if "__device__" in self._macros.words(text))
        linked = any(self._macros.reaches(text, _SPECIFIERS) for _, text in names)

        def empty() -> None:
            if body is not None:
                self._edits.remove(body, declaration.end)
                self._edits.host[body] = "{ __builtin_trap(); }"
                if not linked:
                    # nvcc's host side has no such function, so another source may have one too.
                    self._edits.host[word] = f"inline {self._edits.host[word]}"

        yield Optional(
            frozenset({name}),
            declaration.start,
            declaration.end,
            declaration.end if body is None else body,
            empty,
            lambda: self._edits.remove(declaration.start, declaration.end),
        )
