"""The stand-in headers of the device pass, compiled by nvcc."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_service.build.device_pass import HEADERS, needs
from reward_service.build.toolchain import Toolchain

PROGRAMS = sorted((Path(__file__).parent / "device_programs").glob("*.cu"))
PARTS = (
    *("at::Half h;", "__nv_bfloat16 b;", "at::add(", "x.sum(0)", "packed_accessor32", "int i;"),
    *("std::sort(a, b);", "std::string s;", "std::mutex m;", "using namespace std;"),
)
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")


@pytest.fixture(scope="module")
def toolchain(tmp_path_factory: pytest.TempPathFactory) -> Toolchain:
    return Toolchain.find(tmp_path_factory.mktemp("toolchain"))


def compiled(
    toolchain: Toolchain, text: str, out: Path, *flags: str, skeleton: bool = True
) -> subprocess.CompletedProcess[str]:
    source = out.with_suffix(".cu")
    source.write_text(f'#define TORCH_EXTENSION_NAME rs_x\n#line 1 "k.cu"\n{text}')
    first = ["-isystem", str(HEADERS), *needs(text)] if skeleton else []
    includes = [f for p in (*toolchain.includes, *toolchain.cuda_includes) for f in ("-isystem", p)]
    argv = [
        *("nvcc", "-cubin", "-gencode=arch=compute_90,code=sm_90", toolchain.standard),
        *(*toolchain.nvcc_flags, "-DTORCH_API_INCLUDE_EXTENSION_H", *flags, *first, *includes),
        *(source.name, "-o", str(out)),
    ]
    return subprocess.run(
        argv, cwd=source.parent, capture_output=True, text=True, timeout=170, check=False
    )


def kernels(cubin: Path) -> dict[str, bytes]:
    """The machine code of each kernel and device function."""
    data = cubin.read_bytes()

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "little")

    table, size, count, names = number(40, 8), number(58, 2), number(60, 2), number(62, 2)
    strings = number(table + names * size + 24, 8)
    found = {}
    for header in range(table, table + count * size, size):
        start = strings + number(header, 4)
        name = data[start : data.index(b"\0", start)].decode()
        if name.startswith(".text."):
            at = number(header + 24, 8)
            found[name.removeprefix(".text.")] = data[at : at + number(header + 32, 8)]
    return found


@needs_nvcc
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_a_program_compiles_over_the_stand_ins(
    program: Path, toolchain: Toolchain, tmp_path: Path
) -> None:
    text = program.read_text()
    done = compiled(toolchain, text, tmp_path / "k.cubin")
    assert done.returncode == 0, done.stdout + done.stderr
    names = set(re.findall(r"__global__ void (?:__launch_bounds__\(\w+\) )?(\w+)", text))
    made = kernels(tmp_path / "k.cubin")
    assert names
    assert all(any(name in symbol for symbol in made) for name in names)


INSTANCES = {
    "FLOATING_TYPES": "df",
    "FLOATING_TYPES_AND_HALF": ["d", "f", "N3c104HalfE"],
    "REDUCED_FLOATING_TYPES": ["N3c104HalfE", "N3c108BFloat16E"],
    "INTEGRAL_TYPES": "haisl",
    "ALL_TYPES": "dfhaisl",
    "COMPLEX_TYPES": ["N3c107complexIdEE", "N3c107complexIfEE"],
    "ALL_TYPES_AND_COMPLEX": [*"dfhaisl", "N3c107complexIdEE", "N3c107complexIfEE"],
}


@needs_nvcc
@pytest.mark.parametrize("family", INSTANCES)
def test_dispatch_instantiates_its_family(
    family: str, toolchain: Toolchain, tmp_path: Path
) -> None:
    text = (
        "#include <torch/extension.h>\n"
        "template <typename T> __global__ void k(T* p) { p[0] = p[1]; }\n"
        "void run(at::Tensor x) {\n"
        f'  AT_DISPATCH_{family}(x.scalar_type(), "k", [&] {{\n'
        "    k<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>());\n  });\n}\n"
    )
    done = compiled(toolchain, text, tmp_path / "k.cubin")
    assert done.returncode == 0, done.stderr
    assert set(kernels(tmp_path / "k.cubin")) == {f"_Z1kI{t}EvPT_" for t in INSTANCES[family]}


@needs_nvcc
@pytest.mark.parametrize(
    "line",
    [
        "x = torch::nn::functional::relu(x);",
        "x = torch::no_such_function(x);",
        "x = x.no_such_method();",
        "float n = x.size(0).foo;",
        "float* p = x;",
        "k<<<1, 1>>>(x);",
        'TORCH_CHECK(undefined_name, "no");',
    ],
)
def test_a_wrong_use_of_torch_does_not_compile(
    line: str, toolchain: Toolchain, tmp_path: Path
) -> None:
    text = (
        "#include <torch/extension.h>\n__global__ void k(float*);\n"
        f"void f(at::Tensor x) {{ {line} }}\n"
    )
    done = compiled(toolchain, text, tmp_path / "k.cubin")
    assert done.returncode != 0
    assert "k.cu(3): error" in done.stdout + done.stderr


@needs_nvcc
def test_nothing_of_the_host_reaches_the_binary(toolchain: Toolchain, tmp_path: Path) -> None:
    program = next(p for p in PROGRAMS if p.stem == "vector_add")
    compiled(toolchain, program.read_text(), tmp_path / "k.cubin")
    assert list(kernels(tmp_path / "k.cubin")) == ["_Z10add_kernelPKfS0_Pfi"]


@needs_nvcc
@pytest.mark.skipif("RS_IDENTITY" not in os.environ, reason="minutes a program; set RS_IDENTITY=1")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_machine_code_is_that_of_the_real_headers(
    program: Path, toolchain: Toolchain, tmp_path: Path
) -> None:
    made = {}
    for skeleton in (True, False):
        out = tmp_path / str(skeleton) / "k.cubin"
        out.parent.mkdir()
        done = compiled(toolchain, program.read_text(), out, skeleton=skeleton)
        assert done.returncode == 0, done.stderr
        made[skeleton] = kernels(out)
    assert made[True] == made[False]


def flags(text: str) -> set[str]:
    return {flag.removeprefix("-DRS_NEEDS_") for flag in needs(text)}


def test_a_plain_program_needs_nothing() -> None:
    text = next(p for p in PROGRAMS if p.stem == "vector_add").read_text()
    assert needs(text) == ()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x.data_ptr<at::Half>()", {"HALF"}),
        ("AT_DISPATCH_FLOATING_TYPES_AND_HALF(", {"HALF"}),
        ("AT_DISPATCH_REDUCED_FLOATING_TYPES(", {"HALF", "BFLOAT16"}),
        ("at::kBFloat16", {"BFLOAT16"}),
        ("__nv_bfloat16 v;", {"CUDA_BFLOAT16"}),
        ("__half2 v;", {"CUDA_HALF"}),
        ("c10::complex<float>", {"COMPLEX", "HALF"}),
        ("x.packed_accessor64<float, 2>()", {"ACCESSOR"}),
        ("torch::RestrictPtrTraits", {"ACCESSOR"}),
        ("#include <ATen/cuda/Atomic.cuh>", {"HALF", "BFLOAT16", "COMPLEX", "FLOAT8"}),
        ("at::Float8_e4m3fn", {"FLOAT8"}),
        ("std::string s;", {"STD_STRING"}),
        ("throw std::runtime_error(m);", {"STD_STRING"}),
        ("std::cout << 1;", {"STD_STREAM"}),
        ("std::sort(a, b);", {"STD_ALGORITHM"}),
        ("std::max<int>({1, 2})", {"STD_ALGORITHM"}),
        ("std::shared_ptr<int> p;", {"STD_MEMORY"}),
        ("std::function<void()> f;", {"STD_FUNCTIONAL"}),
        ("std::unordered_map<int, int> m;", {"STD_MAP"}),
        ("std::mutex m;", {"STD_ALL"}),
        ("using namespace std;", {"STD_ALL"}),
        ("at::matmul(a, b)", {"FUNCTIONS"}),
        ("using namespace torch;", {"FUNCTIONS"}),
        ("x.sum(0)", {"METHODS"}),
        ("cublasSgemm(handle)", {"CUBLAS"}),
    ],
)
def test_a_word_asks_for_its_header(text: str, wanted: set[str]) -> None:
    assert wanted <= flags(text)


@pytest.mark.parametrize(
    "text",
    [
        "std::vector<int> v; std::max(a, b); std::numeric_limits<float>::max();",
        "std::tuple<at::Tensor, at::Tensor> t; std::optional<int> o; std::sqrt(2.0f);",
        "torch::empty({1}); torch::zeros_like(x); x.data_ptr<float>(); x.size(0); x.view({1});",
    ],
)
def test_cheap_names_ask_for_nothing(text: str) -> None:
    assert needs(text) == ()


@given(st.lists(st.sampled_from(PARTS)), st.lists(st.sampled_from(PARTS)))
def test_more_text_never_needs_less(some: list[str], more: list[str]) -> None:
    assert flags("\n".join(some)) <= flags("\n".join([*some, *more]))


@given(st.text())
def test_any_text_can_be_asked_about(text: str) -> None:
    assert all(flag.startswith("-DRS_NEEDS_") for flag in needs(text))


@needs_nvcc
def test_types_that_a_struct_may_hold_have_their_real_layout(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    layouts = {
        "at::Tensor": (8, 8), "at::Scalar": (32, 16), "at::TensorOptions": (8, 2),
        "at::Generator": (8, 8), "c10::Device": (2, 1), "c10::Storage": (8, 8),
        "c10::IntArrayRef": (16, 8),
        "caffe2::TypeMeta": (2, 2), "std::optional<at::Tensor>": (16, 8),
    }  # fmt: skip
    text = "#include <torch/types.h>\n" + "".join(
        f"static_assert(sizeof({name}) == {size} && alignof({name}) == {align});\n"
        for name, (size, align) in layouts.items()
    )
    stand_ins = compiled(toolchain, text, tmp_path / "x.cubin")
    assert stand_ins.returncode == 0, stand_ins.stdout + stand_ins.stderr
    (tmp_path / "real.cpp").write_text(text)
    includes = [f for path in toolchain.includes for f in ("-isystem", path)]
    argv = [str(toolchain.cxx), toolchain.standard, *includes, "-fsyntax-only", "real.cpp"]
    subprocess.run(argv, cwd=tmp_path, check=True, timeout=170)
