"""The artifact key: changed by all that changes a module, and by nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reward_service.build import key as module
from reward_service.build.flags import Flags
from reward_service.build.key import artifact_key
from reward_service.build.toolchain import Toolchain
from reward_service.formats.extension_call import ExtensionCall

TOOLS = Toolchain(
    torch="2.13.0",
    torch_cuda="13.0",
    includes=(),
    cuda_includes=(),
    torch_lib="/lib",
    cuda_libs=(),
    standard="-std=c++20",
    nvcc_flags=(),
    cxx="/usr/bin/c++",
    cxx_version="c++ 12",
    nvcc="/cuda/bin/nvcc",
    nvcc_version="nvcc 13.0.88",
    cuda_home="/cuda",
)
CPP = ExtensionCall("load_inline", cpp_sources=("a",))
CUDA = replace(CPP, cuda_sources=("b",), with_cuda=True)


def test_everything_that_changes_a_module_changes_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [
        artifact_key(CUDA, Flags(), "9.0", TOOLS),
        artifact_key(replace(CUDA, cuda_sources=("c",)), Flags(), "9.0", TOOLS),
        artifact_key(CUDA, Flags(cxx=("-O3",)), "9.0", TOOLS),
        artifact_key(CUDA, Flags(nvcc=("-O3",)), "9.0", TOOLS),
        artifact_key(CUDA, Flags(link=("-O3",)), "9.0", TOOLS),
        artifact_key(CUDA, Flags(), "9.0a", TOOLS),
        artifact_key(CUDA, Flags(), "9.0", replace(TOOLS, torch="2.12.0")),
        artifact_key(CUDA, Flags(), "9.0", replace(TOOLS, torch_cuda="12.8")),
        artifact_key(CUDA, Flags(), "9.0", replace(TOOLS, cxx_version="c++ 13")),
        artifact_key(CUDA, Flags(), "9.0", replace(TOOLS, nvcc_version="nvcc 13.1")),
        artifact_key(CUDA, Flags(cxx=("-march=native",)), "9.0", TOOLS),
        artifact_key(CUDA, Flags(), "9.0", TOOLS, split="headers and a clang"),
    ]
    monkeypatch.setattr(module, "BUILD_VERSION", module.BUILD_VERSION + 1)
    keys.append(artifact_key(CUDA, Flags(), "9.0", TOOLS))
    assert len(set(keys)) == len(keys)


def test_what_does_not_change_a_module_leaves_its_key() -> None:
    base = artifact_key(CPP, Flags(), "9.0", TOOLS)
    assert artifact_key(replace(CPP, name="other"), Flags(), "9.0", TOOLS) == base
    assert artifact_key(CPP, Flags(warnings=("dropped",)), "9.0", TOOLS) == base
    assert artifact_key(CPP, Flags(), "8.0", replace(TOOLS, nvcc_version=None)) == base


def test_a_build_for_this_processor_belongs_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    native = Flags(cxx=("-march=native",))
    keys = set()
    for features in ("avx2", "avx2 avx512f"):
        monkeypatch.setattr(module, "_cpu", lambda features=features: features)
        keys.add(artifact_key(CPP, native, "9.0", TOOLS))
        keys.add(artifact_key(CPP, Flags(), "9.0", TOOLS))
    assert len(keys) == 3
