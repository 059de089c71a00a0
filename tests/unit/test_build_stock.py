"""The stock rung against torch itself: the same files, the same flags."""

from __future__ import annotations

import inspect
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from reward_service.build import stock
from reward_service.build.flags import Flags
from reward_service.build.toolchain import Toolchain
from reward_service.formats.extension_call import ExtensionCall

torch = pytest.importorskip("torch")
from torch.utils import cpp_extension  # noqa: E402


@pytest.fixture(scope="module")
def toolchain(tmp_path_factory: pytest.TempPathFactory) -> Toolchain:
    return Toolchain.find(tmp_path_factory.mktemp("toolchain"))


CALLS: dict[str, dict[str, Any]] = {
    "functions": {"cpp_sources": "int f();", "functions": ["f", "g"]},
    "one function": {"cpp_sources": "int f();", "functions": "f"},
    "docstrings": {"cpp_sources": ["int f();"], "functions": {"f": "does"}},
    "own binding": {"cpp_sources": "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}"},
    "several": {"cpp_sources": ["a", "b\n"], "cuda_sources": ["c", "d"], "functions": ["f"]},
    "cuda": {"cpp_sources": "int f();", "cuda_sources": "__global__ void k() {}"},
    "empty cuda": {"cpp_sources": "int f();", "cuda_sources": ""},
    "no headers": {"cpp_sources": "a", "cuda_sources": "b", "no_implicit_headers": True},
    "no handling": {"cpp_sources": "a", "functions": ["f"], "with_pytorch_error_handling": False},
    "not ascii": {"cpp_sources": "// Grüße\r\nint f();", "functions": ["f"]},
}


@pytest.mark.parametrize("name", CALLS)
def test_the_sources_are_the_files_that_torch_writes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpp_extension, "_jit_compile", lambda *_, **__: None)
    arguments = CALLS[name]
    call = ExtensionCall.capture("load_inline", (), {"name": "m", **arguments})
    copies = {k: list(v) if isinstance(v, list) else v for k, v in arguments.items()}
    cpp_extension.load_inline(name="m", build_directory=str(tmp_path), **copies)
    written = {p.name: p.read_bytes().decode() for p in tmp_path.iterdir()}
    ours = stock.sources_of(call)
    assert ours == written


def torch_ninja(tmp_path: Path, *, cuda: bool) -> dict[str, list[str]]:
    """The flags that torch writes for a build, as words."""
    write = cpp_extension._write_ninja_file_to_build_library
    given: dict[str, Any] = {
        "path": str(tmp_path / "build.ninja"),
        "name": "rs_name",
        "sources": ["/src/main.cpp", *(["/src/cuda.cu"] if cuda else [])],
        "extra_ldflags": cpp_extension._prepare_ldflags([], cuda, False, False, False),
        "with_cuda": cuda,
        "with_sycl": False,
        "is_standalone": False,
    }
    parameters = inspect.signature(write).parameters
    write(**{name: given.get(name, []) for name in parameters})
    rules = re.findall(r"^(\w+) = (.*)$", (tmp_path / "build.ninja").read_text(), re.MULTILINE)
    return {name: shlex.split(value) for name, value in rules}


def pairs(words: list[str]) -> set[str]:
    """Flags as a set, with a value that is a word of its own joined."""
    joined = " ".join(words).replace("-isystem ", "-isystem=")
    return set(joined.replace("--compiler-options ", "--compiler-options=").split())


@pytest.mark.parametrize("cuda", [False, True])
def test_the_flags_are_torchs(
    cuda: bool, toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if cuda:
        if toolchain.nvcc is None:
            pytest.skip("no nvcc")
        monkeypatch.setattr(cpp_extension, "CUDA_HOME", toolchain.cuda_home)
        monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    theirs = torch_ninja(tmp_path, cuda=cuda)
    sources = {"cpp_sources": "a", "cuda_sources": "b" if cuda else ""}
    call = ExtensionCall.capture("load_inline", (), {"name": "m", **sources})
    plan = stock.plan(call, Flags(), "9.0", "rs_name", toolchain)
    stand_in = {"-isystem=stand-in"} if cuda and not toolchain.links_cuda else set()

    compile_cpp = pairs(list(plan.units[0].argv[1:-2]))
    assert compile_cpp - stand_in == {_real(f) for f in pairs(theirs["cflags"])}
    if cuda:
        compile_cuda = pairs(list(plan.units[1].argv[3:-2]))
        assert compile_cuda - stand_in - {"--no-compress"} == {
            _real(f) for f in pairs(theirs["cuda_cflags"])
        }
    missing = {"-lc10_cuda", "-ltorch_cuda"} if cuda and not toolchain.links_cuda else set()
    libraries = {f for f in plan.link if f.startswith("-l")}
    assert libraries | missing == {f for f in theirs["ldflags"] if f.startswith("-l")}
    assert "-shared" in plan.link


def _real(flag: str) -> str:
    """Torch leaves links in the paths of CUDA as they are."""
    prefix, found, path = flag.partition("-isystem=")
    return f"-isystem={os.path.realpath(path) if 'cuda' in path else path}" if found else prefix


def test_the_name_and_the_target_are_ours(toolchain: Toolchain) -> None:
    call = ExtensionCall.capture("load_inline", ("../../x\n$(id)", "a", "b"), {})
    plan = stock.plan(call, Flags(), "8.0", "rs_ours", toolchain)
    words = [w for unit in plan.units for w in unit.argv] + list(plan.link) + list(plan.files)
    assert not any("$(id)" in w or ".." in w for w in words)
    assert words.count("-DTORCH_EXTENSION_NAME=rs_ours") == 2
    assert [w for w in words if "gencode" in w] == ["-gencode=arch=compute_80,code=sm_80"]
    variant = Flags(arch_variants=frozenset({"90a"}))
    plan = stock.plan(call, variant, "9.0", "rs_ours", toolchain)
    assert "-gencode=arch=compute_90a,code=sm_90a" in plan.units[1].argv


def test_a_standard_of_its_own_replaces_torchs(toolchain: Toolchain) -> None:
    call = ExtensionCall.capture("load_inline", ("m", "a", "b"), {})
    flags = Flags(cxx=("-std=c++17",), nvcc=("-std=c++17",))
    main, cuda = stock.plan(call, flags, "9.0", "rs_x", toolchain).units
    assert [w for w in main.argv if "-std" in w] == [toolchain.standard, "-std=c++17"]
    assert [w for w in cuda.argv if "-std" in w] == ["-std=c++17"]


def test_load_compiles_its_sources_and_not_its_headers(toolchain: Toolchain) -> None:
    call = ExtensionCall(
        "load",
        sources=(("a.cpp", "1"), ("k.cu", "2")),
        headers=(("h.cuh", "3"),),
        with_cuda=True,
    )
    plan = stock.plan(call, Flags(), "9.0", "rs_x", toolchain)
    assert [(u.source, u.object) for u in plan.units] == [("a.cpp", "a.o"), ("k.cu", "k.cuda.o")]
    assert {"a.cpp", "k.cu", "h.cuh"} <= plan.files.keys()


def test_the_toolchain_is_found_once_and_kept(
    tmp_path: Path, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert toolchain.torch == torch.__version__
    assert toolchain.torch_cuda == torch.version.cuda
    first = Toolchain.find(tmp_path)
    monkeypatch.setattr(
        "reward_service.build.toolchain._probe", lambda: pytest.fail("probed a second time")
    )
    assert Toolchain.find(tmp_path) == first


def test_a_kept_toolchain_is_another_one_when_the_compiler_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reward_service.build import toolchain as module

    before = module._fingerprint()
    other = tmp_path / "my-c++"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("CXX", str(other))
    assert module.find_cxx() == str(other)
    assert module._fingerprint() != before
