"""Which flags reach a compiler, and which make a build forbidden."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_service.build.flags import Flags, choose
from reward_service.build.toolchain import Toolchain
from reward_service.findings import Finding
from reward_service.formats.extension_call import ExtensionCall
from reward_service.schemas import Reason

TOOLS = Toolchain(
    torch="2",
    torch_cuda=None,
    includes=("/torch/include",),
    cuda_includes=("/cuda/include",),
    torch_lib="/torch/lib",
    cuda_libs=("/cuda/lib",),
    standard="-std=c++20",
    nvcc_flags=(),
    cxx="/usr/bin/c++",
    cxx_version="c++ 12",
    nvcc=None,
    nvcc_version=None,
    cuda_home=None,
)


def chosen(**lists: list[str]) -> Flags | Finding:
    return choose(ExtensionCall.capture("load_inline", ("m", "a"), lists), TOOLS)


def kept(which: str, *flags: str) -> list[str]:
    found = chosen(**{which: list(flags)})
    assert isinstance(found, Flags), found
    return list({"extra_cflags": found.cxx, "extra_cuda_cflags": found.nvcc}.get(which, found.link))


CXX = """-O0 -O3 -Ofast -Os -std=c++17 -std=gnu++20 -ffast-math -fno-math-errno -fopenmp
-funroll-loops -fPIC -fvisibility=hidden -ffp-contract=fast -march=native -mtune=native
-march=x86-64-v3 -mavx2 -mavx512f -mfma -mno-avx -msse4.2 -mprefer-vector-width=512 -DN=4
-DNDEBUG -D_GLIBCXX_USE_CXX11_ABI=1 -UNDEBUG -Wall -Wextra -Wno-unused-variable -w -g -pthread"""
NVCC = """-O3 --use_fast_math -use_fast_math -lineinfo --expt-relaxed-constexpr
--expt-extended-lambda --extended-lambda -maxrregcount=64 --maxrregcount=32 --ftz=true --fmad=false
--prec-div=false --prec-sqrt=false -std=c++17 --std=c++17 -DN=4 -U__CUDA_NO_HALF_OPERATORS__
--default-stream=per-thread --resource-usage -diag-suppress=177 --restrict"""
LINK = (
    "-lcublas -lcublasLt -lcudnn -lcurand -lcusparse -lcusolver -lcufft -lm -lgomp -fopenmp -lcuda"
)


@pytest.mark.parametrize(
    ("which", "flags"),
    [("extra_cflags", CXX), ("extra_cuda_cflags", NVCC), ("extra_ldflags", LINK)],
)
def test_ordinary_flags_are_kept_in_order(which: str, flags: str) -> None:
    found = chosen(**{which: flags.split()})
    assert isinstance(found, Flags)
    assert found.warnings == ()
    assert kept(which, *flags.split()) == flags.split()


def test_flags_of_one_string_are_split_and_values_joined() -> None:
    assert kept("extra_cflags", "-O3 -Wall", " ", "", "-D N=3") == ["-O3", "-Wall", "-DN=3"]
    assert kept("extra_cuda_cflags", "--maxrregcount 32", "-std", "c++17") == [
        "--maxrregcount=32",
        "-std=c++17",
    ]


def test_what_nvcc_passes_on_is_looked_at_flag_by_flag() -> None:
    flags = ["-Xcompiler", "-O3,-Wall", "-Xptxas=-v,-O3", "--ptxas-options=-dlcm=ca"]
    assert kept("extra_cuda_cflags", *flags) == [
        *("-Xcompiler", "-O3", "-Xcompiler", "-Wall"),
        *("-Xptxas", "-v", "-Xptxas", "-O3", "--ptxas-options", "-dlcm=ca"),
    ]
    found = chosen(extra_cuda_cflags=["-Xcompiler", "-fplugin=./p.so"])
    assert isinstance(found, Finding)
    assert found.reason is Reason.BUILD_FORBIDDEN


@pytest.mark.parametrize(
    "flags",
    [
        ["-gencode=arch=compute_80,code=sm_80"],
        ["-gencode", "arch=compute_80,code=sm_80"],
        ["-arch=sm_80"],
        ["-arch", "sm_80"],
        ["--gpu-architecture=sm_80", "-code=sm_80"],
    ],
)
def test_the_target_is_ours(flags: list[str]) -> None:
    found = chosen(extra_cuda_cflags=flags)
    assert isinstance(found, Flags)
    assert found.nvcc == ()
    assert "replaced by our target" in found.warnings[0]
    assert found.target("9.0") == "9.0"


def test_the_a_variant_of_our_own_target_can_be_asked_for() -> None:
    found = chosen(extra_cuda_cflags=["-gencode=arch=compute_90a,code=sm_90a"])
    assert isinstance(found, Flags)
    assert found.target("9.0") == "9.0a"
    assert found.target("8.0") == "8.0"


HOSTILE: list[tuple[str, list[str]]] = [
    ("extra_cflags", ["-fplugin=./p.so"]),
    ("extra_cflags", ["-fplugin-arg-x-y=z"]),
    ("extra_cflags", ["-include", "/etc/passwd"]),
    ("extra_cflags", ["-include/etc/passwd"]),
    ("extra_cflags", ["-imacros", "/etc/passwd"]),
    ("extra_cflags", ["-B/tmp"]),
    ("extra_cflags", ["-specs=/tmp/x"]),
    ("extra_cflags", ["--specs=/tmp/x"]),
    ("extra_cflags", ["@/tmp/flags"]),
    ("extra_cflags", ["-wrapper", "/bin/sh,-c"]),
    ("extra_cflags", ["-x", "assembler"]),
    ("extra_cflags", ["-o", "/tmp/x"]),
    ("extra_cflags", ["-MF", "/tmp/x"]),
    ("extra_cflags", ["-Wp,-include,/etc/passwd"]),
    ("extra_cflags", ["-Wa,-I/etc"]),
    ("extra_cflags", ["--sysroot=/tmp"]),
    ("extra_cflags", ["/etc/passwd"]),
    ("extra_cflags", ["-O3; touch /tmp/x"]),
    ("extra_cflags", ["$(id)"]),
    ("extra_cflags", ["-Xassembler", "-I/etc"]),
    ("extra_cuda_cflags", ["-ccbin", "/tmp/evil"]),
    ("extra_cuda_cflags", ["--compiler-bindir=/tmp"]),
    ("extra_cuda_cflags", ["--options-file", "/tmp/x"]),
    ("extra_cuda_cflags", ["-optf", "/tmp/x"]),
    ("extra_cuda_cflags", ["-Xcompiler", "-B/tmp"]),
    ("extra_cuda_cflags", ["-Xlinker", "-rpath=/tmp"]),
    ("extra_ldflags", ["-Wl,-rpath,/tmp"]),
    ("extra_ldflags", ["-Wl,--script=/tmp/x"]),
    ("extra_ldflags", ["-T", "/tmp/x"]),
    ("extra_ldflags", ["/tmp/evil.o"]),
    ("extra_ldflags", ["evil.a"]),
]


@pytest.mark.parametrize(("which", "flags"), HOSTILE)
def test_hostile_flags_make_the_build_forbidden(which: str, flags: list[str]) -> None:
    found = chosen(**{which: flags})
    assert isinstance(found, Finding)
    assert found.reason is Reason.BUILD_FORBIDDEN
    assert which in found.message


@pytest.mark.parametrize(
    ("which", "flag"),
    [
        ("extra_cflags", "-fconstexpr-ops-limit=1000000000"),
        ("extra_cflags", "-ftemplate-depth=100000"),
        ("extra_cflags", "-flto"),
        ("extra_cflags", "-DTORCH_EXTENSION_NAME=x"),
        ("extra_cflags", "-DX=a/b"),
        ("extra_cflags", "-I/usr/local/include"),
        ("extra_cuda_cflags", "-rdc=true"),
        ("extra_cuda_cflags", "--threads 4"),
        ("extra_cuda_cflags", "-G"),
        ("extra_ldflags", "-L/tmp"),
        ("extra_ldflags", "-lsecret"),
        ("extra_ldflags", "-l:evil.so"),
        ("extra_include_paths", "/usr/local/include"),
    ],
)
def test_other_flags_are_dropped_and_it_is_said(which: str, flag: str) -> None:
    found = chosen(**{which: ["-O2" if "include" not in which else "/torch/include", flag]})
    assert isinstance(found, Flags)
    assert sum(map(len, (found.cxx, found.nvcc, found.link))) == ("include" not in which)
    (warning,) = found.warnings
    assert which in warning
    assert "dropped" in warning


def test_the_toolchains_own_directories_need_no_warning() -> None:
    found = chosen(
        extra_cflags=["-I/torch/include", "-isystem", "/cuda/include"],
        extra_ldflags=["-L/torch/lib"],
        extra_include_paths=["/cuda/include"],
    )
    assert found == Flags()


def test_flags_that_cannot_be_split_fail_the_build() -> None:
    for flags in (["-DX='"], ["-D"]):
        found = chosen(extra_cflags=flags)
        assert isinstance(found, Finding)
        assert found.reason is Reason.BUILD_FAILED


def test_a_build_for_this_processor_says_so() -> None:
    for lists in (
        {"extra_cflags": ["-march=native"]},
        {"extra_cuda_cflags": ["-Xcompiler=-march=native"]},
    ):
        found = chosen(**lists)
        assert isinstance(found, Flags)
        assert found.for_this_cpu
    plain = chosen(extra_cflags=["-O3"])
    assert isinstance(plain, Flags)
    assert not plain.for_this_cpu


PIECES = (
    "- -- X compiler ptxas include I L l D O3 W f plugin = , /etc/x @ ' \" arch sm_90 std c++17 "
    "march native B o x ; $ .. optf Wl, rpath N \n \0"
)
pieces = st.sampled_from([*PIECES.split(" "), " "])
lists = st.lists(st.lists(pieces, max_size=6).map("".join), max_size=4)


@given(lists, st.sampled_from(["extra_cflags", "extra_cuda_cflags", "extra_ldflags"]))
def test_nothing_that_is_kept_names_a_file(flags: list[str], which: str) -> None:
    found = chosen(**{which: flags})
    if isinstance(found, Finding):
        return
    left: list[Any] = [*found.cxx, *found.nvcc, *found.link]
    for flag in left:
        assert re.fullmatch(r"-[\w+.,=-]*", flag), flag
        assert not flag.startswith(("-I", "-L", "-B", "-o", "-x", "-T", "-i"))
