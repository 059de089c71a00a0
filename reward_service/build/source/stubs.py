"""The host stub of a kernel: same name and parameters, and a body that launches.

The stub passes its own address, for the CUDA runtime knows a kernel by the address of its stub.
A cast to the exact function type picks it among overloads, explicit template arguments among
instantiations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reward_service.build.source.brackets import Partners, before, expression_start
from reward_service.build.source.declarations import Declaration
from reward_service.build.source.macros import Macros
from reward_service.build.source.parameters import Lists, Parameter
from reward_service.build.source.tokens import Kind, Token, UnsuitableError


@dataclass(frozen=True)
class Stub:
    """The text of a stub's body, and the names that its head lacks."""

    body: str
    names: tuple[tuple[int, str], ...]
    """(index of a token, text to add after it)."""


def name_range(
    tokens: Sequence[Token], pairs: Partners, declaration: Declaration
) -> tuple[int, int]:
    """First token of a function's (qualified, specialised) name, and one past its last."""
    assert declaration.parameters is not None
    last = before(tokens, declaration.parameters)
    return expression_start(tokens, pairs, last), last + 1


def stub(
    tokens: Sequence[Token], pairs: Partners, macros: Macros, declaration: Declaration
) -> Stub:
    """The stub for the definition of a kernel."""
    assert declaration.parameters is not None
    assert declaration.body is not None
    closing = pairs[declaration.parameters]
    if any(not token.blank for token in tokens[closing + 1 : declaration.body]):
        raise UnsuitableError("words between a kernel's parameters and its body")
    lists = Lists(tokens, pairs, macros)
    parameters = lists.function(declaration.parameters)
    start, end = name_range(tokens, pairs, declaration)
    name = "".join(" " if token.blank else token.text for token in tokens[start:end])
    own = {token.text for token in tokens[start:end] if token.kind is Kind.NAME}
    if own & {parameter.name for parameter in parameters}:
        raise UnsuitableError("a kernel's parameter has the kernel's name")
    if len(declaration.templates) > 1:
        raise UnsuitableError("a kernel with several template lists")
    arguments: list[Parameter] = []
    for opening, ending in declaration.templates:
        arguments = lists.template(opening, ending)
    if arguments:
        name += "<" + ", ".join(_expanded(each, each.name) for each in arguments) + ">"
    types = ", ".join(
        _expanded(each, f"::rs_cuda::parameter<decltype({each.name})>") for each in parameters
    )
    values = "".join(", " + _expanded(each, each.name) for each in parameters)
    missing = tuple(
        (each.insert_after, f" {each.name}")
        for each in (*parameters, *arguments)
        if each.insert_after is not None
    )
    return Stub(
        f"{{ ::rs_cuda::launch(static_cast<void (*)({types})>(&{name}){values}); }}", missing
    )


def _expanded(parameter: Parameter, text: str) -> str:
    return f"{text}..." if parameter.pack else text
