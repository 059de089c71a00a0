"""Which files a confined process reaches, under Landlock alone: modes and users play no part."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reward_service.sandbox import isolation, trees
from reward_service.sandbox.confine import Confinement, Limits
from reward_service.sandbox.run import Completed, run

LIMITS = Limits(cpu_s=20, file_bytes=1 << 20, processes=64, open_files=64)
ROOT = os.geteuid() == 0
PACKAGE = Path(isolation.__file__).parents[1]


@pytest.fixture
def alone(tmp_path: Path) -> Confinement:
    """Our own user, Landlock, and nothing else."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Confinement(None, LIMITS, scratch, frozenset({"landlock"}))


def shell(script: str, box: Confinement) -> Completed:
    return run(
        ["/bin/sh", "-c", script],
        confinement=box,
        env={"PATH": "/usr/bin:/bin"},
        timeout_s=20,
        output_limit_bytes=4096,
    )


@pytest.mark.parametrize(
    "way",
    [
        "cat {file}",
        "ls {folder}",
        "ln -s {file} link; cat link",
        "ln {file} link",
        "mv {file} mine",
        "cd {folder}; cat file",
        "cat ../$(basename {folder})/file",
        "exec 5<{file}; cat <&5",
        "cat /proc/1/cmdline",
        "cat /proc/$PPID/maps",
        "cat /proc/self/../../{file}",
        "cat /proc/$$/root/{file}",
        "cat /etc/passwd",
        "ls /home /root /tmp /var /run /",
        "cat /etc/alternatives/../passwd",
        "cat /usr/bin/../../etc/passwd",
    ],
)
def test_nothing_else_is_read(alone: Confinement, tmp_path: Path, way: str) -> None:
    file = tmp_path / "outside" / "file"
    file.parent.mkdir()
    file.write_text("4711")
    done = shell(way.format(file=file, folder=file.parent), alone)
    assert done.returncode != 0, done.output_tail
    assert "4711" not in done.output_tail
    assert "root:" not in done.output_tail
    assert file.exists()


@pytest.mark.parametrize(
    "way",
    [
        "echo x > {new}",
        "echo x >> {file}",
        "truncate -s 0 {file}",
        "rm {file}",
        "mkdir {new}",
        "mkfifo {new}",
        "ln -s /x {new}",
        "touch here; mv here {new}",
        "mknod null c 1 3",
        "echo x > /dev/shm/reward-service-test",
        "echo x > /tmp/reward-service-test",
    ],
)
def test_nothing_else_is_written(alone: Confinement, tmp_path: Path, way: str) -> None:
    file, new = tmp_path / "outside" / "file", tmp_path / "outside" / "new"
    file.parent.mkdir()
    file.write_text("4711")
    done = shell(way.format(file=file, new=new), alone)
    assert done.returncode != 0
    assert file.read_text() == "4711"
    assert not new.exists()


def test_what_is_given_is_read_and_not_written(alone: Confinement, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("4711")
    box = replace(alone, reads=(str(tree),))
    done = shell(f"cat {tree}/file; ls {tree}; echo x >> {tree}/file || echo no", box)
    assert done.output_tail.split("\n")[0].startswith("4711file")
    assert done.output_tail.endswith("no\n")
    assert (tree / "file").read_text() == "4711"


def test_the_scratch_directory_is_for_all_that_one_does_with_files(alone: Confinement) -> None:
    work = "mkdir -p a/b && echo x > a/f && mv a/f a/b/g && ln a/b/g h && ln -s h i && cat i"
    done = shell(f"{work} && rm -r a h i && mkfifo p && echo > /dev/null && ls", alone)
    assert (done.returncode, done.output_tail) == (0, "x\np\n")


def test_the_interpreters_trees_are_not_the_directory_that_a_checkout_lies_in() -> None:
    reads = trees.interpreter()
    assert str(PACKAGE) in reads
    holds_project = [p for p in reads if (Path(p) / "pyproject.toml").exists()]
    assert holds_project == []


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("bin/c++", ["bin", "lib", "libexec", "x86_64-linux-gnu"]),
        ("c++", []),
    ],
)
def test_a_compiler_in_a_prefix_of_its_own_reads_its_parts_and_nothing_beside(
    tmp_path: Path, program: str, expected: list[str]
) -> None:
    for name in ("bin", "lib", "libexec", "x86_64-linux-gnu", "secrets"):
        (tmp_path / name).mkdir()
    (tmp_path / program).write_text("")
    assert trees.parts_beside(str(tmp_path / program)) == [str(tmp_path / n) for n in expected]


def test_a_compiler_of_the_system_needs_no_more_than_all_have() -> None:
    assert trees.parts_beside("/usr/bin/env") == []


WITHOUT_ROOT = """
import os, sys, tempfile
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from reward_service.sandbox import isolation, mounts
from reward_service.sandbox.confine import Limits
from reward_service.sandbox.run import run
folder, uid = Path(sys.argv[2]), int(sys.argv[3])
mounts.expose([sys.argv[1]], writable=[folder])
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
tempfile.tempdir = str(folder)
found = isolation.self_test(uid)
(folder / "scratch").mkdir()
box = found.confinement(None, Limits(20, 1 << 20, 64, 64), folder / "scratch")
done = run(["/bin/sh", "-c", "cat /etc/passwd; echo x > y && cat y"], confinement=box,
           env={"PATH": "/usr/bin:/bin"}, timeout_s=20, output_limit_bytes=4096)
print(found.summary, done.output_tail, sep="|", end="")
"""


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_without_root_landlock_and_seccomp_are_on_and_said_to_be(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    os.chown(folder, 58_990, 58_990)
    done = subprocess.run(
        [sys.executable, "-I", "-c", WITHOUT_ROOT, str(PACKAGE.parent), str(folder), "58990"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    summary, told = done.stdout.split("|")
    assert summary == "reduced (landlock, seccomp, no_new_privs, rlimits)"
    assert told == "cat: /etc/passwd: Permission denied\nx\n"
