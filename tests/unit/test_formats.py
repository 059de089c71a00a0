"""Reading extension calls off a source: the same calls as running it would make, or a warning."""

from __future__ import annotations

import json
import os
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_service.findings import Finding
from reward_service.formats.extension_call import MAX_CHARS, BadExtensionCall, ExtensionCall
from reward_service.formats.kernelbench import Extraction, extract
from reward_service.schemas import Reason

CPP = "torch::Tensor f(torch::Tensor x);"
HEAD = "from torch.utils.cpp_extension import load_inline\n"


def read(source: str) -> Extraction:
    found = extract(source)
    assert isinstance(found, Extraction)
    return found


def executed(source: str, monkeypatch: pytest.MonkeyPatch) -> list[ExtensionCall]:
    """The calls that really happen when the source runs, with stand-ins for torch's functions."""
    made: list[ExtensionCall] = []

    def stand_in(kind: Any) -> Any:
        def function(*args: Any, **kwargs: Any) -> types.SimpleNamespace:
            made.append(ExtensionCall.capture(kind, args, kwargs))
            return types.SimpleNamespace()

        return function

    torch, utils, ext = (
        types.ModuleType(n) for n in ("torch", "torch.utils", "torch.utils.cpp_extension")
    )
    ext.load_inline, ext.load = stand_in("load_inline"), stand_in("load")  # type: ignore[attr-defined]
    torch.utils, utils.cpp_extension = utils, ext  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        for module in (torch, utils, ext):
            patch.setitem(sys.modules, module.__name__, module)
        exec(compile(source, "candidate.py", "exec"), {"__name__": "candidate"})
    return made


# --- what is read ----------------------------------------------------------------------------

LITERAL = {
    "plain": HEAD + "m = load_inline(name='m', cpp_sources='a', cuda_sources='b', functions=['f'])",
    "an annotation without a value": HEAD + "class M:\n    x: int\nm = load_inline('m', 'a')",
    "alias": "from torch.utils.cpp_extension import load_inline as li\nm = li('m', 'a')",
    "dotted": "import torch.utils.cpp_extension\ntorch.utils.cpp_extension.load_inline('m', 'a')",
    "module alias": "import torch.utils.cpp_extension as ce\nce.load_inline('m', ['a', 'b'])",
    "from utils": "from torch.utils import cpp_extension\ncpp_extension.load_inline('m', 'a')",
    "torch alias": "import torch as t, torch.utils.cpp_extension\n"
    "t.utils.cpp_extension.load_inline('m', 'a')",
    "names": HEAD + "src = 'a' 'b'\nfns: list[str] = ['f']\nload_inline('m', src, functions=fns)",
    "sum": HEAD + "A = 'a'\nB = A + '\\n' + A\nload_inline('m', [A, B] + ['c'])",
    "f-string": HEAD + "N = 4\nT = 'float'\nload_inline('m', f'{T} x[{N}]; {T!s} y;')",
    "percent": HEAD + "load_inline('m', '%s x[%d]; a %% b' % ('int', 3))",
    "percent dict": HEAD + "load_inline('m', '%(t)s x;' % {'t': 'int'})",
    "format": HEAD + "load_inline('m', '{} {x} {{}}'.format('a', x=1))",
    "methods": HEAD + "import textwrap\nS = '''\n  a\n  b\n'''\n"
    "load_inline('m', textwrap.dedent(S).strip().replace('b', 'c'))",
    "dedent": HEAD + "from textwrap import dedent as d\nload_inline('m', d('  a'))",
    "join": HEAD + "load_inline('m', '\\n'.join(['a', 'b']))",
    "dict functions": HEAD + "load_inline('m', 'a', functions={'f': 'doc'}, with_cuda=True)",
    "flags": HEAD + "F = ['-O3']\nload_inline('m', 'a', extra_cflags=F, extra_ldflags=('-lm',))",
    "function": HEAD + "def build(x: int = 3, *a: str, **k) -> dict:\n  src = 'a'"
    "\n  return load_inline('m', src)\nbuild()",
    "class body": HEAD + "class M:\n  src = 'a'\n  ext = load_inline('m', src)",
    "method": HEAD
    + "class M:\n  def __init__(self):\n    s = 'a'\n    self.m = load_inline('m', s)"
    "\nM()",
    "any name": HEAD + "import time\nload_inline(name=f'm{time.time()}', cpp_sources='a',\n"
    "  build_directory=str(time.time()), verbose=bool(time.time()))",
    "two calls": HEAD + "load_inline('m', 'a')\nload_inline('n', 'b')",
}


@pytest.mark.parametrize("spelling", LITERAL)
def test_literal_calls_are_read_as_they_would_be_made(
    spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = LITERAL[spelling]
    found = read(source)
    assert found.needs_recording is None
    assert list(found.calls) == executed(source, monkeypatch)
    assert found.calls


texts = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@given(pieces=st.lists(texts, min_size=1, max_size=4), as_list=st.booleans(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_strings_are_read_unchanged(
    pieces: list[str], as_list: bool, data: st.DataObject
) -> None:
    how = data.draw(st.sampled_from(["constant", "name", "sum", "f-string", "join"]))
    whole = "".join(pieces)
    head = HEAD + "".join(f"p{i} = {p!r}\n" for i, p in enumerate(pieces))
    expression = {
        "constant": repr(whole),
        "name": "w",
        "sum": " + ".join(f"p{i}" for i in range(len(pieces))),
        "f-string": "f'" + "".join(f"{{p{i}}}" for i in range(len(pieces))) + "'",
        "join": "''.join([" + ", ".join(f"p{i}" for i in range(len(pieces))) + "])",
    }[how]
    head += f"w = {whole!r}\n"
    given_as = f"[{expression}]" if as_list else expression
    found = read(f"{head}load_inline('m', {given_as}, functions=None)")
    assert found.needs_recording is None
    assert found.calls[0].cpp_sources == ((whole,) if as_list or whole else ())


NOT_LITERAL = {
    "rebound": HEAD + "s = 'a'\ns = 'b'\nload_inline('m', s)",
    "augmented": HEAD + "s = 'a'\ns += 'b'\nload_inline('m', s)",
    "loop": HEAD + "for s in ['a']:\n  load_inline('m', s)",
    "argument": HEAD + "def f(s):\n  load_inline('m', s)\nf('a')",
    "global": HEAD + "s = 'a'\ndef f():\n  global s\n  s = 'b'\nf()\nload_inline('m', s)",
    "walrus": HEAD + "s = 'a'\nx = [(s := t) for t in 'bc']\nload_inline('m', s)",
    "grown list": HEAD + "s = ['a']\ns.append('b')\nload_inline('m', s)",
    "index": HEAD + "s = ['a']\ns[0] = 'b'\nload_inline('m', s)",
    "passed list": HEAD + "s = ['a']\nlist.append(s, 'b')\nload_inline('m', s)",
    "stars": HEAD + "k = {'cpp_sources': 'a'}\nload_inline('m', **k)",
    "function value": HEAD + "b = load_inline\nb('m', 'a')",
    "rebound function": HEAD + "load_inline = print\nload_inline('m', 'a')",
    "patched": "import torch\ntorch.utils.cpp_extension.load_inline = print",
    "import star": "from torch.utils.cpp_extension import *\nload_inline('m', 'a')",
    "getattr": "import torch\ngetattr(torch.utils.cpp_extension, 'load_' + 'inline')('m', 'a')",
    "module value": "import torch\nu = torch.utils\nu.cpp_extension.load_inline('m', 'a')",
    "globals": HEAD + "s = 'a'\nglobals()['s'] = 'b'\nload_inline('m', s)",
    "modules": HEAD + "import sys\ns = 'a'\nsys.modules[__name__].s = 'b'\nload_inline('m', s)",
    "exec": "exec('import torch')",
    "import_module": "from importlib import import_module\nimport_module('torch')",
    "load": "from torch.utils.cpp_extension import load\nload('m', ['a.cpp'])",
    "include paths": HEAD + "load_inline('m', 'a', extra_include_paths=['.'])",
    "wrong type": HEAD + "load_inline('m', 3)",
    "attribute": HEAD + "class M:\n  s = 'a'\nload_inline('m', M.s)",
    "width": HEAD + "load_inline('m', '%1000000000d' % 3)",
    "spec": HEAD + "load_inline('m', f'{3:1000000000}')",
    "format spec": HEAD + "load_inline('m', '{:1000000000}'.format(3))",
    "ring": HEAD + "a = b + ''\nb = a + ''\nload_inline('m', a)",
}


@pytest.mark.parametrize("spelling", NOT_LITERAL)
def test_what_is_not_literal_needs_recording(spelling: str) -> None:
    assert read(NOT_LITERAL[spelling]).needs_recording


def test_a_call_in_a_function_says_so() -> None:
    inside = read(HEAD + "def f(s):\n  load_inline('m', s)")
    outside = read(HEAD + "s = str(1)\nload_inline('m', s)")
    assert inside.in_function
    assert not outside.in_function
    assert outside.needs_recording == "line 3: line 2: a call"


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nclass ModelNew(torch.nn.Module): pass",
        "import torch, re, json\nx = torch.compile; y = re.compile; z = json.load; m.eval()",
        "# no load_inline here\nclass ModelNew: pass",
    ],
)
def test_a_program_without_extensions_has_none(source: str) -> None:
    assert read(source) == Extraction((), None, False)


def test_a_syntax_error_is_a_finding_with_its_line() -> None:
    found = extract("x = 1\ndef f(:\n  pass\n")
    assert isinstance(found, Finding)
    assert found.reason is Reason.BUILD_FAILED
    assert "line 2" in found.message
    assert "def f(:" in found.message


@pytest.mark.parametrize(
    "source", ["x = '\0'", "(" * 5000 + ")" * 5000, "\ud800", "-" * 100_000 + "1"]
)
def test_what_cannot_be_parsed_is_a_finding(source: str) -> None:
    found = extract(source)
    assert isinstance(found, Finding) or found.needs_recording
    if isinstance(found, Finding):
        assert found.reason is Reason.BUILD_FAILED


def test_a_doubling_source_costs_neither_time_nor_memory() -> None:
    lines = ["a0 = 'xxxxxxxx'", *(f"a{i} = a{i - 1} + a{i - 1}" for i in range(1, 60))]
    begun = time.monotonic()
    grown = read(HEAD + "\n".join(lines) + "\nload_inline('m', a59)")
    shrink = [f"b{i} = a18.replace(a18, '{i}')" for i in range(200)]
    names = ", ".join(f"b{i}" for i in range(200))
    shrunk = read(HEAD + "\n".join([*lines[:19], *shrink]) + f"\nload_inline('m', [{names}])")
    for found in (grown, shrunk):
        assert "too long" in (found.needs_recording or "")
    assert time.monotonic() - begun < 5


def test_deep_nesting_is_recorded_instead() -> None:
    source = HEAD + "load_inline('m', " + " + ".join(["'a'"] * 5000) + ")"
    found = extract(source)
    assert isinstance(found, Finding) or found.needs_recording


@given(
    st.text() | st.sampled_from(sorted(LITERAL.values()) + sorted(NOT_LITERAL.values())),
    st.lists(st.tuples(st.integers(0, 200), st.sampled_from("()'[]{}:=,*\n f%\\")), max_size=3),
)
def test_no_text_is_too_odd_to_be_looked_at(source: str, edits: list[tuple[int, str]]) -> None:
    for place, character in edits:
        source = source[:place] + character + source[place + 1 :]
    found = extract(source)
    assert isinstance(found, Extraction) or found.reason is Reason.BUILD_FAILED


# --- the call as data ------------------------------------------------------------------------


def capture(*args: Any, **kwargs: Any) -> ExtensionCall:
    return ExtensionCall.capture("load_inline", args, kwargs)


def test_the_key_is_what_determines_the_module() -> None:
    base = capture("m", CPP, functions=["f"])
    same = [
        capture("other", CPP, functions="f"),
        capture(name="m", cpp_sources=[CPP], functions={"f": "f"}, verbose=True),
        capture("m", CPP, [], [], ["f"], build_directory="/x", keep_intermediates=False),
        capture("m", CPP, "", functions=("f",), with_cuda=False),
    ]
    assert {c.key for c in same} == {base.key}
    different = [
        capture("m", CPP + " ", functions=["f"]),
        capture("m", [CPP, ""], functions=["f"]),
        capture("m", CPP),
        capture("m", CPP, functions={"f": "doc"}),
        capture("m", CPP, functions=["f"], with_cuda=True),
        capture("m", CPP, "__global__", functions=["f"]),
        capture("m", CPP, functions=["f"], extra_cflags=["-O3"]),
        capture("m", CPP, functions=["f"], extra_cuda_cflags=["-O3"]),
        capture("m", CPP, functions=["f"], no_implicit_headers=True),
        capture("m", CPP, functions=["f"], is_python_module=False),
    ]
    assert len({c.key for c in [base, *different]}) == len(different) + 1


@given(
    st.builds(
        lambda *a, **k: ExtensionCall("load_inline", *a, **k),
        name=texts,
        cpp_sources=st.lists(texts, max_size=3).map(tuple),
        cuda_sources=st.lists(texts, max_size=3).map(tuple),
        functions=st.none() | st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
        extra_cflags=st.lists(texts, max_size=3).map(tuple),
        with_cuda=st.booleans(),
    )
)
def test_a_call_survives_json(call: ExtensionCall) -> None:
    again = ExtensionCall.from_json(json.loads(json.dumps(call.to_json())))
    assert again == call
    assert again.key == call.key


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "needs name"),
        (("m",), {}, "needs cpp_sources"),
        (("m", "a"), {"cpp_sources": "b"}, "given twice"),
        (("m", "a"), {"colour": 1}, "no argument 'colour'"),
        (("m", "a", *range(30)), {}, "takes 19"),
        (("m", 3), {}, "cpp_sources must be"),
        (("m", [3]), {}, "cpp_sources must be"),
        (("m", object()), {}, "cpp_sources must be"),
        (("m", "\ud800"), {}, "cpp_sources must be"),
        (("m", "a"), {"functions": 3}, "functions must be"),
        (("m", "a"), {"functions": [["f"]]}, "functions must be"),
        (("m", "a"), {"functions": {"f": 3}}, "functions must be"),
        (("m", "a"), {"extra_cflags": "-O3"}, "extra_cflags must be"),
        (("m", "a"), {"sycl_sources": "x"}, "sycl_sources is not supported"),
        (("m", ["a"] * 1000), {}, "at most 256"),
        (("m", "a" * (MAX_CHARS + 1)), {}, "larger than"),
    ],
)
def test_arguments_that_are_not_the_functions_are_refused(
    args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadExtensionCall, match=message):
        capture(*args, **kwargs)


@pytest.mark.parametrize("data", [None, [], {}, {"kind": "load"}, 3, "x"])
def test_json_that_is_no_call_is_refused(data: object) -> None:
    with pytest.raises(BadExtensionCall):
        ExtensionCall.from_json(data)


@given(st.sampled_from(sorted(capture("m", "a").to_json())), st.data())
def test_json_with_a_wrong_field_is_refused(field: str, data: st.DataObject) -> None:
    record = capture("m", "a").to_json()
    wrong: list[Any] = [3, [3], [["a"]], [["a", 3]], {"a": 1}, 1.5]
    record[field] = data.draw(st.sampled_from(wrong))
    with pytest.raises(BadExtensionCall):
        ExtensionCall.from_json(record)


def test_load_means_the_files_whatever_their_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = set()
    for folder in (tmp_path / "one", tmp_path / "two"):
        (folder / "include").mkdir(parents=True)
        monkeypatch.chdir(folder)
        Path("a.cu").write_text("#include <h.cuh>")
        Path("include/h.cuh").write_text("int x;")
        call = ExtensionCall.capture(
            "load",
            ("m", ["a.cu"]),
            {"extra_include_paths": [os.path.abspath("include"), "/usr/include"]},
        )
        assert call.sources == (("a.cu", "#include <h.cuh>"),)
        assert call.headers == (("h.cuh", "int x;"),)
        assert call.extra_include_paths == ("/usr/include",)
        assert call.with_cuda
        keys.add(call.key)
    assert len(keys) == 1
    Path("include/h.cuh").write_text("int y;")
    keys.add(ExtensionCall.capture("load", ("m", "a.cu"), {"extra_include_paths": ["include"]}).key)
    assert len(keys) == 2


def test_load_of_a_missing_file_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadExtensionCall, match=r"gone\.cpp cannot be read"):
        ExtensionCall.capture("load", ("m", "gone.cpp"), {})


def test_two_sources_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x", "y"):
        Path(name).mkdir()
        Path(name, "a.cpp").write_text("")
    with pytest.raises(BadExtensionCall, match="distinct"):
        ExtensionCall.capture("load", ("m", ["x/a.cpp", "y/a.cpp"]), {})
