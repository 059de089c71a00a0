"""`transform`: one CUDA source text into its device text and its host text.

The host text, line for line:
- a kernel keeps its head and gets the body of a stub (`stubs.py`); a launch becomes a call
  (`launches.py`);
- what only the device runs is gone, unless host code names it (`optional.py`);
- a `__device__` or `__constant__` variable that host code names is an ordinary variable in a
  section of its own, by which `kernels.py` finds it and registers it;
- bodies of macros are treated in the same way; a macro that cannot be is left alone, and may then
  only be used where the device alone reads it.

The device text differs only where a name would be private to nvcc's module: `static` kernels and
anonymous namespaces move to `inline namespace rs_local_<index>` in both texts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reward_service.build.source import includes, launches
from reward_service.build.source.brackets import partners
from reward_service.build.source.declarations import AnonymousNamespace, Reader
from reward_service.build.source.edits import Edits
from reward_service.build.source.functions import Functions
from reward_service.build.source.macros import Macro, Macros, parse_define
from reward_service.build.source.optional import Optional, settle
from reward_service.build.source.tokens import (
    Kind,
    Token,
    UnsuitableError,
    directive_name,
    tokenise,
)
from reward_service.build.source.variables import Variables

_FOR_NVCC = re.compile(r"\b(?:__CUDACC__|__NVCC__)(?![\w$])")
_UNKNOWN_HERE = re.compile(
    r"\b(?:__CUDACC_VER_\w+|__CUDACC_\w+__|__CUDA_ARCH_LIST__|__NVCC_\w+|cudaGraph\w*Symbol"
    r"|__cuda(?:Push|Pop)CallConfiguration|__cudaRegister\w+|cudaLaunchDevice\w*"
    r"|rs_\w+|RS_(?:CUDACC|VARIABLE|DEVICE_ONLY|NEEDS|PAIR)\w*|REWARD_SERVICE_\w+|texture\s*<|surface\s*<)"
)


@dataclass(frozen=True)
class Transformed:
    """The two texts; each has as many lines as the source."""

    device: str
    host: str


def transform(text: str, index: int = 0, own: Collection[str] = ()) -> Transformed:
    """Both texts of one source; `index` tells the sources of one module apart, and `own` are the
    names of the candidate's headers, which are to be transformed as well.

    Raises `UnsuitableError` where the stock build must take the candidate.
    """
    odd = _UNKNOWN_HERE.search(text)
    if odd:
        raise UnsuitableError(f"it uses {odd.group()}")
    try:
        tokens = tokenise(text)
        for token in tokens:
            if token.kind is Kind.DIRECTIVE and directive_name(token) == "include":
                includes.check(token, own)
        return _Source(tokens, index).transformed()
    except RecursionError as error:
        raise UnsuitableError("nested too deeply") from error


class _Source:
    """One text with its macros."""

    def __init__(self, tokens: Sequence[Token], index: int) -> None:
        self._tokens = tokens
        self._macros = Macros(tokens)
        self._space = f"inline namespace rs_local_{index}"
        self._opaque: set[str] = set()

    def transformed(self) -> Transformed:
        defines = {
            index: self._define(parse_define(token))
            for index, token in enumerate(self._tokens)
            if token.kind is Kind.DIRECTIVE and directive_name(token) == "define"
        }
        edits = self._split(self._tokens, in_macro=False)
        for index, texts in defines.items():
            edits.host[index], edits.device[index] = texts
        for index, token in enumerate(self._tokens):
            if token.kind in (Kind.NAME, Kind.DIRECTIVE) and not edits.removed[index]:
                edits.host[index] = _FOR_NVCC.sub("RS_CUDACC", edits.host[index])
        return Transformed("".join(edits.device), "".join(edits.host))

    def _define(self, macro: Macro) -> tuple[str, str]:
        """Host and device text of a `#define`."""
        text = macro.prefix + "".join(token.text for token in macro.body)
        words = any(self._macros.words(name) for name in macro.names)
        try:
            if words and macro.has("{"):
                edits = self._split(macro.body, in_macro=True)
            elif macro.has("<<<"):
                edits = Edits(macro.body, in_macro=True)
                launches.rewrite(macro.body, partners(macro.body), edits.host)
            else:
                return text, text
        except UnsuitableError:
            self._opaque.add(macro.name)
            return text, text
        return macro.prefix + "".join(edits.host), macro.prefix + "".join(edits.device)

    def _split(self, tokens: Sequence[Token], in_macro: bool) -> Edits:
        pairs = partners(tokens)
        edits = Edits(tokens, in_macro)
        functions = Functions(tokens, pairs, self._macros, edits, self._space, in_macro)
        variables = Variables(tokens, self._macros, edits, in_macro)
        found: list[Optional] = []
        known: set[int] = set()
        for item in Reader(tokens, pairs, self._macros).declarations(0, len(tokens)):
            if isinstance(item, AnonymousNamespace):
                edits.host[item.start] = edits.device[item.start] = self._space
            elif item.words - {"__host__"}:
                known.update(item.head)
                if Variables.owns(item):
                    found.extend(variables.handle(item))
                else:
                    found.extend(functions.handle(item))
        functions.check_linkage()
        settle(tokens, edits.removed, found)
        launches.rewrite(tokens, pairs, edits.host)
        self._audit(tokens, edits, known)
        return edits

    def _audit(self, tokens: Sequence[Token], edits: Edits, known: set[int]) -> None:
        """No CUDA word may be left in the host text but where it was understood."""
        for index, token in enumerate(tokens):
            if token.kind is not Kind.NAME or edits.removed[index] or index in known:
                continue
            name = token.text
            if self._macros.named(name) and self._macros.reaches(name, self._opaque):
                raise UnsuitableError(f"the macro {name} is not understood")
            code = self._macros.named(name) and self._macros.defines_code(name)
            if not code and self._macros.words(name) - {"__host__"}:
                raise UnsuitableError(f"{name} where it is not understood")
