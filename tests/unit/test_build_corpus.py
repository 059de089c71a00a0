"""The build corpus is well-formed and spans what it must; nothing of it is compiled here."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.build_corpus import selected  # isort: skip
from benchmarks.corpus.device_code import demangled, functions, plain, with_numbered_addresses  # isort: skip
from benchmarks.corpus.programs import PASSES, Program, programs, read  # isort: skip
from benchmarks.corpus.table import path, table, unexpected  # isort: skip

from reward_service.formats import kernelbench
from reward_service.formats.kernelbench import Extraction

CORPUS = {program.name: program for program in programs()}
every_program = pytest.mark.parametrize("name", list(CORPUS))

MUST_SPAN = {
    "torch_empty",
    "torch_zeros",
    "torch_empty_like",
    "TensorOptions",
    "TORCH_CHECK",
    "AT_DISPATCH_FLOATING_TYPES",
    "AT_DISPATCH_FLOATING_TYPES_AND_HALF",
    "AT_DISPATCH_FLOATING_TYPES_AND2",
    "AT_DISPATCH_ALL_TYPES",
    "AT_DISPATCH_INTEGRAL_TYPES",
    "AT_DISPATCH_REDUCED_FLOATING_TYPES",
    "AT_DISPATCH_V2",
    "AT_DISPATCH_SWITCH",
    "dispatch_nested",
    "data_ptr",
    "packed_accessor",
    "getCurrentCUDAStream_c10",
    "getCurrentCUDAStream_at",
    "device_properties",
    "CUDAGuard",
    "optional_tensor",
    "tuple_return",
    "vector_of_tensors",
    "several_kernels",
    "several_functions",
    "template_explicit",
    "template_in_dispatch",
    "template_non_type",
    "template_template",
    "functor_template",
    "template_pack",
    "constant_memory",
    "device_global",
    "cudaMemcpyToSymbol",
    "dynamic_shared",
    "cudaFuncSetAttribute",
    "cooperative_groups",
    "grid_sync",
    "cudaLaunchCooperativeKernel",
    "wmma",
    "inline_ptx",
    "cp_async",
    "fp16",
    "bf16",
    "half2",
    "bf162",
    "float4",
    "warp_shuffle",
    "atomics",
    "cub_block",
    "cub_device",
    "thrust",
    "static_kernel",
    "anonymous_namespace",
    "nested_namespaces",
    "extern_c",
    "overloaded_kernels",
    "define_kernels",
    "define_launch",
    "kernel_pointer",
    "launch_bounds",
    "host_device",
    "device_struct",
    "host_lambdas",
    "several_sources",
    "several_cu_files",
    "load",
    "load_header",
    "flag_O3",
    "flag_use_fast_math",
    "flag_lineinfo",
    "flag_maxrregcount",
    "flag_std",
    "flag_Xptxas",
    "flag_define",
    "extra_cflags",
    "with_cuda_cpp_only",
    "functions_string",
    "functions_dict",
    "pybind_in_cu",
    "pybind_in_cpp",
    "pybind_defaults",
    "pybind_lambda",
    "cublas",
    "CUDACachingAllocator",
    "streams_events",
    "curand",
    "device_printf",
    "device_assert",
    "constexpr_table",
    "__ldg",
    "pragma_unroll",
    "__CUDA_ARCH__",
    "odd_formatting",
    "crlf",
    "non_ascii",
    "no_implicit_headers",
    "includes_nothing",
    "huge_source",
    "extended_lambda",
    "torch_nn",
    "rdc",
    "openmp",
    "parallel_for",
    "avx",
    "march",
    "fast_math",
    "std_thread",
    "accessor",
}


def test_the_corpus_spans_what_submissions_use() -> None:
    covered = {topic for program in CORPUS.values() for topic in program.topics}
    assert sorted(MUST_SPAN - covered) == []


def test_the_corpus_is_large_enough() -> None:
    cuda = [p for p in CORPUS.values() if p.cuda]
    assert sum(p.builds for p in cuda) >= 60
    assert sum(not p.builds for p in cuda) >= 16
    assert sum(not p.cuda for p in CORPUS.values()) >= 12
    assert {p.fails_in for p in CORPUS.values()} == {None, *PASSES}


def test_nine_in_ten_are_meant_for_the_split_rung() -> None:
    good = [p for p in CORPUS.values() if p.builds]
    assert sum(p.expect == "split" for p in good) >= 0.9 * len(good)


@every_program
def test_a_program_is_a_submission(name: str) -> None:
    program = CORPUS[name]
    tree = ast.parse(program.source)
    defined = {n.name for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    assert {"ModelNew", "get_inputs", "get_init_inputs"} <= defined
    found = kernelbench.extract(program.source)
    assert isinstance(found, Extraction)
    assert found.calls or found.needs_recording
    assert all(call.with_cuda == program.cuda for call in found.calls)


def test_programs_differ() -> None:
    sources = [program.source for program in CORPUS.values()]
    assert len(set(sources)) == len(sources)


def test_a_program_without_expectation_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.corpus.programs.ROOT", tmp_path)
    (tmp_path / "x.py").write_text('"""Title."""\nTOPICS = ("a",)\n')
    with pytest.raises(ValueError, match="EXPECT"):
        read(tmp_path / "x.py")


def test_programs_are_chosen_by_name_folder_and_file() -> None:
    program = CORPUS["cuda/vector_add"]
    assert all(selected(program, [w]) for w in ("cuda/vector_add", "cuda", "vector_add"))
    assert selected(program, [])
    assert not selected(program, ["cpu", "vector"])


# --- judging -----------------------------------------------------------------------------------


def row_of(program: Program, **changed: object) -> dict[str, object]:
    build = {
        "outcome": "built" if program.expect != "BUILD_FAILED" else "BUILD_FAILED",
        "message": program.message,
        "path": path(program),
        "fallback": None,
        "seconds": 1.0,
        "warnings": (),
    }
    run = {"outputs": [["torch.float32", [1], "00"]]} if program.builds else None
    if program.expect == "LOAD_FAILED":
        run = {"failed": "load", "error": "ImportError"}
    return {
        "program": program.name,
        "topics": program.topics,
        "expect": program.expect,
        "ladder": build,
        "stock": {**build, "path": "stock"},
        "identical": True if program.builds else None,
        "code": {"functions": 1, "differences": []},
        "runs": {"ladder": run, "stock": run},
        "outputs_equal": True if program.builds else None,
        "unexpected": [],
        **changed,
    }


@every_program
def test_what_is_expected_is_not_unexpected(name: str) -> None:
    assert unexpected(CORPUS[name], row_of(CORPUS[name])) == []


@pytest.mark.parametrize(
    ("name", "where", "value", "told"),
    [
        ("cuda/vector_add", ("ladder", "path"), "stock", "rung stock"),
        ("cuda/vector_add", ("ladder", "outcome"), "BUILD_FAILED", "ladder: BUILD_FAILED"),
        ("cuda/vector_add", ("stock", "outcome"), "BUILD_FAILED", "stock: BUILD_FAILED"),
        ("cuda/vector_add", ("identical",), False, "device code differs"),
        ("cuda/vector_add", ("outputs_equal",), False, "outputs differ"),
        ("cuda/torch_nn", ("ladder", "path"), "split", "rung split"),
        ("failing/device_identifier", ("ladder", "path"), "stock", "rung stock"),
        ("failing/device_identifier", ("ladder", "message"), "error", "lacks 'block_sum'"),
        ("failing/host_identifier", ("ladder", "outcome"), "built", "ladder: built"),
        ("failing/never_defined", ("runs", "ladder"), {"outputs": []}, "ladder loads"),
    ],
)
def test_what_is_not_expected_is_told(
    name: str, where: tuple[str, ...], value: object, told: str
) -> None:
    row = row_of(CORPUS[name])
    inner: dict[str, object] = row
    for key in where[:-1]:
        inner[key] = dict(inner[key])  # type: ignore[call-overload]
        inner = inner[key]  # type: ignore[assignment]
    inner[where[-1]] = value
    assert any(told in line for line in unexpected(CORPUS[name], row)), row


def test_the_table_has_a_line_for_each_program_and_counts_them() -> None:
    rows = [row_of(program) for program in CORPUS.values()]
    text = table(rows)  # type: ignore[arg-type]
    assert text.startswith(f"{len(rows)} programs")
    assert sum(line.startswith("| c") or "failing/" in line for line in text.splitlines()) >= len(
        rows
    )


# --- device code -------------------------------------------------------------------------------

LISTING = """
Fatbin elf code:
================
arch = sm_90

\tcode for sm_90
\t\tFunction : _ZN36_GLOBAL__N__c747c9a5_4_a_cu_549f7cd32k2EPf
\t.headerflags    @"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t\t..........

\t\tFunction : _Z1kPf
        /*0000*/                   EXIT ;
\t\t..........

Fatbin ptx code:
================
"""


def test_functions_are_read_off_a_listing() -> None:
    found = dict(functions(demangled(LISTING)))
    assert list(found) == ["k2(float*)", "k(float*)"]
    assert found["k(float*)"] == "/*0000*/ EXIT ;"
    assert "LDC R1" in found["k2(float*)"]


@pytest.mark.parametrize(
    ("stock", "split"),
    [
        (
            "_ZN1a36_GLOBAL__N__c747c9a5_4_a_cu_549f7cd32k3EPf",
            "_ZN1a10rs_local_02k3EPf",
        ),
        (
            "_ZN36_GLOBAL__N__c747c9a5_4_a_cu_549f7cd336_GLOBAL__N__c747c9a5_4_a_cu_549f7cd31kEv",
            "_ZN10rs_local_011rs_local_121kEv",
        ),
    ],
)
def test_names_of_internal_linkage_are_made_equal(stock: str, split: str) -> None:
    assert plain(stock) == plain(split)
    assert plain(stock) != stock


def test_static_kernels_have_one_name_in_both_builds() -> None:
    for stock, split in (
        ("_Z5firstPKfPfi", "_ZN10rs_local_05firstEPKfPfi"),
        ("_Z6secondIfEvPT_i", "_ZN10rs_local_06secondIfEEvPT_i"),
    ):
        assert demangled(stock) == demangled(split)


def test_addresses_of_globals_are_told_apart_but_not_by_their_place() -> None:
    code = "ULDC.64 UR8, c[0x4][{}] ; /* 0x0100{}00087ab9 */\nLDC R1, c[0x4][{}] ;"
    one, same = code.format("0x0", "0000", "0x8"), code.format("0xe0", "3800", "0x18")
    assert with_numbered_addresses(one) == with_numbered_addresses(same)
    assert with_numbered_addresses(one) != with_numbered_addresses(
        code.format("0x0", "0000", "0x0")
    )


def test_other_names_stay() -> None:
    for name in ("_ZN2rs5localEPf", "_Z12vector_add_1PKfS0_Pfi", "/*0010*/ IMAD R1, R2, 0x36_"):
        assert plain(name) == name
