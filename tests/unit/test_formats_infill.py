"""Whether what fills a hole stays in it."""

from __future__ import annotations

import ast
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from reward_service.build.program_stage import build_program
from reward_service.digest import sha256
from reward_service.findings import Built, Context, Finding
from reward_service.formats.infill import Infill, contained
from reward_service.formats.program import program_of
from reward_service.formats.syntax import parse
from reward_service.schemas import (
    MAX_SOURCE_CHARS,
    BuildReport,
    Candidate,
    Check,
    Outcome,
    Reason,
    Submission,
)

STRING = ('src = """\n#include <x>\n', '\n"""\nmod = load(src)\n')
BODY = (
    "class ModelNew:\n    def forward(self, x):\n        y = x\n",
    "        return y\n\nused = 1\n",
)
LAST = ("class ModelNew:\n    def forward(self, x):\n        ", "\n")
EXPRESSION = ("x = f(1, ", ") + rest\nuse(x)\n")
LEVEL = ("def f():\n    a()\n", "\ndef g():\n    b()\n")


@pytest.mark.parametrize(
    ("scaffold", "middle"),
    [
        (STRING, "int x;"),
        (STRING, "// \"quoted\", 'c', # and ( and {"),
        (STRING, 'printf("\\n");\n'),
        (STRING, "hole_ hole__"),
        (STRING, '""" """'),
        (("s = 'a", "b'\n"), "c"),
        (("s = b'a", "b'\n"), "c"),
        (("s = r'''", "'''\n"), "\\d"),
        (("s = f'''{a} ", " {b}'''\n"), "text"),
        (("s = f'{a", "}'\n"), " + 1"),
        (("s = ('a'\n 'b", "'\n 'c')\n"), "x"),
        (('def f():\n    """', '"""\n    a()\n'), "what it does"),
        (BODY, "        y = y + 1\n"),
        (BODY, "        if y:\n            y = g(\n1)\n\n        for i in y:\n            pass\n"),
        (BODY, "        # nothing\n"),
        (BODY, "\n"),
        (BODY, "        def inner():\n            return 1\n"),
        (BODY, "        y = '''\nevil()\n'''\n"),
        (BODY, "        ü = 'é' ; y = ü\n"),
        (LAST, "return x"),
        (LAST, "y = x\n        return y"),
        (LAST, "if x:\n            return x\n        return 1"),
        (EXPRESSION, "2"),
        (EXPRESSION, "2, g(3)"),
        (EXPRESSION, "2)\ny = f(3"),
        (LEVEL, "    b()\n    c()\n"),
        (LEVEL, "b()\n\ndef h():\n    return 1\n"),
        (("import x\n\n", ""), "class ModelNew:\n    def forward(self):\n        return 1\n"),
        (("class A:\n    def f(self):\n", ""), "        return 1\n"),
        (
            ("class A:\n    def f(self):\n        return 1\n", ""),
            "\n    def g(self):\n        a()\n",
        ),
        (("x = 1", "z = 2\n"), "\ny = 3\n"),
        (("def f():\n    x = 1", "return x\n"), "\n    y = 2\n    "),
        (("a()\n", "b()\n"), "x = 1 # c\n"),
        (("a()\r\n", "b()\r\n"), "x = 1\r\n"),
        (("try:\n    ", "\nexcept E:\n    b()\n"), "a()\n    c()"),
        (("match a:\n    case 1:\n        ", "\n    case 2:\n        b()\n"), "a()"),
        (("if a:\n    b()\nelse:\n", "c()\n"), "    d()\n"),
        (("if ", ":\n    b()\n"), "a > 1"),
        (("def f(", ", z):\n    b()\n"), "x, y"),
    ],
)
def test_what_stays_in_its_place_is_contained(scaffold: tuple[str, str], middle: str) -> None:
    assert contained(Infill(scaffold[0], middle, scaffold[1])) is True


@pytest.mark.parametrize(
    ("scaffold", "middle"),
    [
        (STRING, '"""\nevil()\nrest = """'),
        (STRING, '""" + evil() + """'),
        (STRING, '""" f"""{evil()}'),
        (STRING, '""", """'),
        (STRING, '"""; evil(); src = """'),
        (STRING, '"""\nif evil(): src = """'),
        (STRING, "a\\"),
        (('a = "', '" + key\n'), '" #'),
        (("s = b'a", "b'\n"), "' b'x' if evil() else b'"),
        (("s = f'''{a} ", " {b}'''\n"), "{evil()}"),
        (("s = f'{a", "}'\n"), " }' + evil() + f'{b"),
        (('def f():\n    """', '"""\n    a()\n'), '"""\n    evil()\n    """'),
        (BODY, "        return y\n\nevil()\n\ndef other(y):\n    if y:\n"),
        (BODY, "        return y\n\n    def other(self, y):\n"),
        (BODY, "evil()\nif y:\n    if y:\n"),
        (BODY, "        if y:\n            pass\n        #"),
        (BODY, "        if y:\n    "),
        (BODY, "        y = (y\n)\n        while 0:\n            "),
        (LAST, "return x\n\nevil()"),
        (LAST, "return x\n\n    evil = 1"),
        (LAST, "return x\n\nclass ModelNew:\n    pass"),
        (EXPRESSION, "2) #"),
        (EXPRESSION, "2)\nuse(x) #"),
        (LEVEL, "    b()\nevil()\n"),
        (LEVEL, "@evil\n"),
        (LEVEL, "    if 1:\n        b()\nelse_ = 1\n"),
        (("x = 1", " + rest\n"), " #"),
        (("a()\n", "b()\n"), "x = \\\n"),
        (("a()\n", "-b()\n"), "x = 1\\\n"),
        (("a()\n", "(b())\n"), "x = f\\\n"),
        (("a()\n", "[b]\n"), "x = f\\\n"),
        (("if a:\n    b()\n", "c()\n"), "else:\n    d()\n"),
        (("try:\n    ", "\nexcept E:\n    b()\n"), "a()\nexcept F:\n    c()"),
        (("def f(", "):\n    b()\n"), "x): evil()\ndef g("),
    ],
)
def test_what_leaves_its_place_is_not(scaffold: tuple[str, str], middle: str) -> None:
    infill = Infill(scaffold[0], middle, scaffold[1])
    ast.parse(infill.text)
    assert contained(infill) is False


@pytest.mark.parametrize(
    ("scaffold", "middle"),
    [
        (STRING, '"""'),
        (BODY, "        y = (\n"),
        (BODY, '        """\n'),
        (("def (", ")\n"), "x"),
        (("x = (", "\n"), "1)"),
        (("for i in a", "\n    b()\n"), ":\n    c()"),
    ],
)
def test_without_a_tree_on_both_sides_it_is_not_known(
    scaffold: tuple[str, str], middle: str
) -> None:
    assert contained(Infill(scaffold[0], middle, scaffold[1])) is None


QUOTES = st.sampled_from(['"""', "'''", '"', "'"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\\\"'\r\n\x00"), max_size=30)


@settings(max_examples=200, deadline=None)
@given(QUOTES, TEXTS, TEXTS.filter(bool), TEXTS)
def test_any_text_without_quotes_stays_in_a_string(
    quote: str, before: str, middle: str, after: str
) -> None:
    assert contained(Infill(f"s = {quote}{before}", middle, f"{after}{quote}\nf(s)\n"))


TOKENS = st.sampled_from(
    [
        " ",
        "\n    ",
        " = ",
        "if 1:",
        "def f():",
        *[
            '"""',
            '"',
            "'",
            "\\",
            "#",
            "\n",
            "x",
            "(",
            ")",
            "evil()",
            ";",
            "f",
            "{",
            "}",
            "else:",
            "return",
            "[",
            "]",
            ",",
            "é",
            "pass",
            "+",
            "@",
        ],
    ]
)
MIDDLES = st.lists(TOKENS, min_size=1, max_size=12).map("".join)


@settings(max_examples=1000, deadline=None)
@given(MIDDLES)
def test_around_a_contained_string_the_program_is_the_scaffold(middle: str) -> None:
    if contained(Infill(STRING[0], middle, STRING[1])):
        assign, use = parse(STRING[0] + middle + STRING[1]).body
        assert isinstance(assign, ast.Assign)
        assert isinstance(assign.value, ast.Constant)
        assert assign.value.value.startswith("\n#include <x>\n")
        assert assign.value.value.endswith("\n")
        assert ast.unparse(use) == "mod = load(src)"


@settings(max_examples=1000, deadline=None)
@given(MIDDLES.map(lambda middle: "        " + middle))
def test_around_a_contained_body_the_program_is_the_scaffold(middle: str) -> None:
    if contained(Infill(BODY[0], middle, BODY[1])):
        model, used = parse(BODY[0] + middle + BODY[1]).body
        assert ast.unparse(used) == "used = 1"
        assert isinstance(model, ast.ClassDef)
        (forward,) = model.body
        assert isinstance(forward, ast.FunctionDef)
        first, *_, last = forward.body
        assert (ast.unparse(first), ast.unparse(last)) == ("y = x", "return y")


PROGRAM = "".join(("import a\n", *BODY, 'src = """\nint x;\n"""\n', "if src:\n  use(src)\n  a()\n"))
LINES = PROGRAM.splitlines(keepends=True)
BLOCKS: list[list[ast.stmt]] = [
    node.body for node in ast.walk(ast.parse(PROGRAM)) if hasattr(node, "body")
]
RUNS = [block[i:j] for block in BLOCKS for j in range(len(block) + 1) for i in range(j)]


@pytest.mark.parametrize("run", RUNS)
def test_statements_that_are_put_back_are_contained(run: list[ast.stmt]) -> None:
    start, end = run[0].lineno - 1, run[-1].end_lineno
    parts = LINES[:start], LINES[start:end], LINES[end:]
    assert contained(Infill(*map("".join, parts)))


@given(st.data())
def test_any_part_of_a_string_that_is_put_back_is_contained(data: st.DataObject) -> None:
    literal = PROGRAM.index("\nint x;\n")
    start = data.draw(st.integers(literal, literal + 7))
    end = data.draw(st.integers(start + 1, literal + 8))
    assert contained(Infill(PROGRAM[:start], PROGRAM[start:end], PROGRAM[end:]))


@settings(max_examples=500, deadline=None)
@given(MIDDLES, MIDDLES, MIDDLES)
def test_any_three_parts_are_decided(prefix: str, middle: str, suffix: str) -> None:
    assert contained(Infill(prefix, middle, suffix)) in (True, False, None)


@pytest.mark.parametrize(
    "middle",
    [
        "-" * 500_000 + "1\n",
        "a" + ".a" * 100_000 + "\n",
        "a" + "+a" * 50_000 + "\n",
        "hole" + "_" * 500_000 + "\n",
        "a\n" * 20_000,
        's = """' + "a\n" * 200_000 + '"""\n',
        "(" * 500_000,
    ],
    ids=["signs", "dots", "sums", "name", "lines", "string", "brackets"],
)
@pytest.mark.parametrize("scaffold", [("a()\n", "b()\n"), ('s = """', '"""\n'), ('s = """', "")])
def test_hostile_middles_are_decided_in_time(scaffold: tuple[str, str], middle: str) -> None:
    for text in (middle, f'""" + {middle} + """'):
        started = time.process_time()
        contained(Infill(scaffold[0], text, scaffold[1]))
        assert time.process_time() - started < 10.0


def test_parts_that_are_too_long_together_are_refused_by_name() -> None:
    half = "#" * (MAX_SOURCE_CHARS // 2)
    Candidate(format="infill", prefix=half, middle="x", suffix=half[1:])
    with pytest.raises(ValidationError) as refused:
        Candidate(format="infill", prefix=half, middle="x", suffix=half)
    assert [error["loc"] for error in refused.value.errors()] == [("middle",)]


# --- in the build stage ----------------------------------------------------------------------


def submission(middle: str) -> Submission:
    candidate = {"format": "infill", "prefix": STRING[0], "middle": middle, "suffix": STRING[1]}
    return Submission.model_validate({"problem": {"source": "p"}, "candidate": candidate})


def build(middle: str, result: Built | Finding) -> tuple[Built | Finding, list[str]]:
    built: list[str] = []

    def stage(submission: Submission, problem: str, context: Context) -> Built | Finding:
        built.append(program_of(submission.candidate))
        return result

    made = build_program(stage, submission(middle), "p", Context("id", time.time() + 60))
    return made, built


def scaffold(made: Built | Finding) -> dict[str, Any]:
    (check,) = (check for check in made.checks if check.name == "scaffold")
    return {"passed": check.passed, **check.evidence}


KEPT = {"prefix_sha256": sha256(STRING[0]), "suffix_sha256": sha256(STRING[1])}


@pytest.mark.parametrize(
    "result",
    [
        Built(report=BuildReport(path="none")),
        Finding(Reason.BUILD_FAILED, "", checks=(Check(name="other", passed=False),)),
    ],
)
def test_every_build_of_an_infill_has_the_check(result: Built | Finding) -> None:
    made, built = build("int x;", result)
    assert built == [STRING[0] + "int x;" + STRING[1]]
    assert scaffold(made) == {**KEPT, "passed": True, "middle_chars": 6, "contained": True}
    assert all(check in made.checks for check in result.checks)


def test_what_breaks_out_is_rejected_and_not_built() -> None:
    made, built = build('""" + evil() + """', Built(report=BuildReport(path="none")))
    assert isinstance(made, Finding)
    assert (made.outcome, made.reason) == (Outcome.REJECTED, Reason.FORBIDDEN)
    assert scaffold(made) == {**KEPT, "passed": False, "middle_chars": 18, "contained": False}
    assert built == []


def test_what_does_not_parse_goes_on_to_the_build() -> None:
    made, built = build('"""', Finding(Reason.BUILD_FAILED, "it is not Python"))
    assert isinstance(made, Finding)
    assert made.reason is Reason.BUILD_FAILED
    assert scaffold(made)["contained"] is None
    assert len(built) == 1
