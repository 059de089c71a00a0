"""Finding problems by name, in the suite and in directories of KernelBench's layout."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from reward_service import schemas
from reward_service.cli.problems import problems as command
from reward_service.errors import RequestError
from reward_service.problems.library import ProblemLibrary

SOURCE = """\
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * x

def get_inputs():
    return [torch.rand(4)]

def get_init_inputs():
    return []
"""


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A directory in KernelBench's layout, with things in it that are no problems."""
    files = {
        "level1/1_Square_matrix_multiplication_.py": SOURCE,
        "level1/2_Softmax.py": SOURCE,
        "level1/10_ReLU.py": '"""Rectifies. More."""\n' + SOURCE,
        "level2/1_Gemm_ReLU.py": SOURCE,
        "level1/__init__.py": "",
        "level1/notes.txt": "not a problem",
        "level1/a b.py": SOURCE,
        "levels/1_Other.py": SOURCE,
        "README.md": "# hello",
        "setup.py": "raise SystemExit",
    }
    for name, text in files.items():
        path = tmp_path / "bench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "bench/level1/3_Binary.py").write_bytes(b"x = '\xff\xfe'")
    (tmp_path / "bench/level1/4_Directory.py").mkdir()
    (tmp_path / "bench/level1/5_Dangling.py").symlink_to("nowhere.py")
    (tmp_path / "bench/level3").write_text("a file in a level's place")
    return tmp_path / "bench"


def names(library: ProblemLibrary) -> list[str]:
    return [info.name for info in library.list()]


def resolve(library: ProblemLibrary, name: str) -> schemas.ProblemInfo:
    return library.resolve(schemas.Problem(name=name)).info


def test_a_kernelbench_directory_is_listed_beside_the_suite_and_junk_is_passed_over(
    bench: Path,
) -> None:
    own = names(ProblemLibrary())
    library = ProblemLibrary([bench])
    added = set(names(library)) - set(own)
    assert added == {
        "level1/1_Square_matrix_multiplication_",
        "level1/2_Softmax",
        "level1/10_ReLU",
        "level2/1_Gemm_ReLU",
    }
    assert names(library) == sorted([*own, *added])
    skipped = {path.name: why for path, why in library.skipped().items()}
    assert set(skipped) == {"3_Binary.py", "a b.py"}
    assert skipped["3_Binary.py"] == "not UTF-8 at byte 5"


def test_a_directory_that_is_not_there_is_said_and_breaks_nothing(tmp_path: Path) -> None:
    library = ProblemLibrary([tmp_path / "nowhere"])
    assert names(library) == names(ProblemLibrary())
    assert library.skipped() == {tmp_path / "nowhere": "No such file or directory"}


def test_a_problem_is_found_by_full_name_and_by_number(bench: Path) -> None:
    library = ProblemLibrary([bench])
    full = library.resolve(schemas.Problem(name="level1/1_Square_matrix_multiplication_"))
    assert library.resolve(schemas.Problem(name="level1/1")) == full
    assert full.source == SOURCE
    assert full.hash == hashlib.sha256(SOURCE.encode()).hexdigest()
    assert (full.level, full.title) == (1, "Square matrix multiplication")
    assert resolve(library, "level2/1").name == "level2/1_Gemm_ReLU"
    assert resolve(library, "level1/10").title == "Rectifies. More."


def test_a_number_that_two_problems_bear_is_refused_with_both(bench: Path) -> None:
    (bench / "level1/1_Again.py").write_text(SOURCE)
    with pytest.raises(RequestError, match="level1/1_Again or level1/1_Square"):
        resolve(ProblemLibrary([bench]), "level1/1")


def test_an_earlier_directory_wins_a_name(bench: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "level1"
    other.mkdir(parents=True)
    (other / "2_Softmax.py").write_text(SOURCE + "# other\n")
    library = ProblemLibrary([bench, tmp_path / "other"])
    assert library.resolve(schemas.Problem(name="level1/2")).source == SOURCE
    assert "comes first" in library.skipped()[other / "2_Softmax.py"]


@pytest.mark.parametrize("source", [SOURCE, "def f(:", "x = '\0'", "\ud800"])
def test_an_inline_problem_is_taken_as_it_is_and_not_parsed(source: str) -> None:
    problem = ProblemLibrary().resolve(schemas.Problem.model_construct(source=source))
    assert (problem.name, problem.level, problem.title) == (None, 0, "inline")
    assert (problem.source, problem.warnings, len(problem.hash)) == (source, (), 64)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("level1/2_softmax", "did you mean level1/2_Softmax"),
        ("Q/77", "/problems lists"),
        ("level1/7", "level1/"),
        ("level1/../level1/2_Softmax", "did you mean level1/2_Softmax"),
        ("zzzz", "/problems lists"),
    ],
)
def test_an_unknown_name_is_answered_with_the_closest(bench: Path, name: str, hint: str) -> None:
    with pytest.raises(RequestError) as error:
        resolve(ProblemLibrary([bench]), name)
    assert (error.value.status, error.value.field) == (422, "problem.name")
    assert hint in error.value.detail


def test_an_unreadable_problem_is_answered_with_the_reason(bench: Path) -> None:
    with pytest.raises(RequestError, match="not UTF-8") as error:
        resolve(ProblemLibrary([bench]), "level1/3_Binary")
    assert error.value.status == 422


def test_an_oversized_file_is_skipped(bench: Path) -> None:
    big = bench / "level1/6_Big.py"
    big.write_text("#" * (schemas.MAX_SOURCE_CHARS + 1))
    assert "larger than" in ProblemLibrary([bench]).skipped()[big]


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(bench: Path) -> None:
    library = ProblemLibrary([bench])
    path = bench / "level1/2_Softmax.py"
    before = library.resolve(schemas.Problem(name="level1/2"))
    assert library.resolve(schemas.Problem(name="level1/2")) is before
    path.write_text(SOURCE + "# longer\n")
    os.utime(path, ns=(1, 1))
    assert library.resolve(schemas.Problem(name="level1/2")).source.endswith("# longer\n")


@pytest.mark.parametrize(
    ("source", "warning"),
    [
        ("class Model: ...\n", "it defines no get_inputs, get_init_inputs"),
        (SOURCE.replace("class Model", "class Net"), "it defines no Model"),
        ("from other import Model, get_inputs\nget_init_inputs = list\n", ""),
        ("def f(:\n", "it does not parse: .+"),
        ("x = " + "(" * 5000 + ")" * 5000, "it does not parse: .+"),
        ("x = " + "-" * 100_000 + "1", "it does not parse: .+"),
        ("x = a" + ".b" * 100_000, "it does not parse: .+"),
        ("x = '\0'", "it does not parse: .+"),
        (r"x = '\d'" + "\n" + SOURCE, ""),
    ],
)
def test_what_is_missing_is_said_early_and_only_as_a_warning(
    bench: Path, source: str, warning: str
) -> None:
    (bench / "level1/8_It.py").write_text(source)
    problem = ProblemLibrary([bench]).resolve(schemas.Problem(name="level1/8"))
    assert re.fullmatch(warning, "".join(problem.warnings))
    assert ("(warning: " in problem.info.title) == bool(warning)


def test_a_problem_is_read_and_never_run(bench: Path) -> None:
    (bench / "level1/7_Runs.py").write_text("raise SystemExit\n" + SOURCE)
    assert resolve(ProblemLibrary([bench]), "level1/7").name == "level1/7_Runs"


@pytest.fixture
def app(bench: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.setenv("REWARD_SERVICE_PROBLEM_DIRS", json.dumps([str(bench)]))
    app = typer.Typer()
    app.command()(command)
    return app


def test_the_command_lists_problems(app: typer.Typer) -> None:
    plain = CliRunner().invoke(app, [])
    assert plain.exit_code == 0
    assert "level1/2_Softmax" in plain.stdout
    assert "not UTF-8" in plain.stderr
    listed = json.loads(CliRunner().invoke(app, ["--json"]).stdout)
    assert "level1/10_ReLU" in [info["name"] for info in listed]


def test_the_command_shows_one_problem(app: typer.Typer) -> None:
    assert CliRunner().invoke(app, ["level1/2"]).stdout == SOURCE
    shown = json.loads(CliRunner().invoke(app, ["level1/2", "--json"]).stdout)
    assert (shown["name"], shown["source"]) == ("level1/2_Softmax", SOURCE)


def test_the_command_refuses_an_unknown_name_as_bad_usage(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["level1/2_softmax"])
    assert (result.exit_code, result.stdout) == (3, "")
    assert "did you mean level1/2_Softmax" in result.stderr
