"""What a candidate is told about a command that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from reward_service.build import diagnose
from reward_service.sandbox.run import Completed
from reward_service.schemas import MAX_LOG_CHARS, Reason


def ended(text: str, code: int = 1, timed_out: bool = False, limit: str | None = None) -> Completed:
    return Completed(code, text, 1.0, timed_out, limit)  # type: ignore[arg-type]


def test_the_candidates_own_lines_come_first() -> None:
    log = (
        "In file included from main.cpp:1:\n"
        "/torch/include/x.h:3:1: error: something in a header\n"
        "main.cpp:7:5: warning: unused\n"
        "main.cpp:9:5: error: expected ';'\n"
        'cuda.cu(12): error: identifier "x" is undefined\n'
    )
    own = {"main.cpp": 1, "cuda.cu": 3}
    told = diagnose.first_errors(ended(diagnose.own_lines(log, own)), own)
    assert told.splitlines() == [
        "main.cpp:8:5: error: expected ';'",
        'cuda.cu(9): error: identifier "x" is undefined',
    ]


def test_without_such_lines_any_error_is_told_and_else_the_end() -> None:
    undefined = "ld: main.o: undefined reference to `f'"
    assert diagnose.first_errors(ended(undefined), {"main.cpp": 0}) == undefined
    assert diagnose.first_errors(ended("a\nb\nc\n"), {}) == "a\nb\nc"
    assert "status 3" in diagnose.first_errors(ended("", 3), {"main.cpp": 0})


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        (ended("", -9, timed_out=True), Reason.BUILD_TIMEOUT),
        (ended("", -24, limit="cpu"), Reason.BUILD_TIMEOUT),
        (
            ended("g++: fatal error: CPU time limit exceeded signal terminated program cc1plus"),
            Reason.BUILD_TIMEOUT,
        ),
        (ended("nvcc error   : 'cicc' died due to signal 24"), Reason.BUILD_TIMEOUT),
        (ended("", -9, limit="memory"), Reason.BUILD_LIMIT),
        (
            ended("g++: fatal error: Killed signal terminated program cc1plus"),
            Reason.BUILD_LIMIT,
        ),
        (ended("nvcc error   : 'cudafe++' died due to signal 9 (Kill signal)"), Reason.BUILD_LIMIT),
        (ended("cc1plus: out of memory allocating 65536 bytes"), Reason.BUILD_LIMIT),
        (ended("", -25, limit="file_size"), Reason.BUILD_LIMIT),
        (ended("/usr/bin/ld: final link failed: File too large"), Reason.BUILD_LIMIT),
        (ended("main.cpp:1:2: error: #error Killed out of memory"), Reason.BUILD_FAILED),
        (ended("", -11), Reason.BUILD_FAILED),
    ],
)
def test_each_way_of_failing_has_its_reason(done: Completed, reason: Reason) -> None:
    assert diagnose.failure(done, {"main.cpp": 0}, 10.0).reason is reason


def test_folders_are_taken_off_the_paths() -> None:
    log = "/s/1/sources/main.cpp:1: error\n/s/1/out/x.o\n/s/1/sources"
    assert diagnose.readable(log, ["/s/1/out", "/s/1/sources"]) == "main.cpp:1: error\nx.o\n."


def test_a_log_tail_is_bounded_and_starts_with_a_line() -> None:
    log = "".join(f"line {n}\n" for n in range(10_000))
    tail = diagnose.log_tail(log)
    assert len(tail) <= MAX_LOG_CHARS
    assert tail.startswith("line ")
    assert tail.endswith("line 9999\n")
    assert len(diagnose.log_tail("x" * 100_000)) == MAX_LOG_CHARS
    assert diagnose.log_tail("short") == "short"


def test_a_header_that_the_toolchain_lacks_is_not_the_candidates_fault(tmp_path: Path) -> None:
    asking = tmp_path / "ATen" / "CUDAContext.h"
    asking.parent.mkdir()
    asking.write_text("#include <cusparse.h>\n")
    line = "{}:6:10: fatal error: {}: No such file or directory"

    def lacking(file: object, header: str) -> object:
        return diagnose.missing_header(ended(line.format(file, header)), [str(tmp_path)])

    assert lacking(asking, "cusparse.h") == ("cusparse.h", "CUDAContext.h")
    # A candidate may pretend to be a header, with #line; it cannot make the header ask for it.
    assert lacking(asking, "mine.h") is None
    assert lacking("/elsewhere/x.h", "cusparse.h") is None
    assert lacking("main.cpp", "cusparse.h") is None
    (tmp_path / "cusparse.h").write_text("")
    assert lacking(asking, "cusparse.h") is None
