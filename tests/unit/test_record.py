"""Recording what a module level asks to be built: real programs, run in the sandbox."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reward_service.findings import Finding
from reward_service.formats.extension_call import ExtensionCall
from reward_service.formats.record import Recording, _parse, record
from reward_service.sandbox.box import Boxes
from reward_service.schemas import Reason

HEAD = "from torch.utils.cpp_extension import load_inline\n"


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boxes]:
    with Boxes.prepare(tmp_path_factory.mktemp("state"), 61_400) as boxes:
        yield boxes


def recorded(source: str, boxes: Boxes, problem: str | None = None) -> Recording | Finding:
    return record(source, boxes, problem=problem, timeout_s=60, memory_bytes=4 << 30)


def test_calls_that_only_running_shows_are_recorded(boxes: Boxes) -> None:
    source = HEAD + (
        "import torch.utils.cpp_extension as ce, os\n"
        "for i in range(2):\n  m = load_inline(f'm{i}', 'int x = %d;' % i, functions=['f'])\n"
        "open('k.cu', 'w').write('#include \"h.cuh\"'); open('h.cuh', 'w').write('int y;')\n"
        "ce.load(name='n', sources=[os.path.abspath('k.cu')])\n"
        "class ModelNew:\n  pass\n"
    )
    found = recorded(source, boxes)
    assert isinstance(found, Recording)
    assert found.note is None
    expected = [
        ExtensionCall.capture("load_inline", ("m", f"int x = {i};"), {"functions": ["f"]})
        for i in range(2)
    ]
    assert list(found.calls[:2]) == expected
    assert found.calls[2].sources == (("k.cu", '#include "h.cuh"'),)
    assert found.calls[2].headers == (("h.cuh", "int y;"),)


def test_constructing_reaches_calls_in_the_constructor(boxes: Boxes) -> None:
    source = HEAD + (
        "class ModelNew:\n  def __init__(self, n):\n"
        "    self.m = load_inline('m', f'int x[{n}];')\n    self.m.f(1)\n"
        "    load_inline('never', 'reached')\n"
    )
    found = recorded(source, boxes, problem="def get_init_inputs():\n  return [7]\n")
    assert isinstance(found, Recording)
    assert [c.cpp_sources for c in found.calls] == [("int x[7];",)]
    assert found.note == "it calls what is still to be built"


def test_a_failing_reference_is_not_held_against_the_candidate(boxes: Boxes) -> None:
    found = recorded(HEAD + "load_inline('m', 'a')\nclass ModelNew: pass", boxes, problem="1/0")
    assert isinstance(found, Recording)
    assert len(found.calls) == 1


@pytest.mark.parametrize(
    ("source", "reason", "message"),
    [
        ("x = 1\ny = x / 0\n", Reason.LOAD_FAILED, "line 2: `y = x / 0`: ZeroDivisionError"),
        (HEAD + "load_inline('m', 3)", Reason.LOAD_FAILED, "line 2.*cpp_sources must be"),
        (HEAD + "for i in range(99): load_inline('m', f'{i}')", Reason.LOAD_FAILED, "more than 64"),
        ("import os\nos._exit(0)", Reason.EARLY_EXIT, "ended by itself"),
        ("raise SystemExit(0)", Reason.EARLY_EXIT, "SystemExit"),
        ("import os\nos.kill(os.getpid(), 11)", Reason.LOAD_FAILED, "signal 11"),
        ("import os\nos.write(3, b'{}\\n[1]\\n')", Reason.PROTOCOL, "no object"),
    ],
)
def test_a_program_that_fails_is_a_finding(
    source: str, reason: Reason, message: str, boxes: Boxes
) -> None:
    found = recorded(source, boxes)
    assert isinstance(found, Finding)
    assert found.reason is reason
    assert re.search(message, found.message), found.message


def test_a_program_that_needs_a_device_is_left_to_the_runner(boxes: Boxes) -> None:
    found = recorded(HEAD + "import torch\nload_inline('m', 'a')\ntorch.zeros(1).cuda()", boxes)
    assert isinstance(found, Recording)
    assert len(found.calls) == 1
    assert "needs a device" in (found.note or "")


def test_a_program_that_hangs_ends_at_its_time(boxes: Boxes) -> None:
    found = record("while True: pass", boxes, problem=None, timeout_s=4, memory_bytes=4 << 30)
    assert isinstance(found, Finding)
    assert found.reason is Reason.RUN_TIMEOUT


def test_the_module_level_has_no_network_and_writes_its_scratch_only(
    boxes: Boxes, tmp_path: Path
) -> None:
    source = (
        "import socket\n"
        "def tried(f):\n"
        "  try: f()\n"
        "  except OSError as e: return type(e).__name__\n"
        "  return 'done'\n"
        "raise ValueError([tried(lambda: socket.create_connection(('127.0.0.1', 9))),\n"
        f"  tried(lambda: open({str(tmp_path / 'x')!r}, 'w')), tried(lambda: open('x', 'w'))])"
    )
    found = recorded(source, boxes)
    assert isinstance(found, Finding)
    if boxes.isolation.level == "standard":
        # What lies beside the scratch is hidden, or may not be entered.
        denied = ("FileNotFoundError", "PermissionError")
        answers = [f"['PermissionError', '{name}', 'done']" for name in denied]
        assert any(found.message.endswith(answer) for answer in answers), found.message
    assert [p.name for p in boxes.folder.iterdir()] == ["lock"]


@pytest.mark.parametrize("link", ["os.symlink", "os.link"])
def test_a_source_that_is_a_link_to_another_file_is_not_read(boxes: Boxes, link: str) -> None:
    source = (
        "import os\nfrom torch.utils.cpp_extension import load\n"
        f"{link}('/etc/passwd', 'k.cpp')\nload(name='n', sources=['k.cpp'])\n"
    )
    found = recorded(source, boxes)
    assert isinstance(found, Finding)
    assert found.reason is Reason.LOAD_FAILED
    assert "root:" not in found.message


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (b"x", "Expecting value"),
        (b"[" * 100_000, "deeply"),
        (b'{"call": ' + b"[" * 50 + b"]" * 50 + b"}", "deeply"),
        (b'{"call": {}}', "object with its fields"),
        (b"{}\n" * 1000, "more than 64"),
        (b"3", "no object"),
    ],
)
def test_a_record_that_is_none_is_refused(said: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _parse(said)


def test_brackets_in_strings_do_not_count() -> None:
    call = ExtensionCall.capture("load_inline", ("m", '"[[[[[[[[[\\" {{{{{{{{{{'), {})
    assert _parse(json.dumps({"call": call.to_json()}).encode()) == ((call,), None)
