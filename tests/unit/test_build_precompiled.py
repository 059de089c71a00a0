"""Precompiled headers: which flags share one, and how one comes about."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_service.build.precompiled import Precompiled, mode
from reward_service.build.toolchain import Toolchain

NEUTRAL = ["-Wall", "-w", "-g", "-fPIC", "-DX=1", "-funroll-loops", "-fno-strict-aliasing"]
TELLING = ["-march=native", "-fopenmp", "-ffast-math", "-pthread", "-std=c++17", "-mavx2"]

COMPILES = 5
"""Commands for one header, two runtime objects, and the words of two headers."""

COMPILER = """#!/bin/sh
echo "$@" >> {calls}
while [ "$1" != -o ]; do
  case "$1" in {refused}) echo "no such thing: $1"; exit 1;; esac
  shift
done
echo made > "$2"
"""


def toolchain(tmp_path: Path, refused: str = "-mnothing", script: str = COMPILER) -> Toolchain:
    compiler = tmp_path / "c++"
    compiler.write_text(script.format(calls=tmp_path / "calls", refused=refused))
    compiler.chmod(0o755)
    return Toolchain(
        torch="2.0",
        torch_cuda=None,
        includes=(),
        cuda_includes=(),
        torch_lib="/",
        cuda_libs=(),
        standard="-std=c++20",
        nvcc_flags=("-DHALF",),
        cxx=str(compiler),
        cxx_version="1",
        nvcc=None,
        nvcc_version=None,
        cuda_home=None,
        clang=None,
        clang_version=None,
        linker=None,
    )


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Precompiled]:
    precompiled = Precompiled(toolchain(tmp_path), tmp_path / "headers")
    yield precompiled
    precompiled.close()


def calls(tmp_path: Path) -> list[str]:
    path = tmp_path / "calls"
    return path.read_text().splitlines() if path.exists() else []


@given(st.lists(st.sampled_from([*NEUTRAL, "-O1", "-O2", "-O3"])), st.permutations(TELLING))
def test_only_what_changes_headers_tells_two_apart(neutral: list[str], telling: list[str]) -> None:
    level = [f for f in neutral if f.startswith("-O")]
    assert mode([*neutral, *telling]) == ("-O2",) * bool(level) + tuple(sorted(TELLING))


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        (["-O3", "-O0"], ()),
        (["-O0", "-O"], ("-O2",)),
        (["-Ofast"], ("-Ofast",)),
        (["-Os"], ("-Os",)),
        (["-fno-exceptions"], ("-fno-exceptions",)),
        ([], ()),
    ],
)
def test_the_last_level_of_optimisation_counts(flags: list[str], kept: tuple[str, ...]) -> None:
    assert mode(flags) == kept


def test_what_is_there_is_not_made_again(made: Precompiled, tmp_path: Path) -> None:
    told: list[str] = []
    header = made.header("cpu", ["-O3"])
    assert made.ready(header) is False
    made.prepare([header], told.append)
    assert made.ready(header) is True
    assert header.file.read_text() == "made\n"
    assert made.has_runtime
    assert len(told) == 3
    made.prepare([header], told.append)
    assert len(calls(tmp_path)) == COMPILES
    assert len(told) == 3
    assert made.sizes()[header.folder.name]["bytes"] > 0


def test_a_header_is_of_its_compiler_its_flags_and_torch(tmp_path: Path) -> None:
    tools = toolchain(tmp_path)
    headers = [
        Precompiled(changed, tmp_path).header("cpu", flags).folder
        for changed, flags in [
            (tools, ()),
            (tools, ("-O2",)),
            (replace(tools, torch="2.1"), ()),
            (replace(tools, cxx_version="2"), ()),
            (replace(tools, standard="-std=c++17"), ()),
        ]
    ]
    assert len(set(headers)) == len(headers)
    same = Precompiled(tools, tmp_path).header("cpu", ("-std=c++20", "-Wall")).folder
    assert same == headers[0]


def test_one_that_cannot_be_made_is_not_tried_again(tmp_path: Path) -> None:
    tools = toolchain(tmp_path, refused="-march=none")
    precompiled = Precompiled(tools, tmp_path / "headers")
    header = precompiled.header("cpu", ("-march=none",))
    precompiled.prepare([header], lambda _: None)
    assert precompiled.ready(header) is None
    before = calls(tmp_path)
    precompiled.prepare([header], lambda _: None)
    assert calls(tmp_path) == before


def test_an_unusual_one_is_made_beside(made: Precompiled) -> None:
    header = made.header("cpu", ("-ffast-math",))
    made.want(header)
    deadline = time.monotonic() + 20
    while made.ready(header) is False:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_unusual_ones_do_not_fill_the_disk(made: Precompiled, tmp_path: Path) -> None:
    headers = [made.header("cpu", (f"-mavx{i}",)) for i in range(20)]
    made.prepare(headers[:16], lambda _: None)
    before = len(calls(tmp_path))
    for header in headers:
        made.want(header)
    made.close()
    assert len(calls(tmp_path)) == before


def _make(tools: Toolchain, root: Path) -> None:
    precompiled = Precompiled(tools, root)
    precompiled.prepare([precompiled.header("cpu", ())], lambda _: None)


def test_many_processes_make_each_once(tmp_path: Path) -> None:
    tools = toolchain(tmp_path)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_make, args=(tools, tmp_path / "h")) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert len(calls(tmp_path)) == COMPILES


def alive(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def test_a_compiler_that_was_killed_says_nothing_of_a_header(tmp_path: Path) -> None:
    told = "c++: fatal error: Killed signal terminated program cc1plus"
    killed = toolchain(
        tmp_path, script=f"#!/bin/sh\n# {{calls}} {{refused}}\necho '{told}'; exit 1\n"
    )
    precompiled = Precompiled(killed, tmp_path / "h")
    header = precompiled.header("cpu", ())
    precompiled.prepare([header], lambda _: None)
    assert precompiled.ready(header) is False


def test_one_that_dies_while_making_leaves_nothing_behind(tmp_path: Path) -> None:
    # As g++ does, it leaves the work to a process of its own.
    script = "#!/bin/sh\nsleep 100 &\necho $! >> {calls}\nwait; {refused}\n"
    stuck = toolchain(tmp_path, script=script)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_make, args=(stuck, tmp_path / "h"))
    process.start()
    deadline = time.monotonic() + 60
    while len(calls(tmp_path)) < 2:  # the header and the runtime are made side by side
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.join()
    for compiler in calls(tmp_path):
        while alive(int(compiler)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    (tmp_path / "calls").unlink()
    left = list((tmp_path / "h").glob(".new-*"))
    for folder in left:
        os.utime(folder, (0, 0))
    _make(toolchain(tmp_path), tmp_path / "h")
    assert len(left) == 2
    assert not any(folder.exists() for folder in left)
    assert len(calls(tmp_path)) == COMPILES
