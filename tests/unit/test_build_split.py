"""Where the split rung is left before anything is compiled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reward_service.build.blame import Fall
from reward_service.build.flags import Flags
from reward_service.build.precompiled import Precompiled
from reward_service.build.split import Rung
from reward_service.build.split_rules import cuda_host_flags, defines
from reward_service.build.toolchain import Toolchain
from reward_service.formats.extension_call import ExtensionCall
from tests.unit.test_build_precompiled import toolchain

CPP = ExtensionCall(kind="load_inline", cpp_sources=("int f() { return 1; }",))
CUDA = replace(CPP, cuda_sources=("__global__ void k() {}",), with_cuda=True)


def fall(tools: Toolchain, root: Path, call: ExtensionCall, flags: Flags) -> str:
    """Why the rung was left; it needs no workbench for that."""
    precompiled = Precompiled(tools, root)
    try:
        result = Rung(tools, precompiled).build(call, flags, "9.0", "rs_x", None)  # type: ignore[arg-type]
    finally:
        precompiled.close()
    assert isinstance(result, Fall)
    return result.reason


@pytest.fixture
def ready(tmp_path: Path) -> Toolchain:
    """A toolchain whose usual headers have been made by a compiler that makes anything."""
    tools = toolchain(tmp_path)
    precompiled = Precompiled(tools, tmp_path / "headers")
    precompiled.prepare(precompiled.usual(cuda=True), lambda _: None)
    return tools


def test_without_the_runtime_objects_it_is_the_toolchain(tmp_path: Path) -> None:
    tools = toolchain(tmp_path, refused="-c")
    precompiled = Precompiled(tools, tmp_path / "headers")
    precompiled.prepare(precompiled.usual(cuda=False), lambda _: None)
    assert fall(tools, tmp_path / "headers", CPP, Flags()).startswith("toolchain: ")


def test_flags_without_a_header_yet_get_one_made(tmp_path: Path, ready: Toolchain) -> None:
    flags = Flags(cxx=("-O3", "-ffast-math"))
    told = fall(ready, tmp_path / "headers", CPP, flags)
    assert told == "flags: no precompiled header yet for -O2 -ffast-math"


@pytest.mark.parametrize(
    "flags",
    [
        Flags(nvcc=("-default-stream=per-thread",)),
        Flags(nvcc=("-Xcompiler", "-fopenmp")),
        Flags(cxx=("-fno-exceptions",)),
        Flags(nvcc=("-DKERNEL=__global__",)),
        Flags(nvcc=("-DRS_VARIABLE",)),
        Flags(cxx=("-std=c++20",), nvcc=("-std=c++17",)),
        Flags(cxx=("-Ofast",)),
        Flags(nvcc=("-U__CUDACC__",)),
    ],
)
def test_host_flags_that_may_change_a_cuda_candidate_leave_the_rung(
    tmp_path: Path, ready: Toolchain, flags: Flags
) -> None:
    assert fall(ready, tmp_path / "headers", CUDA, flags).startswith("flags: -")


@pytest.mark.parametrize(
    "text",
    [
        "#if TORCH_VERSION_MAJOR >= 2\n#endif",
        "#  ifdef C10_CUDA_CHECK\n#endif",
        "#if A \\\n && defined(AT_CHECK)\n#endif",
        "#ifndef PY_VERSION_HEX\n#endif",
        "int x = __COUNTER__;",
    ],
)
def test_what_the_passes_would_answer_unlike_stock_is_not_asked(
    tmp_path: Path, ready: Toolchain, text: str
) -> None:
    call = replace(CUDA, cuda_sources=(text,))
    reason = fall(ready, tmp_path / "headers", call, Flags())
    assert reason.startswith("source: it asks for ")


def test_each_compiler_of_a_cuda_candidate_has_its_own_macros() -> None:
    given = ("-O3", "-DN=32", "-U__CUDA_NO_HALF_OPERATORS__", "-UM")
    assert defines(given) == ["-DN=32", "-UM"]


def test_a_source_that_only_declares_is_compiled_by_the_standard_of_the_kernels() -> None:
    declares = replace(CUDA, cpp_sources=("int f();",))
    flags = Flags(cxx=("-std=c++17",), nvcc=("-std=c++20",))
    assert cuda_host_flags(declares, flags, "-std=c++17") == ("-std=c++20",)
    assert isinstance(cuda_host_flags(CUDA, flags, "-std=c++17"), Fall)


def test_a_library_for_torchs_own_loader_is_for_the_stock_rung(
    tmp_path: Path, ready: Toolchain
) -> None:
    call = replace(CPP, is_python_module=False)
    assert fall(ready, tmp_path / "headers", call, Flags()).startswith("source: ")
