"""Completions and infills over HTTP: what becomes of them, and what their verdicts say."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import httpx
import pytest
from service_harness import PROBLEM, Fleet, post


def program(name: str, **actions: Any) -> str:
    """A program whose stages act as told."""
    told = json.dumps({"name": name, **actions})
    return f'src = """\nint x;\n"""\n\n\nclass ModelNew:\n    """{name}"""\n\n\n# actions: {told}\n'


def body(**candidate: Any) -> dict[str, Any]:
    return {"problem": {"source": PROBLEM}, "candidate": candidate}


def infill(text: str, hole: str = "int x;", middle: str | None = None) -> dict[str, Any]:
    """The text with its hole filled by the middle."""
    prefix, _, suffix = text.partition(hole)
    middle = hole if middle is None else middle
    return body(format="infill", prefix=prefix, middle=middle, suffix=suffix)


def checks(verdict: dict[str, Any]) -> dict[str, Any]:
    return {check["name"]: check for check in verdict["checks"]}


def test_a_completion_and_its_program_are_one_evaluation(
    client: httpx.Client, fleet: Fleet
) -> None:
    plain = post(client, body(source=program("same"))).json()
    text = f"<think>hm</think>\r\nSo:\r\n```python\n{program('same')}```\nDone.<|im_end|>"
    found = post(client, body(text=text)).json()
    assert (found["id"], found["outcome"]) == (plain["id"], "correct")
    assert fleet.runs("build", plain["id"]) == 1


@pytest.mark.parametrize("text", ["", "I cannot do that.", "```python\nimport torch\n```"])
def test_a_completion_without_a_program_is_a_scored_failure(
    client: httpx.Client, fleet: Fleet, text: str
) -> None:
    answer = post(client, body(text=text))
    assert answer.status_code == 200
    got = answer.json()
    assert (got["outcome"], got["reason"]) == ("compile_error", "BUILD_FAILED")
    assert (got["reward"], got["retryable"], got["compiled"]) == (0.0, False, False)
    assert "no program" in got["message"]
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert got["provenance"]["candidate_hash"] == digest
    assert fleet.runs("build", got["id"]) == 0, "there is nothing to build"


@pytest.mark.parametrize(
    ("actions", "outcome"),
    [
        ({}, "correct"),
        ({"build": [["fail", "BUILD_FAILED"]]}, "compile_error"),
        ({"judge": [["fail", "MISMATCH"]]}, "incorrect"),
    ],
)
def test_an_infill_s_verdict_says_what_stood_around_it(
    client: httpx.Client, actions: dict[str, Any], outcome: str
) -> None:
    sent = infill(program(f"infill {outcome}", **actions))
    got = post(client, sent).json()
    assert got["outcome"] == outcome
    parts = {part: sent["candidate"][part].encode() for part in ("prefix", "suffix")}
    assert checks(got)["scaffold"] == {
        "name": "scaffold",
        "passed": True,
        "evidence": {
            "prefix_sha256": hashlib.sha256(parts["prefix"]).hexdigest(),
            "suffix_sha256": hashlib.sha256(parts["suffix"]).hexdigest(),
            "middle_chars": 6,
            "contained": True,
        },
    }


def test_an_infill_that_stops_after_the_build_has_the_check(client: httpx.Client) -> None:
    sent = {**infill(program("infill stops")), "policy": {"stop_after": "build"}}
    got = post(client, sent).json()
    assert got["outcome"] == "built"
    assert checks(got)["scaffold"]["passed"] is True


def test_an_infill_that_breaks_out_is_rejected(client: httpx.Client, fleet: Fleet) -> None:
    got = post(client, infill(program("out"), middle='"""\nevil()\nx = """')).json()
    assert (got["outcome"], got["reason"], got["reward"]) == ("rejected", "FORBIDDEN", 0.0)
    assert "leaves its place" in got["message"]
    assert checks(got)["scaffold"]["evidence"]["contained"] is False
    assert fleet.runs("build", got["id"]) == 0


def test_an_infill_that_is_no_python_is_built_like_any_other(client: httpx.Client) -> None:
    got = post(client, infill(program("no python"), middle='"""')).json()
    assert checks(got)["scaffold"]["evidence"]["contained"] is None


SPLIT = {"format": "infill", "prefix": "a", "middle": "b", "suffix": "c"}


@pytest.mark.parametrize(
    ("candidate", "at"),
    [
        ({}, "source"),
        ({"source": "a", "text": "b"}, "text"),
        ({"source": "a", "middle": "b"}, "middle"),
        ({"text": "a", "prefix": ""}, "prefix"),
        ({"text": None}, "source"),
        ({"text": 7}, "text"),
        ({"format": "infill", "source": "a"}, "source"),
        ({"format": "infill", "text": "a"}, "text"),
        ({"prefix": "a", "middle": "b", "suffix": "c"}, "middle"),
        ({**SPLIT, "source": "a"}, "source"),
        ({**SPLIT, "text": "a"}, "text"),
        ({**SPLIT, "middle": None}, "middle"),
        ({**SPLIT, "suffix": None}, "suffix"),
        ({**SPLIT, "prefix": ["a"]}, "prefix"),
        ({**SPLIT, "prefix": "", "suffix": ""}, "prefix"),
        ({**SPLIT, "hole": "b"}, "hole"),
    ],
)
def test_a_candidate_of_no_form_is_422_and_its_field_named(
    client: httpx.Client, candidate: dict[str, Any], at: str
) -> None:
    answer = post(client, body(**candidate))
    assert answer.status_code == 422, answer.text
    assert f"candidate.{at}" in [error["field"] for error in answer.json()["errors"]]


def test_an_infill_with_one_empty_side_is_taken(client: httpx.Client) -> None:
    text = program("one side")
    for candidate in (
        {**SPLIT, "prefix": "", "middle": "\n", "suffix": text},
        {**SPLIT, "prefix": text, "middle": "\n", "suffix": ""},
        {**SPLIT, "prefix": text, "middle": "", "suffix": "\n"},
    ):
        assert post(client, body(**candidate)).json()["outcome"] == "correct"
