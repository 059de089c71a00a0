"""The binding facade has pybind11's meaning: one source is built with both, and compared.

`binding/functions.cpp` is compiled once with pybind11 and torch's casters, and once with the
facade and its runtime. Every difference that Python can see is a failure: values, identities,
types and messages of exceptions, warnings, docstrings.
"""

from __future__ import annotations

import gc
import importlib.util
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from binding_values import ANY, UNARY, WEIGHT, NoRepr
from hypothesis import HealthCheck, given, strategies
from hypothesis import settings as examples

from reward_service.build import toolchain as toolchains
from reward_service.build.precompiled import Precompiled
from reward_service.build.toolchain import Toolchain
from reward_service.settings import Settings

SOURCE = Path(__file__).parent / "binding" / "functions.cpp"

pytestmark = [
    pytest.mark.skipif(toolchains.find_cxx() is None, reason="needs a C++ compiler"),
    pytest.mark.timeout(900),  # compiles of torch's headers, on a machine that may be busy
]


class Pair(NamedTuple):
    """The same functions, bound twice."""

    stock: ModuleType
    facade: ModuleType


@pytest.fixture(autouse=True)
def _every_warning() -> Iterator[None]:
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.fixture(scope="module")
def pair(state_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Both modules; the stock one takes nearly all of the time, for torch's headers."""
    chain = Toolchain.find(state_dir)
    precompiled = Precompiled(chain, Settings(state_dir=state_dir).header_dir)
    header = precompiled.header("cpu", ())
    directory = tmp_path_factory.mktemp("binding")

    def compiled(name: str, *read: str) -> str:
        made = str(directory / f"{name}.o")
        argv = [header.compiler, *read, *precompiled.flags("cpu"), f"-DTORCH_EXTENSION_NAME={name}"]
        argv += ["-c", str(SOURCE), "-o", made]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
        return made

    def linked(name: str, *objects: str) -> ModuleType:
        path = directory / f"{name}.so"
        libraries = [f"-l{n}" for n in ("c10", "torch_cpu", "torch", "torch_python")]
        argv = [chain.cxx, "-shared", *objects, f"-L{chain.torch_lib}", *libraries, "-o", path]
        subprocess.run([str(a) for a in argv], check=True)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    with ThreadPoolExecutor(1) as pool:
        headers = ("-include", "torch/types.h", "-include", "torch/csrc/Exceptions.h")
        stock = pool.submit(compiled, "stock", *headers)
        precompiled.prepare([header], print)
        facade = compiled("facade", *header.use)
        runtime = str(precompiled.binding_runtime)
        return Pair(linked("stock", stock.result()), linked("facade", facade, runtime))


# --- comparing ----------------------------------------------------------------------------------


def seen(value: Any, given: tuple[Any, ...]) -> Any:
    """What can be told apart of a result: type, content, and which argument it is."""
    place = next((i for i, g in enumerate(given) if g is value), None)
    if isinstance(value, torch.Tensor):
        return (type(value), place, value.dtype, tuple(value.shape), value.tolist())
    if isinstance(value, list | tuple):
        inner = tuple(g for v in given if isinstance(v, list | tuple) for g in v)
        return (type(value), [seen(v, inner) for v in value])
    if isinstance(value, float | complex):
        return (type(value), repr(value))
    if isinstance(value, torch.Generator):
        return (torch.Generator, value.initial_seed())
    return (type(value), value)


def outcome(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """The result of a call, or its exception with its causes, and the warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = ("value", seen(function(*given, **named), given))
        except Exception as raised:  # noqa: BLE001
            chain: list[Any] = []
            link: BaseException | None = raised
            while link is not None:
                text = re.sub(r"0x[0-9a-f]+", "0x", str(link))
                if function.__name__.startswith("complex"):
                    # Torch refuses these with a Python error left set, and whether the repr of
                    # the arguments then fails depends on how often it has run.
                    text = text.split("Invoked with: ")[0]
                chain.append((type(link), text))
                link = link.__cause__ or link.__context__
            result = ("raised", chain)
    return result, [(w.category, str(w.message)) for w in warned]


def assert_alike(pair: Pair, name: str, make: Callable[[], tuple[Any, ...]], **named: Any) -> Any:
    """Call both with arguments of their own; the outcome that they share."""
    stock = outcome(getattr(pair.stock, name), *make(), **named)
    facade = outcome(getattr(pair.facade, name), *make(), **named)
    assert facade == stock, name
    return stock[0]


# --- tests --------------------------------------------------------------------------------------


def test_modules_have_the_same_names_docstrings_and_values(pair: Pair) -> None:
    names = {name for name in dir(pair.stock) if not name.startswith("__")}
    assert {name for name in dir(pair.facade) if not name.startswith("__")} == names
    assert pair.facade.__doc__ == pair.stock.__doc__ == "functions"
    for name in names:
        stock, facade = getattr(pair.stock, name), getattr(pair.facade, name)
        assert type(facade) is type(stock)
        if callable(stock):
            assert (facade.__name__, facade.__doc__) == (stock.__name__, stock.__doc__)
        else:
            assert facade == stock


@pytest.mark.parametrize("name", UNARY)
def test_any_one_argument_is_converted_or_refused_alike(pair: Pair, name: str) -> None:
    results = [assert_alike(pair, name, lambda make=make: (make(),)) for make in ANY]
    # Torch declares a conversion to c10::Scalar, and raises in it.
    assert any(kind == "value" for kind, _ in results) == (name != "scalar")
    if name not in ("bool_", "optional_bool"):
        assert any(kind == "raised" for kind, _ in results)


LEAVES = strategies.one_of(
    strategies.none(),
    strategies.booleans(),
    strategies.integers(),
    strategies.floats(),
    strategies.text(max_size=3),
    strategies.binary(max_size=3),
    strategies.sampled_from([torch.ones(1), torch.tensor(2), torch.int32, np.int16(7)]),
)
SHALLOW = LEAVES | strategies.lists(LEAVES, max_size=4) | strategies.tuples(LEAVES, LEAVES)
NESTED = SHALLOW | strategies.lists(SHALLOW, max_size=3) | strategies.tuples(SHALLOW, SHALLOW)


@examples(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=strategies.sampled_from(UNARY), value=NESTED)
def test_drawn_arguments_are_converted_or_refused_alike(pair: Pair, name: str, value: Any) -> None:
    assert_alike(pair, name, lambda: (value,))


def test_arguments_are_matched_by_place_name_and_default_alike(pair: Pair) -> None:
    x, bias = torch.arange(3.0), torch.ones(3)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        ((x,), {}),
        ((), {"x": x}),
        ((x, 2), {}),
        ((x, 2.0, bias), {}),
        ((x, 2.0, bias, 3, "negate"), {}),
        ((x, 2.0, bias, 3, "negate", 1), {}),
        ((x,), {"bias": bias, "mode": "negate"}),
        ((x,), {"bias": None, "repeat": 2}),
        ((x,), {"repeat": 2.0}),
        ((x,), {"x": x}),
        ((x,), {"unknown": 1}),
        ((x,), {"unknown": 1, "scale": NoRepr()}),
        ((None,), {}),
        ((x, None), {}),
        ((x, 2.0), {"scale": 1.0}),
        ((), {"mode": "negate", "x": x}),
    ]
    names = ("linear", "linear_named", "linear_positional", "linear_wrapped")
    results = [
        assert_alike(pair, name, lambda given=given: given, **named)
        for name in names
        for given, named in calls
    ]
    assert {kind for kind, _ in results} == {"value", "raised"}
    for name in ("unnamed", "lambda", "defaults", "which", "nothing", "no_throw", "nullopt"):
        for given_, named in [
            ((), {}),
            ((1,), {}),
            ((1, 2), {}),
            ((1, 2, 3), {}),
            ((), {"a": 1}),
            ((1,), {"b": 3}),
            ((), {"b": 3, "a": 4}),
            ((), {"x": 3}),
            ((), {"flag": True}),
            ((True,), {"times": 2}),
            (([3], 0), {"dtype": torch.int8}),
        ]:
            assert_alike(pair, name, lambda given=given_: given, **named)


def test_overloads_are_chosen_alike(pair: Pair) -> None:
    for make in ANY:
        for more in ((), (1,), (1, 2), (1.5,), (None, None)):
            assert_alike(pair, "which", lambda make=make, more=more: (make(), *more))
    assert pair.facade.which(1) == "int"
    assert pair.facade.order(1) == "int"
    assert pair.facade.order(1.0) == "double"


KINDS = (  # noqa: SIM905
    "runtime_error invalid_argument out_of_range domain_error length_error range_error "
    "overflow_error bad_alloc logic_error own int nested check check_value check_type "
    "check_index check_not_implemented internal_assert linalg out_of_memory tensor "
    "bad_access none"
).split()


@pytest.mark.parametrize("name", ["raises", "raises_wrapped", "guarded_raises"])
def test_exceptions_are_translated_alike(pair: Pair, name: str) -> None:
    types = {}
    for kind in KINDS:
        result, found = assert_alike(pair, name, lambda kind=kind: (kind,))
        types[kind] = found[0][0] if result == "raised" else None
    assert types["none"] is None
    assert types["check"] is RuntimeError
    assert types["check_index"] is IndexError
    assert types["check_not_implemented"] is NotImplementedError
    assert types["linalg"] is torch.linalg.LinAlgError


def test_python_errors_inside_a_call_pass_through(pair: Pair) -> None:
    class Refuses(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *_: Any, **__: Any) -> Any:
            raise KeyError("function")

    class Dispatches(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, *_: Any, **__: Any) -> Any:
            raise KeyError("dispatch")

    for name in ("calls_python", "calls_python_wrapped"):
        for kind in (Refuses, Dispatches):
            x = torch.Tensor._make_subclass(kind, torch.ones(2))
            stock, facade = [], []
            for module, found in ((pair.stock, stock), (pair.facade, facade)):
                try:
                    getattr(module, name)(x)
                except KeyError as raised:
                    found.append(str(raised))
            assert stock == facade
            assert stock == (["'dispatch'"] if kind is Dispatches else [])


def test_warnings_reach_python_only_through_the_wrapper(
    pair: Pair, capfd: pytest.CaptureFixture[str]
) -> None:
    assert_alike(pair, "warns", lambda: (2,))
    printed = capfd.readouterr().err
    assert printed.count("careful 1") == 2
    assert_alike(pair, "warns_wrapped", lambda: (2,))
    assert_alike(pair, "warns_and_raises_wrapped", lambda: ())
    for module in pair:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="careful 0"):
                module.warns_wrapped(1)


def test_results_keep_their_identity(pair: Pair) -> None:
    for module in pair:
        x = torch.ones(2)
        assert module.tensor(x) is x
        assert module.add_one(x) is x
        assert module.vector_tensor([x, WEIGHT])[1] is WEIGHT
        assert module.tuple_tensors((x, x, x))[2] is x
        assert module.undefined() is None
        assert module.nothing() is None
        assert module.nothing_wrapped() is None
    assert_alike(pair, "maybe_text", lambda: (True,))
    assert_alike(pair, "maybe_text", lambda: (False,))
    assert_alike(pair, "first", lambda: ([],))
    assert [pair.facade.counter() for _ in range(3)] == [1, 2, 3]


def test_the_gil_is_released_where_it_was_asked_for(pair: Pair) -> None:
    for module in pair:
        assert module.guarded()
        assert module.release_inside()
        assert module.no_gil_wrapped()
        assert not module.guarded_holds()
        assert module.holds_gil()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_a_hundred_thousand_calls_leak_nothing(pair: Pair) -> None:
    x, number, text, sizes = torch.ones(2), 10**9, "text" * 4, [10**9, 10**9 + 1]
    f = pair.facade

    def calls(times: int) -> Iterator[int]:
        for _ in range(times):
            f.tensor(x)
            f.tensor_wrapped(x)
            f.optional_tensor(x)
            f.vector_tensor([x, x])
            f.tuple_tensors((x, x, x))
            f.vector_int(sizes)
            f.total(sizes)
            f.string(text)
            f.pair_mixed((number, text))
            f.defaults()
            for function, bad in ((f.which, "x"), (f.vector_int, [number, "x"])):
                with pytest.raises(TypeError):
                    function(bad, bad, bad)
            with pytest.raises(RuntimeError):
                f.raises_wrapped("runtime_error")
        yield times

    objects = (x, number, text, sizes, *sizes, None, torch.float16)
    next(calls(2_000))
    gc.collect()
    counts = [sys.getrefcount(o) for o in objects]
    before = resident_bytes()
    next(calls(8_000))  # 13 calls each
    gc.collect()
    assert resident_bytes() - before < 2 << 20
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(a - b) < 100 for a, b in zip(after, counts, strict=True))
