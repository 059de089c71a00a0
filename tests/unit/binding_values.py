"""Values of every kind that a bound function may be given, made anew for each call."""

from __future__ import annotations

import array
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class Whole:
    def __index__(self) -> int:
        return 5

    def __repr__(self) -> str:
        return "Whole()"


class Numeric:
    def __int__(self) -> int:
        return 6

    def __float__(self) -> float:
        return 6.5

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "Numeric()"


class Broken:
    def __index__(self) -> int:
        raise KeyError("index")

    def __float__(self) -> float:
        raise KeyError("float")

    def __bool__(self) -> bool:
        raise KeyError("bool")

    def __repr__(self) -> str:
        return "Broken()"


class Sequence:
    def __init__(self, length: int, broken: bool = False) -> None:
        self.length, self.broken = length, broken

    def __len__(self) -> int:
        if self.length < 0:
            raise KeyError("length")
        return self.length

    def __getitem__(self, index: int) -> int:
        if self.broken:
            raise KeyError("item")
        if index >= self.length:
            raise IndexError
        return index

    def __repr__(self) -> str:
        return f"Sequence({self.length})"


class Shrinking(list[Any]):
    """Loses its elements while the first is converted."""

    def __init__(self) -> None:
        super().__init__()
        outer = self

        class First:
            def __index__(self) -> int:
                outer.clear()
                return 1

            def __repr__(self) -> str:
                return "First()"

        self.extend([First(), 2, 3])


class Subclass(torch.Tensor):
    pass


class NoRepr:
    def __repr__(self) -> str:
        raise ValueError("no repr")


WEIGHT = torch.nn.Parameter(torch.ones(2))

NUMBERS: list[Any] = [
    *(0, 1, -1, 127, 128, 255, 256, -129, 2**15, 2**16, 2**31 - 1, 2**31, 2**32, -(2**31) - 1),
    *(2**63 - 1, 2**63, -(2**63) - 1, 2**64 - 1, 2**64, 10**400),
    *(True, False, 0.0, 1.0, 1.5, -0.5, math.nan, math.inf, 1e300, 1j, None),
    *(np.int8(3), np.int64(-3), np.uint64(2**63), np.float32(1.5), np.float64(2.0)),
    *(np.bool_(True), np.bool_(False), np.complex64(1j)),
]
SCALARS: list[Callable[[], Any]] = [
    *((lambda n=n: n) for n in NUMBERS),
    *(Whole, Numeric, Broken, NoRepr, object),
    *((lambda t=t: t) for t in ("", "x", "text", "zwölf", "\ud800", "a\0b", b"by\xfftes")),
    lambda: bytearray(b"array"),
    lambda: np.array(4),
    lambda: np.array([4]),
    lambda: np.array(1.5),
    lambda: torch.tensor(3),
    lambda: torch.tensor(2.5),
    lambda: torch.tensor(True),
    lambda: torch.tensor([True]),
    lambda: torch.ones(2),
    lambda: torch.ones(2, requires_grad=True),
    lambda: torch.ones(2, dtype=torch.float16),
    lambda: WEIGHT,
    lambda: torch.ones(2).as_subclass(Subclass),
    lambda: torch.Tensor,
    lambda: torch.device("cpu"),
    lambda: torch.device("meta", 1),
    lambda: torch.float16,
    lambda: torch.channels_last,
    lambda: torch.strided,
    lambda: torch.Generator().manual_seed(5),
    lambda: int,
]
CONTAINERS: list[Callable[[], Any]] = [
    *((lambda c=c: c()) for c in (list, tuple, set, dict, frozenset, str, bytes)),
    lambda: [1],
    lambda: [1, 2],
    lambda: (1, 2, 3),
    lambda: [1.0, 2.0, 3.0],
    lambda: [1, 2.5, "x"],
    lambda: ["a", "b"],
    lambda: ("a", b"c"),
    lambda: (1, "a"),
    lambda: [True, False, True],
    lambda: [np.int64(1), np.float32(2), np.bool_(True)],
    lambda: [None, None],
    lambda: [[1, 2], [], (3,)],
    lambda: ((1, 2), "ab"),
    lambda: (True, 1.5, [1], None),
    lambda: (True, 1, (1, 2), 3),
    lambda: (1, 1, [], 3),
    lambda: {1: 2, 3: 4, 5: 6},
    lambda: {1: 2}.keys(),
    lambda: {1: 2}.values(),
    lambda: {1: 2}.items(),
    lambda: {1},
    lambda: frozenset({2.0}),
    lambda: range(3),
    lambda: map(int, "123"),
    lambda: zip((1, 2), (3, 4), strict=True),
    lambda: (i for i in (1, 2, 3)),
    lambda: (1 // i for i in (1, 0)),
    lambda: iter([1, 2, 3]),
    lambda: array.array("i", [1, 2, 3]),
    lambda: np.array([1, 2, 3]),
    lambda: np.array([1.0, 2.0]),
    lambda: memoryview(b"ab"),
    lambda: torch.Size([2, 3]),
    lambda: torch.tensor([1, 2, 3]),
    lambda: [torch.ones(1), torch.zeros(2)],
    lambda: (torch.ones(1), None),
    lambda: (torch.ones(1), torch.ones(2), WEIGHT),
    lambda: [torch.device("cpu")],
    lambda: [torch.tensor(1), torch.tensor(2)],
    lambda: Sequence(3),
    lambda: Sequence(2, broken=True),
    lambda: Sequence(-1),
    Shrinking,
]
ANY = SCALARS + CONTAINERS
UNARY = (  # noqa: SIM905
    "bool_ int8 uint8 int16 uint16 int32 uint32 int64 uint64 long_long unsigned_long_long "
    "size float32 float64 complex64 complex128 string string_view text_of joined tensor "
    "scalar dtype device memory_format generator int_const int_reference int_moved "
    "string_const string_moved tensor_const tensor_reference tensor_moved device_const "
    "vector_reference optional_moved pair_const optional_int optional_double optional_bool "
    "optional_string optional_tensor optional_vector optional_device vector_int "
    "vector_uint8 vector_double vector_bool vector_string vector_tensor vector_vector "
    "vector_optional array_int array_tensor array_device pair_mixed tuple_tensors "
    "tuple_mixed tuple_empty tuple_nested total sizes_of no_throw strict not_none nullopt "
    "which order const_wrapped tensor_wrapped capture functor function guarded_tensor"
).split()
