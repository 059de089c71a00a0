"""Errors of the pass over C++ candidates: whose they are."""

from __future__ import annotations

import pytest

from reward_service.build.blame import Fall, Final
from reward_service.build.blame_cpp import judge

SOURCE = """#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) {
  int n = x.size(0)
  auto layer = torch::nn::Linear(4, 4);
  return scale(x, layer);
}
void g() { undefined_name(3); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { py::class_<int>(m, "N"); }
"""
LACKING = {"Linear", "nn", "regex"}


def error(line: int, text: str, file: str = "main.cpp") -> str:
    return f"{file}:{line}:3: error: {text}\n   {line} | some text\n      | ^\n"


def told(log: str) -> Final | Fall:
    return judge(log, {"main.cpp": SOURCE}, LACKING)


@pytest.mark.parametrize(
    "log",
    [
        error(3, "expected ',' or ';' before 'auto'"),
        error(7, "'undefined_name' was not declared in this scope; did you mean 'undefined'?"),
        error(3, "expected ';'") + "main.cpp:4:1: warning: unused variable 'layer'\n",
    ],
)
def test_an_error_at_nothing_that_is_lacking_is_the_candidates(log: str) -> None:
    assert told(log) == Final(log.splitlines()[0])


@pytest.mark.parametrize(
    "log",
    [
        error(4, "'torch::nn' has not been declared"),
        error(8, "'class_' is not a member of 'py'"),
        error(7, "'regex' is not a member of 'std'"),
        error(12, "redefinition of something in a header", "/torch/include/x.h"),
        error(99, "a line that the source does not have"),
        error(3, "expected ';'") + error(4, "'torch::nn' has not been declared"),
        "cc1plus: error: prefix.h.gch: not used because `_OPENMP' is defined\n",
        "",
    ],
)
def test_an_error_that_what_is_lacking_may_cause_is_for_the_stock_rung(log: str) -> None:
    assert isinstance(told(log), Fall)


def test_a_directory_before_the_name_is_not_told() -> None:
    assert told(error(3, "expected ';'", "host/main.cpp")) == Final(
        "main.cpp:3:3: error: expected ';'"
    )


def test_a_source_that_includes_another_is_for_the_stock_rung() -> None:
    log = "main.cpp:1:10: fatal error: main.cpp: No such file or directory\n"
    assert isinstance(told(log), Fall)
