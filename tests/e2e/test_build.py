"""The build stage with real compilers.

Only two tests compile torch's headers (half a minute each); the others bring what they need.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reward_service.build.stage import BuildStage
from reward_service.errors import (
    CancelledError,
    InfrastructureError,
    PrerequisiteError,
    QueueDeadlineError,
)
from reward_service.findings import Built, Context, Finding
from reward_service.sandbox import isolation, processes
from reward_service.schemas import MAX_LOG_CHARS, Candidate, Problem, Reason, Submission
from reward_service.settings import Settings

ROOT = os.geteuid() == 0
LEVEL = "standard" if ROOT else "reduced"
# Apart for each worker of pytest-xdist: the tests look at all that runs under these users.
UID_BASE = 62_000 + 256 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
root = pytest.mark.skipif(not ROOT, reason="needs root")
nvcc = pytest.mark.skipif(
    not (shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists()), reason="needs nvcc"
)

PLAIN_MODULE = """
#include <Python.h>
%s
static PyObject* answer(PyObject*, PyObject*) { return PyLong_FromLong(ANSWER); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "x", nullptr, -1, methods};
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
PyMODINIT_FUNC JOIN(PyInit_, TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }
"""


def program(*, cpp: str = "", before: str = "", **arguments: Any) -> str:
    """A candidate around one `load_inline` without torch's headers."""
    given = {"name": "m", "cpp_sources": cpp, "no_implicit_headers": True, **arguments}
    return (
        "from torch.utils.cpp_extension import load_inline\n"
        f"{before}\n"
        f"m = load_inline({', '.join(f'{k}={v!r}' for k, v in given.items())})\n"
        "class ModelNew: pass\n"
    )


def slow_program() -> str:
    """Compiles for minutes with default limits: each sum is worked out anew."""
    loop = "{ int s = 0; for (int i = 0; i < n; i++) s ^= i; return s; }"
    sums = "".join(f"constexpr int x{i} = f({200_000 - i});\n" for i in range(3000))
    return program(cpp=f"constexpr int f(int n) {loop}\n{sums}")


def settings(state_dir: Path, **changed: Any) -> Settings:
    return Settings(
        state_dir=state_dir,
        runner_uid_base=UID_BASE,
        min_isolation=LEVEL,
        cuda_arch="9.0",
        **changed,
    )


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("build-state")


@pytest.fixture(scope="session")
def stage(state_dir: Path) -> Iterator[BuildStage]:
    with BuildStage(settings(state_dir)) as stage:
        yield stage


def build(
    stage: BuildStage,
    source: str,
    *,
    seconds: float = 170.0,
    cancelled: Callable[[], bool] = lambda: False,
) -> Built | Finding:
    submission = Submission(
        problem=Problem(source="def get_init_inputs(): return []"),
        candidate=Candidate(source=source),
    )
    context = Context("test", time.time() + seconds, cancelled)
    return stage(submission, str(submission.problem.source), context)


def built(stage: BuildStage, source: str) -> Built:
    result = build(stage, source)
    assert isinstance(result, Built), result
    return result


def refused(stage: BuildStage, source: str, reason: Reason) -> Finding:
    result = build(stage, source)
    assert isinstance(result, Finding)
    assert result.reason is reason, result
    assert result.build is not None
    return result


def module(state_dir: Path, result: Built) -> Path:
    (key,) = result.artifacts.values()
    return state_dir / "artifacts" / key[:2] / key / f"rs_{key[:24]}.so"


def loaded(path: Path, expression: str) -> str:
    """Load a module in a fresh interpreter, and print an expression of `m`."""
    text = (
        "import torch, importlib.util as u\n"
        f"s = u.spec_from_file_location({path.stem!r}, {str(path)!r})\n"
        "m = u.module_from_spec(s); s.loader.exec_module(m)\n"
        f"print({expression})"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def of_the_pool() -> list[int]:
    ours = range(UID_BASE, UID_BASE + 256)
    return [p.pid for p in processes.live() if any(uid in ours for uid in p.uids)]


# --- torch's headers -------------------------------------------------------------------------

ADD = """
from torch.utils.cpp_extension import load_inline
add = load_inline(
    name={name!r},
    cpp_sources="torch::Tensor add(torch::Tensor a, torch::Tensor b) {{ return a + 2 * b; }}",
    functions=["add"],
    extra_cflags=["-O1", "-frobnicate"],
)
class ModelNew: pass
"""


def test_a_cpp_extension_is_built_loads_computes_and_is_built_once(
    stage: BuildStage, state_dir: Path
) -> None:
    first = built(stage, ADD.format(name="add"))
    assert (first.report.path, first.report.cached) == ("split", False)
    assert first.report.seconds > 0
    assert first.warnings == ("extra_cflags: -frobnicate is not allowed and was dropped",)
    assert "12" in str(first.compiler) or first.compiler
    path = module(state_dir, first)
    assert loaded(path, "m.add(torch.ones(2), torch.ones(2)).tolist()") == "[3.0, 3.0]"

    again = built(stage, ADD.format(name="another/../name\n$(id)"))
    assert again.artifacts == first.artifacts
    assert (again.report.path, again.report.cached) == ("cache", True)
    assert again.warnings == first.warnings

    recorded = built(stage, ADD.format(name="add") + "import importlib\n")
    assert recorded.artifacts == first.artifacts


def test_lines_are_counted_as_in_a_stock_build(stage: BuildStage, state_dir: Path) -> None:
    # torch includes a header in a line ahead of the candidate's; its messages do not count it.
    source = program(
        cpp="#include <torch/extension.h>\nint line() { return __LINE__; }",
        functions=["line"],
        no_implicit_headers=False,
    )
    result = built(stage, source)
    assert result.report.path == "split"
    assert loaded(module(state_dir, result), "m.line()") == "3"
    wrong = source.replace("__LINE__", "nonsense")
    assert refused(stage, wrong, Reason.BUILD_FAILED).message.startswith("main.cpp:2:")


@nvcc
def test_a_cuda_extension_is_built_without_a_gpu(stage: BuildStage, state_dir: Path) -> None:
    kernel = """
    #include <cuda_runtime.h>
    __global__ void add(const float* a, const float* b, float* c, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) c[i] = a[i] + b[i];
    }
    void launch(const float* a, const float* b, float* c, int n) {
      add<<<(n + 255) / 256, 256>>>(a, b, c, n);
    }
    """
    before = "#include <cuda_runtime.h>\n#define ANSWER (cudaGetDeviceCount(new int), 41 + 1)"
    result = built(stage, program(cpp=PLAIN_MODULE % before, cuda_sources=kernel))
    assert result.report.path == "split", result.report.fallback
    assert "nvcc" in str(result.compiler)
    path = module(state_dir, result)
    assert loaded(path, "m.answer()") == "42"
    names = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
    assert "launch(float const*, float const*, float*, int)" in names
    assert b"sm_90" in path.read_bytes()


@nvcc
def test_an_error_in_a_kernel_names_its_line(stage: BuildStage) -> None:
    kernel = "__global__ void k(float* x) {\n  x[0] = undefined_name;\n}\n"
    found = refused(stage, program(cuda_sources=kernel), Reason.BUILD_FAILED)
    assert found.message.startswith("cuda.cu(2): error:")
    assert "undefined_name" in found.message


# --- what is built and what is not -----------------------------------------------------------


def test_a_program_without_extensions_has_nothing_to_build(stage: BuildStage) -> None:
    result = built(stage, "import torch\nclass ModelNew(torch.nn.Module): pass")
    assert (result.report.path, result.artifacts) == ("none", {})


def test_a_program_that_is_not_python_fails(stage: BuildStage) -> None:
    found = refused(stage, "class ModelNew(:", Reason.BUILD_FAILED)
    assert "line 1" in found.message


def test_two_extensions_are_two_modules(stage: BuildStage, state_dir: Path) -> None:
    parts = [
        program(cpp=PLAIN_MODULE % f"#define ANSWER {n}").replace("ModelNew", f"M{n}")
        for n in (1, 2)
    ]
    result = built(stage, "\n".join(parts))
    assert len(set(result.artifacts.values())) == 2


def test_one_module_is_found_by_the_call_that_the_runner_will_see(stage: BuildStage) -> None:
    from reward_service.formats.extension_call import ExtensionCall

    cpp = PLAIN_MODULE % "#define ANSWER 3"
    result = built(stage, program(cpp=cpp))
    call = ExtensionCall.capture(
        "load_inline", ("other",), {"cpp_sources": [cpp], "no_implicit_headers": True}
    )
    assert list(result.artifacts) == [call.key]


def test_files_that_a_program_writes_and_loads_are_built(
    stage: BuildStage, state_dir: Path
) -> None:
    cpp = '#include "answer.h"\n' + PLAIN_MODULE % ""
    source = (
        "from torch.utils.cpp_extension import load\nfrom pathlib import Path\n"
        f"Path('m.cpp').write_text({cpp!r})\n"
        "Path('answer.h').write_text('#define ANSWER 77')\n"
        "m = load(name='m', sources=['m.cpp'])\nclass ModelNew: pass\n"
    )
    assert loaded(module(state_dir, built(stage, source)), "m.answer()") == "77"


def test_hints_are_warnings_and_decide_nothing(stage: BuildStage) -> None:
    cpp = PLAIN_MODULE % "#define ANSWER 6"
    result = built(stage, program(cpp=cpp, before="import ctypes\nctypes.CDLL(None)"))
    assert result.warnings == ("hint: line 3: ctypes reaches native code beside its extension",)
    assert built(stage, program(cpp=cpp)).artifacts == result.artifacts


# --- failures --------------------------------------------------------------------------------


def test_a_compile_error_names_the_line_and_is_remembered(stage: BuildStage) -> None:
    source = program(cpp="int main_is_here;\nint x = nonsense;\n")
    first = refused(stage, source, Reason.BUILD_FAILED)
    assert first.message.startswith("main.cpp:2:9: error:")
    assert first.build is not None
    assert "nonsense" in first.build.log_tail
    assert "/" not in first.build.log_tail.replace("^~~~~~~~", "")
    second = refused(stage, source, Reason.BUILD_FAILED)
    assert second.message == first.message
    assert second.build is not None
    assert second.build.cached
    assert second.build.seconds == 0


def test_forbidden_flags_are_told(stage: BuildStage) -> None:
    found = refused(
        stage, program(cpp="int x;", extra_cflags=["-fplugin=./p.so"]), Reason.BUILD_FORBIDDEN
    )
    assert "-fplugin" in found.message


def test_a_function_that_does_not_exist_is_a_failed_build(stage: BuildStage) -> None:
    cpp = "#define PYBIND11_MODULE(a, b) void bind()\nstruct { void def(...); } m;\n"
    cpp += "namespace torch { template <class T> T wrap_pybind_function(T t) { return t; } }"
    found = refused(stage, program(cpp=cpp, functions=["absent"]), Reason.BUILD_FAILED)
    assert "absent" in found.message


SECRET = "int secret_text_that_no_one_may_see = 4711;\n"


@pytest.fixture
def public() -> Iterator[Path]:
    """A file that anyone on this machine may read, of a kind that a compiler would take."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        file = folder / "public.h"
        file.write_text(SECRET)
        file.chmod(0o644)
        yield file


READS = {
    "include": '#include "{path}"',
    "climbing include": '#include "{climbing}"',
    "include in the path": "#include <{path}>",
    "include_next": "#include_next <{path}>",
    "include by a macro": "#define FILE <{path}>\n#include FILE",
    "include that is there": '#if __has_include("{path}")\n#include "{path}"\n#endif\n#error end',
    "embed": 'const unsigned char x[] = {{\n#embed "{path}"\n}};',
    "incbin": 'asm(".incbin \\"{path}\\"");',
    "climbing incbin": 'asm(".incbin \\"{climbing}\\"");',
    "assembler's include": 'asm(".include \\"{path}\\"");',
}
"""Ways to read a file while compiling."""


def unread(stage: BuildStage, public: Path, text: str, **arguments: Any) -> Finding:
    """The failure of a program that reads a public file, and /etc/passwd, and learns nothing.

    Every user may read both, so that what stops it is no file's mode.
    """
    for path in (str(public), "/etc/passwd"):
        sources = text.format(path=path, climbing="../" * 30 + path[1:]) + "\nint y = 1;\n"
        found = refused(stage, program(**{"cpp": sources, **arguments}), Reason.BUILD_FAILED)
        told = f"{found.message}{found.build}"
        assert "secret_text" not in told
        assert "root:" not in told
    return found


@pytest.mark.parametrize("way", READS)
def test_a_compile_reads_nothing_but_its_sources_and_the_toolchain(
    stage: BuildStage, public: Path, way: str
) -> None:
    found = unread(stage, public, READS[way])
    assert found.build is not None
    assert found.build.path == "stock"


@pytest.mark.parametrize("way", ["include", "climbing include", "embed", "incbin"])
def test_neither_do_the_passes_of_the_split_rung(stage: BuildStage, public: Path, way: str) -> None:
    found = unread(stage, public, "#include <torch/types.h>\n" + READS[way])
    assert found.build is not None
    assert str(found.build.fallback).startswith("host_pass: "), found.build


@nvcc
@pytest.mark.parametrize("way", ["include", "climbing include"])
def test_neither_does_nvcc(stage: BuildStage, public: Path, way: str) -> None:
    kernel = READS[way].format(path=public, climbing="../" * 30 + str(public)[1:])
    found = refused(stage, program(cuda_sources=f"{kernel}\n__global__ void k() {{}}"),
                    Reason.BUILD_FAILED)  # fmt: skip
    assert "secret_text" not in f"{found.message}{found.build}"


def test_flags_do_not_read_either(stage: BuildStage, public: Path) -> None:
    use = f"#include <{public.name}>\nint y = nonsense + secret_text_that_no_one_may_see;"
    given = (
        {"extra_cflags": ["-include", str(public)], "cpp": "int y = nonsense;"},
        {"extra_cflags": [f"-I{public.parent}"], "cpp": use},
        {"extra_include_paths": [str(public.parent)], "cpp": use},
        {"extra_cflags": [f"@{public}"], "cpp": "int y = nonsense;"},
        {"extra_ldflags": [str(public)], "cpp": "int y = nonsense;"},
    )
    for arguments in given:
        found = build(stage, program(**arguments))
        assert isinstance(found, Finding)
        assert "4711" not in f"{found.message}{found.build}"


@root
def test_a_compile_writes_its_scratch_only(stage: BuildStage, state_dir: Path) -> None:
    built(stage, program(cpp=PLAIN_MODULE % "#define ANSWER 5"))
    left = [p.name for p in (state_dir / "scratch").rglob("*")]
    assert [n for n in left if n != "lock"] == [p.name for p in (state_dir / "scratch").iterdir()]
    assert of_the_pool() == []


def test_an_endless_compile_ends_at_its_time_and_is_not_remembered(
    state_dir: Path,
) -> None:
    with BuildStage(settings(state_dir, build_timeout_s=2.0)) as stage:
        for _ in range(2):
            found = refused(stage, slow_program(), Reason.BUILD_TIMEOUT)
            assert found.build is not None
            assert not found.build.cached
            assert 1 < found.build.seconds < 10
    assert of_the_pool() == []


def test_memory_and_file_size_are_limited(state_dir: Path) -> None:
    big = "char x[64 << 20] = {1};\n"
    with BuildStage(settings(state_dir, build_output_bytes=8 << 20)) as stage:
        found = refused(stage, program(cpp=big), Reason.BUILD_LIMIT)
        assert "too large" in found.message
    hungry = '#include <regex>\n#include <iostream>\nstd::regex r("a");\nint x = std::cout.good();'
    with BuildStage(settings(state_dir, build_memory_bytes=40 << 20)) as stage:
        found = refused(stage, program(cpp=hungry), Reason.BUILD_LIMIT)
        assert "memory" in found.message


def test_a_flood_of_messages_is_cut(stage: BuildStage) -> None:
    cpp = "".join(f"#warning flood {n}\n" for n in range(3_000)) + "int x = nonsense;\n"
    found = refused(stage, program(cpp=cpp), Reason.BUILD_FAILED)
    assert found.build is not None
    assert len(found.build.log_tail) <= MAX_LOG_CHARS
    assert "nonsense" in found.message


def test_a_source_that_includes_itself_ends_soon(stage: BuildStage) -> None:
    begun = time.monotonic()
    refused(stage, program(cpp='#include "main.cpp"\n'), Reason.BUILD_FAILED)
    assert time.monotonic() - begun < 20


# --- our side --------------------------------------------------------------------------------


@root
def test_cancelling_ends_the_compilers(stage: BuildStage) -> None:
    with pytest.raises(CancelledError):
        build(stage, slow_program(), cancelled=lambda: bool(of_the_pool()))
    assert of_the_pool() == []


def test_the_clients_deadline_ends_the_build(stage: BuildStage) -> None:
    begun = time.monotonic()
    with pytest.raises(QueueDeadlineError):
        build(stage, slow_program(), seconds=2.0)
    assert time.monotonic() - begun < 15


@root
def test_what_a_compiler_leaves_running_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(
        "#!/bin/sh\nsetsid sh -c 'sleep 300 & sleep 300' >/dev/null 2>&1 </dev/null &\n"
        'exec /usr/bin/c++ "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with BuildStage(settings(tmp_path / "state"), split=False) as stage:
        built(stage, program(cpp=PLAIN_MODULE % "#define ANSWER 9"))
        assert of_the_pool() == []


@root
def test_what_a_compiler_leaves_in_place_of_its_output_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(
        '#!/bin/sh\nfor last; do :; done\n[ "$1" = --version ] || ln -s /etc/shadow "$last"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with BuildStage(settings(tmp_path / "state"), split=False) as stage:
        found = refused(stage, program(cpp="int x;"), Reason.BUILD_FAILED)
        assert "left no main.o" in found.message


def test_a_missing_compiler_is_a_prerequisite_with_its_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with (
        BuildStage(settings(tmp_path / "state")) as stage,
        pytest.raises(PrerequisiteError, match=r"no C\+\+ compiler.*apt-get install"),
    ):
        build(stage, program(cpp="int x;"))


def test_less_isolation_than_asked_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = dict.fromkeys(isolation.LAYERS, True) | {"network": False}
    found = isolation.Isolation("reduced", layers, ("network: refused",))
    monkeypatch.setattr("reward_service.sandbox.box.self_test", lambda _: found)
    strict = settings(tmp_path).model_copy(update={"min_isolation": "standard"})
    with pytest.raises(PrerequisiteError, match="network"), BuildStage(strict):
        pass
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_compiler_that_is_killed_from_outside_says_nothing_of_the_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] || kill -KILL $$\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with (
        BuildStage(settings(tmp_path / "state")) as stage,
        pytest.raises(InfrastructureError, match="killed a compiler"),
    ):
        build(stage, program(cpp="int x;"))
