"""Results below their Python: only plain tensors pass, and what they share is told."""

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from reward_service.runner.failure import SchemaError
from reward_service.runner.outputs import Quirk, lazy, require_plain, shared


class Subclass(torch.Tensor):
    pass


def _dressed():
    tensor = torch.ones(2)
    tensor.cpu = lambda: None
    return tensor


def _wrapped():
    seen = []
    torch.vmap(lambda x: (seen.append(x), x)[1])(torch.ones(2, 2))
    return seen[0]


def _beyond():
    tensor = torch.ones(8)
    tensor.untyped_storage().resize_(4)
    return tensor


ODD = {
    "subclass": lambda: torch.ones(2).as_subclass(Subclass),
    "attributes": _dressed,
    "zero tensor": lambda: torch._efficientzerotensor((2,)),
    "sparse": lambda: torch.eye(2).to_sparse(),
    "vmap": _wrapped,
    "shrunk storage": _beyond,
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_not_a_plain_tensor_is_refused(name):
    with pytest.raises(SchemaError):
        require_plain([torch.ones(2), ODD[name]()])


PLAIN = {
    "new": lambda: torch.ones(2, 3),
    "transposed": lambda: torch.ones(2, 3).T,
    "expanded": lambda: torch.ones(1, 3).expand(2, 3),
    "part of another": lambda: torch.ones(2, 3)[1:, 1:],
    "empty": lambda: torch.ones(0, 3),
    "scalar": lambda: torch.ones(()),
    "parameter": lambda: torch.nn.Parameter(torch.ones(2)),
    "of complex numbers": lambda: torch.ones(2, dtype=torch.complex64),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_tensor_passes_and_shares_nothing(name):
    tensor = PLAIN[name]()
    require_plain([tensor])
    assert not lazy([tensor]) | shared([tensor, PLAIN[name]()], [PLAIN[name]()], [PLAIN[name]()])


@pytest.mark.parametrize("mode", [TorchFunctionMode, TorchDispatchMode])
def test_a_mode_that_is_left_active_is_refused(mode):
    with mode(), pytest.raises(SchemaError, match="mode"):
        require_plain([])


def test_a_default_device_is_no_offence():
    torch.set_default_device("cpu")
    try:
        require_plain([torch.ones(2)])
    finally:
        torch.set_default_device(None)


def test_shared_memory_is_found_by_its_bytes():
    base = torch.ones(6, 4)
    assert shared([base[:3], base[2:]], [], []) == {Quirk(1, "shares memory with output 0")}
    assert not shared([base[:3], base[3:]], [], [])
    assert shared([base.T], [torch.ones(2), base], []) == {Quirk(0, "shares memory with input 1")}
    assert shared([base[5]], [], [base]) == {Quirk(0, "shares memory with the model's state")}
    bytes_of_it = base.view(torch.uint8)[0, :1]
    assert shared([bytes_of_it], [base], [])


def test_what_is_left_to_the_reader_is_found():
    number = torch.ones(2, dtype=torch.complex64)
    assert lazy([number, number.conj()]) == {Quirk(1, "is conjugated only when it is read")}
    assert lazy([number.conj().imag]) == {Quirk(0, "is negated only when it is read")}
    assert not lazy([number.conj().resolve_conj()])
