"""How much of a reference's work no program can avoid.

Two counts, both low rather than wrong: whoever has a better algorithm must not be held to the
reference's. An element of an input has to be read if the result's gradient by it is not 0. The
multiplications of a matrix product or convolution have to be done if it is the only one, if it
combines what the program was given, as it was given, and if nothing but pointwise functions lie
between it and the result: there is no rewriting that, as there is of a sum over a product. Of a
convolution, as many count as one with a kernel of one element would need: there are transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from reward_service.runner.outputs import extent, overlap
from reward_service.runner.values import flatten

_LEAST_EFFECT = 1e-12
"""Of an element that matters, relative to the result and to itself; float64 rounds to less."""
_UNKNOWN = (RuntimeError, NotImplementedError, TypeError, AttributeError, MemoryError)
"""What programs raise that cannot be differentiated or followed."""
_ATEN = torch.ops.aten
_OPERANDS = {
    _ATEN.mm: (0, 1),
    _ATEN.bmm: (0, 1),
    _ATEN.addmm: (1, 2),
    _ATEN.baddbmm: (1, 2),
    _ATEN.convolution: (0, 1),
}
"""Which arguments are multiplied."""
_COPIES = frozenset({_ATEN.clone, _ATEN._to_copy, _ATEN.copy_, _ATEN._unsafe_view})


def shares_read(call: Callable[[list[Tensor]], Any], inputs: Sequence[Tensor]) -> list[float]:
    """By input, the share of its elements that the result depends on.

    `call` should compute in float64. Where there is no gradient, nothing is known: 0.
    """
    leaves = [t.detach().requires_grad_(t.is_floating_point()) for t in inputs]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    shares = dict.fromkeys(map(id, leaves), 0.0)
    try:
        with torch.enable_grad():
            _, outputs = flatten(call([leaf.clone() for leaf in leaves]))
            outputs = [output for output in outputs if output.requires_grad]
            if not outputs or not wanted:
                return [0.0] * len(leaves)
            total = torch.stack([(o * torch.randn_like(o)).sum() for o in outputs]).sum()
            gradients = torch.autograd.grad(total, wanted, allow_unused=True)
    except _UNKNOWN:
        return [0.0] * len(leaves)
    size = max(float(output.detach().square().mean().sqrt()) for output in outputs)
    for leaf, gradient in zip(wanted, gradients, strict=True):
        if gradient is not None and leaf.numel():
            own = float(leaf.detach().square().mean().sqrt())
            effect = gradient.abs() * own
            matters = effect.isfinite() & (effect > _LEAST_EFFECT * max(size, own))
            shares[id(leaf)] = float(matters.double().mean())
    return [shares[id(leaf)] for leaf in leaves]


def multiplications(call: Callable[[], Any], given: Sequence[Tensor]) -> int:
    """Multiplications that any program needs for the result of `call`, which is `given` these
    tensors; 0 where nothing is known. Elements that are 0 are left out, on all sides."""
    try:
        with torch.no_grad(), _Products(given) as products:
            _, outputs = flatten(call())
    except _UNKNOWN:
        return 0
    made = [output for output in outputs if products.descends(output)]
    if products.count != 1 or not products.pointwise or not made:
        return 0
    return int(products.needed * min(map(_full, made)))


class _Products(TorchDispatchMode):
    """Counts products, and follows what becomes of the first one's result."""

    def __init__(self, given: Sequence[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0
        self.needed = 0.0
        self.pointwise = True
        """Whether only pointwise functions were applied to it."""
        self._given = [extent(tensor) for tensor in given]
        self._descendants: list[Tensor] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Else torch imports torch._dynamo for the first operator: 1.5 s for each reference."""
        return False

    def descends(self, tensor: Tensor) -> bool:
        """Whether a tensor was made from the product."""
        return any(overlap(extent(tensor), extent(other)) for other in self._descendants)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        values = [*args, *(kwargs or {}).values()]
        follows = any(self.descends(t) for value in values for t in _tensors(value))
        result = func(*args, **(kwargs or {}))
        places = _OPERANDS.get(func._overloadpacket)
        if places is not None:
            self.count += 1
            a, b = (args[place] for place in places)
            # Of a convolution's weight, dimension 1 is what each element of the result sums over.
            depth = b.shape[1] if func._overloadpacket is _ATEN.convolution else a.shape[-1]
            if self._as_given(a) and self._as_given(b):
                self.needed = result.numel() * depth * _full(a) * _full(b)
            self._descendants.append(result)
        elif follows:
            self.pointwise &= _is_pointwise(func)
            self._descendants += _tensors(result)
        return result

    def _as_given(self, operand: Tensor) -> bool:
        repeated = any(
            size > 1 and stride == 0
            for size, stride in zip(operand.shape, operand.stride(), strict=True)
        )
        return not repeated and any(overlap(extent(operand), other) for other in self._given)


def _full(tensor: Tensor) -> float:
    """The share of elements that are not 0."""
    return float((tensor != 0).double().mean()) if tensor.numel() else 0.0


def _tensors(value: Any) -> list[Tensor]:
    items = value if isinstance(value, (list, tuple)) else [value]
    return [item for item in items if isinstance(item, Tensor)]


def _is_pointwise(func: Any) -> bool:
    return torch.Tag.pointwise in func.tags or func.is_view or func._overloadpacket in _COPIES
