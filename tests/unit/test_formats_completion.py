"""Finding the program in what a model said."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from textwrap import indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_service.formats.completion import MAX_CLOSERS, MAX_FENCES, find_program

PROGRAM = "import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        x\n"
OTHER = PROGRAM.replace("        x\n", "        y\n")
BROKEN = PROGRAM + "    def (\n"
HELPER = "import torch\n\nclass Helper:\n    pass\n"


def fenced(program: str, fence: str = "```", info: str = "python") -> str:
    return f"{fence}{info}\n{program}{fence}\n"


@pytest.mark.parametrize(
    "text",
    [
        PROGRAM,
        fenced(PROGRAM),
        fenced(PROGRAM, info=""),
        fenced(PROGRAM, info=' Python title="a.py" {.x}'),
        fenced(PROGRAM, "~~~~~", "py `x`"),
        fenced(PROGRAM, "``````"),
        f"```python\n{PROGRAM}`````\n",
        f"```python\n{PROGRAM}``` \t\nbye",
        f"```python\n{PROGRAM}```",
        f"```python\n{PROGRAM}",
        f"```python\n{PROGRAM}<|im_end|>",
        f"```python\n{PROGRAM}```<|im_end|>\n<|endoftext|>```python\n{OTHER}```",
        f"{PROGRAM}<|eot_id|>garbage",
        "\ufeff" + PROGRAM,
        "\ufeff" + fenced(PROGRAM),
        PROGRAM.replace("\n", "\r\n"),
        fenced(PROGRAM).replace("\n", "\r\n"),
        fenced(PROGRAM).replace("\n", "\r"),
        "Sure!\n\n" + fenced(PROGRAM) + "\nThis is fast, see `ModelNew`.\n",
        fenced("pip install torch\n", info="bash") + fenced(PROGRAM),
        fenced(PROGRAM) + fenced("pip install torch\n", info="bash"),
        fenced(OTHER) + "Better:\n" + fenced(PROGRAM),
        fenced(BROKEN) + "Better:\n" + fenced(PROGRAM),
        fenced(PROGRAM) + "Used as\n" + fenced("model = ModelNew()\n"),
        fenced(PROGRAM) + fenced(HELPER),
        "1. So:\n\n" + indent(fenced(PROGRAM), "   ") + "\n2. Done.\n",
        "1. So:\n\n" + indent(fenced(PROGRAM), "\t"),
        "- So:\n\n  ```python\n" + indent(PROGRAM, "    ") + "```\n",
        f"  ```python\n{PROGRAM}  ```\n",
        f"<think>\n{fenced(OTHER)}</think>\n{fenced(PROGRAM)}",
        f"\n <think>hm</think>{PROGRAM}",
        f"hm {fenced(OTHER)}</think>\n{fenced(PROGRAM)}",
        f"```python\nimport torch\n```python\n{PROGRAM}```\n",
        f"```\n```\nStray.\n\n```python\n{PROGRAM}```\n",
        f"~~~~~~~~~\nA title\n\n```python\n{PROGRAM}```\n",
    ],
)
def test_the_program_is_found(text: str) -> None:
    found = find_program(text)
    assert found is not None
    assert found.strip() == PROGRAM.strip()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n \n",
        "I cannot do that.",
        "One would define ModelNew, a class.",
        "```python\n",
        "```",
        fenced(HELPER),
        fenced("model = ModelNew()\n"),
        fenced("# class ModelNew\n"),
        fenced('"""\nclass ModelNew:\n"""\n'),
        f"<think>\n{fenced(PROGRAM)}",
        f"<think>\n{fenced(PROGRAM)}</think>\nI give up.",
        f"hm\n{fenced(PROGRAM)}</think>",
        f"<|im_end|>{fenced(PROGRAM)}",
        "class NotModelNew:\n    pass\n",
        "class ModelNewer:\n    pass\n",
        "def make():\n    class ModelNew:\n        pass\n",
    ],
)
def test_there_is_none(text: str) -> None:
    assert find_program(text) is None


@pytest.mark.parametrize(
    "program",
    [
        "ModelNew = make()\n",
        "ModelNew, b = make()\n",
        "ModelNew: type = make()\n",
        "from torch.nn import ReLU as ModelNew\n",
        "def ModelNew():\n    pass\n",
        "if True:\n    class ModelNew:\n        pass\n",
        "try:\n    import a\nexcept ImportError:\n    ModelNew = None\n",
        "match 1:\n    case 1:\n        ModelNew = None\n",
    ],
)
def test_whatever_binds_the_name_defines_it(program: str) -> None:
    assert find_program("So:\n" + fenced(program)) == program


def test_a_broken_last_answer_is_the_answer() -> None:
    assert find_program(fenced(PROGRAM) + fenced(BROKEN)) == BROKEN


def test_a_text_without_fences_is_taken_whole() -> None:
    text = f"Here it is:\n{PROGRAM}"
    assert find_program(text) == text, "and will not build: nobody can tell where it begins"


def test_text_in_a_string_further_out_keeps_its_place() -> None:
    program = 'cuda = """\nint x;\n"""\n' + PROGRAM
    moved = "".join(
        line if line.startswith(("int", '"')) else f"  {line}" for line in program.splitlines(True)
    )
    assert find_program("  ```\n" + moved + "  ```\n") == program


def test_a_fence_in_a_string_does_not_end_a_program_that_is_cut_off() -> None:
    program = 'doc = """\n```\n"""\n' + PROGRAM
    assert find_program("```python\n" + program) == program


LINES = st.sampled_from(["```", "~~~", "    ```", "```python", "int x;", "`````", "", "\tclass A:"])
STRINGS = st.lists(LINES, max_size=MAX_CLOSERS - 1).map(lambda lines: "\n".join(lines))
PROGRAMS = st.builds(
    lambda before, after: f'a = """\n{before}\n"""\n{PROGRAM}        """{after}\n"""\n',
    STRINGS,
    st.sampled_from(["", "x", "\n```"]),
)
WORDS = st.text(st.characters(exclude_characters="`~<>\r\ufeff", codec="utf-8"), max_size=40)
FENCES = st.builds(lambda mark, length: mark * length, st.sampled_from("`~"), st.integers(3, 8))


@settings(max_examples=200, deadline=None)
@given(WORDS, FENCES, st.sampled_from(["", "python", " py x=1"]), PROGRAMS, WORDS)
def test_what_is_fenced_comes_out_as_it_went_in(
    before: str, fence: str, info: str, program: str, after: str
) -> None:
    text = f"{before}\n{fence}{info}\n{program}{fence}\n{after}"
    assert find_program(text) == program
    assert find_program(text.replace("\n", "\r\n")) == program


@settings(max_examples=200, deadline=None)
@given(PROGRAMS)
def test_a_program_is_its_own_completion(program: str) -> None:
    assert find_program(program) == program


PIECES = st.sampled_from(
    [
        "```",
        "~~~~",
        "python",
        "\n",
        "\r\n",
        "class\tModelNew:",
        "\n..x\n",
        '"""',
        "'",
        "<think>",
        "</think>",
        "<|im_end|>",
        "\\",
        "(",
        "\t",
        "\nModelNew=1\n",
        "\x00",
        "\u2028",
        "é",
    ]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_what_is_found_is_part_of_the_text_and_has_the_name(text: str) -> None:
    found = find_program(text)
    if found is not None:
        assert "ModelNew" in found
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        assert [line for line in found.split("\n") if line not in plain] == []


SIZE = 1 << 20
HOSTILE = {
    "backticks": "`" * SIZE,
    "bare fences": "```\n" * (SIZE // 4),
    "openers": "```python\n" * (SIZE // 10),
    "open strings": "```python\nclass ModelNew:\n  '''\n```\n" * (SIZE // 36),
    "longer and longer": "".join("`" * n + "\n" for n in range(3, 1400)),
    "shorter and shorter": "".join("`" * n + "x\n" for n in range(1400, 3, -1)),
    "blanks": " " * SIZE,
    "indented": "```\n" + "\t" * SIZE + "x\n```",
    "reasoning": "<think>" * (SIZE // 7),
    "ends": "</s>" * (SIZE // 4),
    "brackets": "```\nModelNew" + "(" * SIZE,
    "classes": "class ModelNew(" * (SIZE // 15),
    "calls": "```\nModelNew\n" + "f(a)\n" * (SIZE // 5),
    "blocks of calls": ("```\nModelNew\n" + "f(a)\n" * 13_000 + "'''\n```\n") * (SIZE // 65_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_no_more_than_its_length_explains(name: str) -> None:
    started = time.process_time()
    find_program(HOSTILE[name])
    assert time.process_time() - started < 5.0, "a quadratic search takes minutes"


def test_of_too_many_fences_the_last_count() -> None:
    assert find_program("```\n" * (2 * MAX_FENCES) + fenced(PROGRAM)) == PROGRAM


def test_a_stray_backslash_is_nobody_s_warning_in_any_thread() -> None:
    programs = [f'a = "\\d{n}"\n{PROGRAM}' for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(find_program, map(fenced, programs))) == programs
