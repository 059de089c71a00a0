"""What every built-in problem promises, so that a verdict on it means something.

The suite is ours, so it is executed in this process.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from reward_service import schemas
from reward_service.problems.library import SUITE, ProblemLibrary

NAMES = sorted(f"{path.parent.name}/{path.stem}" for path in SUITE.rglob("*.py"))
CLEAR = 1e-2
"""Relative Frobenius error from which an answer is clearly wrong."""

every_problem = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        yield
    torch.set_num_threads(before)


class Loaded:
    """A problem's model and inputs under one seed."""

    def __init__(self, name: str, seed: int = 0) -> None:
        source = ProblemLibrary().resolve(schemas.Problem(name=name)).source
        space: dict[str, Any] = {"__name__": "problem"}
        exec(compile(source, name, "exec"), space)
        torch.manual_seed(seed)
        self.model: nn.Module = space["Model"](*space["get_init_inputs"]())
        self.get_inputs: Callable[[], list[Any]] = space["get_inputs"]
        self.inputs = self.get_inputs()

    def outputs(self, model: nn.Module | None = None, inputs: list[Any] | None = None) -> Any:
        """Outputs of a copy, so that a problem which moves its buffers starts afresh."""
        model = copy.deepcopy(model or self.model)
        return as_tuple(model(*copy.deepcopy(inputs or self.inputs)))


def as_tuple(outputs: Any) -> tuple[torch.Tensor, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def error(got: torch.Tensor, expected: torch.Tensor) -> float:
    difference = torch.linalg.vector_norm(got.double() - expected.double())
    return (difference / torch.linalg.vector_norm(expected.double())).item()


def worst(got: tuple[torch.Tensor, ...], expected: tuple[torch.Tensor, ...]) -> float:
    return max(error(g, e) for g, e in zip(got, expected, strict=True))


def double(value: Any) -> Any:
    floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if floating else value


def with_input(inputs: list[Any], at: int, value: Any) -> list[Any]:
    return [*inputs[:at], value, *inputs[at + 1 :]]


def disturbed(value: Any) -> list[Any]:
    """Other values of an input's domain: shuffled, and where it is a float tensor, zeros."""
    if not isinstance(value, torch.Tensor):
        return [value * 1.5]
    shuffled = value.flatten()[torch.randperm(value.numel())].view_as(value)
    return [shuffled, torch.zeros_like(value)] if value.is_floating_point() else [shuffled]


def test_the_suite_has_problems_of_three_levels_and_of_every_kind_of_signature() -> None:
    levels = {level: [n for n in NAMES if n.startswith(level)] for level in ("level1", "level2")}
    assert len(NAMES) >= 18
    assert min(map(len, levels.values())) >= 6
    assert sum(name.startswith("level3") for name in NAMES) >= 4
    loaded = [Loaded(name) for name in NAMES]
    inputs = [value for problem in loaded for value in problem.inputs]
    dtypes = {value.dtype for value in inputs if isinstance(value, torch.Tensor)}
    assert dtypes == {torch.float32, torch.int64, torch.bool}
    assert any(isinstance(value, float) for value in inputs)
    assert {len(problem.outputs()) for problem in loaded} == {1, 2}


@every_problem
def test_its_text_is_of_the_expected_form(name: str) -> None:
    problem = ProblemLibrary().resolve(schemas.Problem(name=name))
    assert problem.warnings == ()
    docstring = ast.get_docstring(ast.parse(problem.source))
    assert docstring == problem.title
    assert len(docstring.splitlines()) == 1


@every_problem
def test_it_is_deterministic_under_a_seed_and_different_under_another(name: str) -> None:
    first, again, other = Loaded(name), Loaded(name), Loaded(name, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(first.outputs(), again.outputs(), strict=True))
    state, same = first.model.state_dict(), again.model.state_dict()
    assert all(torch.equal(state[key], same[key]) for key in state)
    assert worst(first.outputs(), other.outputs()) > CLEAR


@every_problem
def test_inputs_drawn_again_are_fresh(name: str) -> None:
    problem = Loaded(name)
    drawn = problem.get_inputs()
    pairs = zip(problem.inputs, drawn, strict=True)
    tensors = [(a, b) for a, b in pairs if isinstance(a, torch.Tensor)]
    assert tensors
    assert not any(torch.equal(a, b) for a, b in tensors)


@every_problem
def test_its_size_is_moderate(name: str) -> None:
    problem = Loaded(name)
    tensors = [value for value in problem.inputs if isinstance(value, torch.Tensor)]
    assert 2**14 <= sum(value.numel() for value in tensors) <= 2**22
    assert sum(output.numel() for output in problem.outputs()) <= 2**22


@every_problem
def test_float64_gives_an_expectation_that_fp32_agrees_with(name: str) -> None:
    problem = Loaded(name)
    model = copy.deepcopy(problem.model).double()
    expected = problem.outputs(model, [double(value) for value in problem.inputs])
    assert {output.dtype for output in expected} == {torch.float64}
    assert {output.dtype for output in problem.outputs()} == {torch.float32}
    assert all(output.isfinite().all() for output in expected)
    assert worst(problem.outputs(), expected) < 2e-6


@every_problem
def test_constants_and_copies_of_an_input_are_clearly_wrong(name: str) -> None:
    problem = Loaded(name)
    outputs = problem.outputs()
    tensors = [value for value in problem.inputs if isinstance(value, torch.Tensor)]
    for at, output in enumerate(outputs):
        assert error(torch.zeros_like(output), output) == 1
        assert error(output.mean().expand_as(output), output) > CLEAR
        if output.ndim > 1:
            assert error(output.mean(-1, keepdim=True).expand_as(output), output) > CLEAR
        for value in (*tensors, *outputs[:at], *outputs[at + 1 :]):
            if value.shape == output.shape:
                assert error(value, output) > CLEAR


@every_problem
def test_dropping_any_parameter_or_buffer_is_clearly_wrong(name: str) -> None:
    problem = Loaded(name)
    expected = problem.outputs()
    for key, value in problem.model.state_dict().items():
        if not value.is_floating_point() or key in moved_buffers(problem):
            continue
        neutral = [torch.zeros_like(value), torch.ones_like(value), value.mean().expand_as(value)]
        for replacement in neutral:
            model = copy.deepcopy(problem.model)
            model.load_state_dict({**model.state_dict(), key: replacement})
            assert worst(problem.outputs(model), expected) > CLEAR, key


@every_problem
def test_disturbing_any_input_is_clearly_wrong(name: str) -> None:
    problem = Loaded(name)
    expected = problem.outputs()
    for at, value in enumerate(problem.inputs):
        for other in disturbed(value):
            inputs = with_input(problem.inputs, at, other)
            assert worst(problem.outputs(inputs=inputs), expected) > CLEAR, at


def moved_buffers(problem: Loaded) -> set[str]:
    """Names of the state that one call changes."""
    model = copy.deepcopy(problem.model)
    before = copy.deepcopy(model.state_dict())
    model(*copy.deepcopy(problem.inputs))
    after = model.state_dict()
    return {key for key in before if not torch.equal(before[key], after[key])}


def test_only_training_batch_norm_moves_its_state() -> None:
    moved = {name: moved_buffers(Loaded(name)) for name in NAMES}
    stateful = {name: buffers for name, buffers in moved.items() if buffers}
    assert stateful == {"level2/batchnorm_train": {"running_mean", "running_var"}}


@every_problem
def test_it_leaves_its_inputs_alone_and_returns_memory_of_its_own(name: str) -> None:
    problem = Loaded(name)
    before = copy.deepcopy(problem.inputs)
    outputs = as_tuple(problem.model(*problem.inputs))
    storages = {output.untyped_storage().data_ptr() for output in outputs}
    assert len(storages) == len(outputs)
    state = (*problem.model.parameters(), *problem.model.buffers())
    for value in (*problem.inputs, *state):
        if isinstance(value, torch.Tensor):
            assert value.untyped_storage().data_ptr() not in storages
    for then, now in zip(before, problem.inputs, strict=True):
        assert torch.equal(then, now) if isinstance(then, torch.Tensor) else then == now


@every_problem
def test_its_outputs_are_contiguous_so_that_any_candidate_can_match_their_strides(
    name: str,
) -> None:
    assert all(output.is_contiguous() for output in Loaded(name).outputs())


def test_the_suite_needs_nothing_but_torch() -> None:
    for path in SUITE.rglob("*.py"):
        assert set(imports(path)) <= {"torch", "torch.nn"}, path


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
