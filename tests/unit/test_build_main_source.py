"""What may be done with the C++ part of a CUDA candidate."""

from __future__ import annotations

import pytest

from reward_service.build.flags import Flags
from reward_service.build.main_source import borrows, merges
from reward_service.formats.extension_call import ExtensionCall

KERNELS = "#define BLOCK 256\ntorch::Tensor f(torch::Tensor x) { return x; }"


def call(cpp: str, cuda: str = KERNELS, functions: tuple[str, ...] = ("f",)) -> ExtensionCall:
    return ExtensionCall(
        kind="load_inline",
        cpp_sources=(cpp,),
        cuda_sources=(cuda,) if cuda else (),
        functions=tuple((name, name) for name in functions),
        with_cuda=True,
    )


@pytest.mark.parametrize(
    "cpp",
    [
        "torch::Tensor f(torch::Tensor x);",
        "#include <torch/extension.h>\n#include <vector>\nstd::vector<torch::Tensor> f(int n);",
        "",
    ],
)
def test_declarations_are_compiled_with_the_kernels(cpp: str) -> None:
    assert merges(call(cpp), Flags())


@pytest.mark.parametrize(
    "changed",
    [
        call("torch::Tensor g(torch::Tensor x) { return x; }"),
        call("torch::Tensor f(torch::Tensor x, int n = 3);"),
        call("#define N 3\ntorch::Tensor f(torch::Tensor x);"),
        call("static int f(int);"),
        call("using T = torch::Tensor;"),
        call("namespace a { int f(); }"),
        call("torch::Tensor f(torch::Tensor BLOCK);"),
        call("", functions=("BLOCK",)),
        call("torch::Tensor f(torch::Tensor x);", cuda=""),
    ],
)
def test_what_might_mean_something_else_there_is_not(changed: ExtensionCall) -> None:
    assert not merges(changed, Flags())


def test_macros_of_one_compiler_only_keep_them_apart() -> None:
    assert not merges(call("int f();"), Flags(cxx=("-DN=3",)))
    assert not merges(call("int f();"), Flags(nvcc=("-UX",)))


@pytest.mark.parametrize(
    ("text", "borrowed"),
    [
        ("auto s = at::cuda::getCurrentCUDAStream();", True),
        ("#include <cuda_runtime.h>\nauto s = at::cuda::getCurrentCUDAStream();", True),
        ("#include <ATen/cuda/CUDAContext.h>\nauto s = at::cuda::getCurrentCUDAStream();", False),
        ("void launch(cudaStream_t s);", True),
        ("#include <cuda_runtime.h>\nvoid launch(cudaStream_t s);", False),
        ("#include <cuda_runtime.h>\nvoid launch(__half* x);", True),
        ("#include <cuda_fp16.h>\nvoid launch(__half* x);", False),
        ("torch::Tensor f(torch::Tensor x);", False),
    ],
)
def test_names_without_their_header_are_noticed(text: str, borrowed: bool) -> None:
    assert borrows(text) == borrowed
