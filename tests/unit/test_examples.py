"""The examples fit their problems: same state, same call, literal builds. Nothing is compiled.

Executing an example calls `load_inline`, so it is replaced by one that only remembers how it
was called.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils import cpp_extension

from reward_service import schemas
from reward_service.problems.library import ProblemLibrary

ROOT = Path(__file__).parents[2] / "examples"
DEMO_PROBLEM = "level2/hardswish_chain"
KINDS = ("fast", "slow", "wrong", "broken", "crash", "hang", "cached")

FILES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
BUILT = [name for name in FILES if name != "demo/plain.py"]

every_example = pytest.mark.parametrize("name", list(FILES))
every_built_example = pytest.mark.parametrize("name", BUILT)


class Example:
    """A candidate, executed with a `load_inline` that compiles nothing."""

    def __init__(self, name: str) -> None:
        self.source = FILES[name].read_text()
        self.builds: list[dict[str, Any]] = []
        self.space: dict[str, Any] = {"__name__": "candidate"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cpp_extension, "load_inline", self.remember)
            exec(compile(self.source, name, "exec"), self.space)

    def remember(self, **arguments: Any) -> object:
        self.builds.append(arguments)
        return object()


class Reference:
    """The problem that an example is for."""

    def __init__(self, name: str) -> None:
        problem = DEMO_PROBLEM if name.startswith("demo/") else str(Path(name).parent)
        self.space: dict[str, Any] = {"__name__": "problem"}
        source = ProblemLibrary().resolve(schemas.Problem(name=problem)).source
        exec(compile(source, problem, "exec"), self.space)
        self.init_inputs: list[Any] = self.space["get_init_inputs"]()


def seeded(model: type[nn.Module], init_inputs: list[Any]) -> nn.Module:
    torch.manual_seed(0)
    return model(*init_inputs)


def literal_builds(source: str) -> list[dict[str, Any]]:
    """Arguments of each `load_inline` call, read from the text alone."""
    tree = ast.parse(source)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "load_inline":
            assert not node.args
            values = {str(word.arg): word.value for word in node.keywords}
            for key, value in values.items():
                if isinstance(value, ast.Name):
                    values[key] = constants[value.id]
            found.append({key: ast.literal_eval(value) for key, value in values.items()})
    return found


def test_there_are_examples_for_at_least_nine_problems_on_both_devices() -> None:
    problems = {str(Path(name).parent) for name in FILES} - {"demo"}
    assert len(problems) >= 9
    known = {info.name for info in ProblemLibrary().list()}
    for problem in problems:
        assert problem in known
        files = {Path(name).name for name in FILES if str(Path(name).parent) == problem}
        assert files == {"cpu.py", "cuda.py"}


def test_the_demo_has_its_eight_kinds() -> None:
    demo = {Path(name).stem for name in FILES if name.startswith("demo/")}
    assert demo == {f"{kind}_{device}" for kind in KINDS for device in ("cpu", "cuda")} | {"plain"}


@every_example
def test_its_state_has_the_references_names_shapes_and_seeded_values(name: str) -> None:
    reference = Reference(name)
    expected = seeded(reference.space["Model"], reference.init_inputs).state_dict()
    candidate = seeded(Example(name).space["ModelNew"], reference.init_inputs).state_dict()
    assert list(candidate) == list(expected)
    assert all(torch.equal(candidate[key], expected[key]) for key in expected)


@every_example
def test_it_is_called_as_the_reference_is(name: str) -> None:
    model, candidate = Reference(name).space["Model"], Example(name).space["ModelNew"]
    for method in ("__init__", "forward"):
        expected = inspect.signature(getattr(model, method)).parameters
        assert list(inspect.signature(getattr(candidate, method)).parameters) == list(expected)


@every_built_example
def test_its_build_can_be_read_off_its_text(name: str) -> None:
    example = Example(name)
    assert len(example.builds) == 1
    assert literal_builds(example.source) == example.builds


@every_built_example
def test_its_build_is_for_its_device_and_declares_what_it_binds(name: str) -> None:
    (build,) = Example(name).builds
    on_cuda = name.endswith("cuda.py")
    assert build["name"].endswith("_cuda" if on_cuda else "_cpu")
    assert set(build) - {"name", "functions", "cpp_sources"} == (
        {"cuda_sources"} if on_cuda else {"extra_cflags"}
    )
    for function in build["functions"]:
        end = ";" if on_cuda else " {"
        assert re.search(rf"\b{function}\([^()]*\){re.escape(end)}", build["cpp_sources"])
    if on_cuda:
        assert "#include <torch/extension.h>" in build["cuda_sources"]
        for function in build["functions"]:
            assert re.search(rf"\b{function}\([^()]*\) {{", build["cuda_sources"])
    else:
        assert build["extra_cflags"] == ["-O3", "-march=native"]


@every_built_example
def test_it_calls_only_what_it_binds(name: str) -> None:
    example = Example(name)
    called = {
        node.attr
        for node in ast.walk(ast.parse(example.source))
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "extension"
    }
    assert len(called) == 1
    assert called <= set(example.builds[0]["functions"])


def test_one_name_means_one_build() -> None:
    builds: dict[str, dict[str, Any]] = {}
    for name in BUILT:
        (build,) = Example(name).builds
        assert builds.setdefault(build["name"], build) == build


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_demo_builds_three_extensions_a_device(device: str) -> None:
    builds = {kind: Example(f"demo/{kind}_{device}.py").builds[0] for kind in KINDS}
    shared = ("fast", "slow", "crash", "hang", "cached")
    assert all(builds[kind] == builds["fast"] for kind in shared)
    assert len({build["name"] for build in builds.values()}) == 3


def test_the_plain_candidate_computes_the_problem_in_pytorch_alone() -> None:
    reference = Reference("demo/plain.py")
    plain = Example("demo/plain.py")
    assert plain.builds == []
    inputs = reference.space["get_inputs"]()
    expected = seeded(reference.space["Model"], reference.init_inputs)(*inputs)
    got = seeded(plain.space["ModelNew"], reference.init_inputs)(*inputs)
    assert torch.equal(got, expected)


def test_the_cached_kind_computes_once() -> None:
    reference, cached = Reference("demo/cached_cpu.py"), Example("demo/cached_cpu.py")
    model = seeded(cached.space["ModelNew"], reference.init_inputs)
    computed = []

    class Extension:
        @staticmethod
        def chain_fast(x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
            computed.append(x)
            return x.clone()

    cached.space["extension"] = Extension
    first = model(*reference.space["get_inputs"]())
    assert model(*reference.space["get_inputs"]()) is first
    assert len(computed) == 1


def test_the_readme_lists_every_example() -> None:
    text = (ROOT / "README.md").read_text()
    for name in FILES:
        folder, stem = str(Path(name).parent), Path(name).stem
        entry = stem.removesuffix("_cpu").removesuffix("_cuda") if folder == "demo" else folder
        assert f"`{entry}`" in text, name
