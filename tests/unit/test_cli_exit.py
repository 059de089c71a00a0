"""Exit statuses of the command line: what is wrong with the call is never taken for a verdict."""

import os
import subprocess
import sys

import pytest


def status(*arguments: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "reward_service.cli", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


CASES = {
    "unknown command": (["bogus"], {}, "bogus"),
    "unknown option": (["evaluate", "--frobnicate"], {}, "frobnicate"),
    "missing option": (["evaluate"], {}, "--problem"),
    "unknown device": (
        ["evaluate", "--problem", "level1/relu", "--candidate", __file__, "--device", "tpu"],
        {},
        "cpu",
    ),
    "unknown problem": (
        ["evaluate", "--problem", "level1/rely", "--candidate", __file__, "--device", "cpu"],
        {},
        "level1/relu",
    ),
    "a setting of the wrong type": (["doctor"], {"REWARD_SERVICE_PORT": "abc"}, "PORT"),
    "a list that is not JSON": (["problems"], {"REWARD_SERVICE_PROBLEM_DIRS": "/tmp"}, "JSON"),
    "a port out of range": (["up", "--port", "99999"], {}, "PORT"),
    "an address that is none": (["builder"], {"REDIS_URL": "localhost:6379"}, "redis://"),
    "tokens without a store": (["token", "list"], {"REDIS_URL": ""}, "REDIS_URL"),
    "a state directory that cannot be": (
        ["doctor"],
        {"REWARD_SERVICE_STATE_DIR": "/dev/null/x"},
        "REWARD_SERVICE_STATE_DIR",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_call_exits_with_3_and_says_what_helps(name):
    arguments, environment, word = CASES[name]
    code, text = status(*arguments, **environment)
    assert code == 3, text
    assert word in text
    assert "Traceback" not in text


def test_help_is_no_error():
    assert status("--help")[0] == 0


@pytest.mark.parametrize("name", ["said.md", "said.TXT"])
def test_a_completion_without_a_program_is_a_scored_failure(tmp_path, name):
    said = tmp_path / name
    said.write_text("I cannot do that.")
    code, text = status(
        *["evaluate", "--problem", "level1/relu", "--candidate", str(said), "--device", "cpu"],
        *["--stop-after", "build", "--accept-reduced-isolation", "--json"],
    )
    assert code == 1, text
    assert "the completion holds no program" in text
