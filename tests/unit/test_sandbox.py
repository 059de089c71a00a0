"""What a confined process can and cannot do, seen from real processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reward_service.errors import InfrastructureError, PrerequisiteError
from reward_service.sandbox import confine as confinement_module
from reward_service.sandbox import isolation, mounts, syscalls, trees
from reward_service.sandbox.box import Boxes
from reward_service.sandbox.confine import Confinement, Limits, close_all_but, confine
from reward_service.sandbox.run import Completed, run
from reward_service.sandbox.tree import Tree
from reward_service.sandbox.uids import UidPool, kill_processes, kill_uid

LIMITS = Limits(cpu_s=20, file_bytes=1 << 20, processes=32, open_files=64)
ROOT = os.geteuid() == 0
root = pytest.mark.skipif(not ROOT, reason="needs root")


def until(condition: object, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "the condition never held"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def forked(work: Callable[[], None]) -> int:
    """A child that does `work` and then ends, whatever comes of it: never the rest of the tests."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:  # noqa: BLE001 - it must end here either way
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


@pytest.fixture
def pool() -> UidPool:
    return UidPool(61_000)


@pytest.fixture
def box(pool: UidPool, tmp_path: Path) -> Iterator[Confinement]:
    """A confinement with a uid and a scratch directory of its own; reduced without root."""
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o700)
    if not ROOT:
        yield Confinement(None, LIMITS, scratch)
        return
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    with pool.lease() as uid:
        os.chown(scratch, uid, uid)
        yield Confinement(uid, LIMITS, scratch)


def shell(script: str, box: Confinement, **given: object) -> Completed:
    arguments: dict[str, object] = {
        "env": {"PATH": "/usr/bin:/bin"},
        "timeout_s": 20.0,
        "output_limit_bytes": 4096,
        **given,
    }
    return run(["/bin/sh", "-c", script], confinement=box, **arguments)  # type: ignore[arg-type]


def python(program: str, box: Confinement, **given: object) -> Completed:
    arguments: dict[str, object] = {
        "env": {},
        "timeout_s": 20.0,
        "output_limit_bytes": 4096,
        **given,
    }
    return run(
        [sys.executable, "-I", "-S", "-c", program],
        confinement=replace(box, reads=(*trees.interpreter(), *box.reads)),
        **arguments,  # type: ignore[arg-type]
    )


# --- the layers ------------------------------------------------------------------------------


@root
def test_self_test_finds_every_layer_holding_here(pool: UidPool) -> None:
    with pool.lease() as uid:
        found = isolation.self_test(uid)
    assert found.problems == ()
    assert found.level == "standard"
    isolation.require("standard", found)


@root
def test_self_test_leaves_nothing_behind(pool: UidPool) -> None:
    def left() -> set[str]:
        segments = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        places = ("/dev/shm", tempfile.gettempdir())
        found = {n for place in places for n in os.listdir(place) if n.startswith("isolation-")}
        return found | {segment.split()[1] for segment in segments}

    before = left()
    with pool.lease() as uid:
        isolation.self_test(uid)
    until(lambda: left() <= before)  # a test beside this one may just be at it


@root
def test_self_test_without_the_steps_reports_what_gets_through(
    pool: UidPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks can fail: the same checks, with a `confine` that does nothing."""
    checks = Path(isolation.__file__).with_name("checks.py").read_text()
    disarmed = tmp_path / "checks.py"
    package_root = str(Path(isolation.__file__).parents[2])
    disarmed.write_text(
        checks.replace("str(Path(__file__).resolve().parents[2])", repr(package_root))
        .replace(
            "    c.confine(\n", "    os.chdir(folder / 'scratch')\n    (lambda *a, **k: None)(\n"
        )
        .replace("c.confine(alone", "(lambda *a, **k: None)(alone")
    )
    monkeypatch.setattr(isolation, "_CHECKS", str(disarmed))
    with pool.lease() as uid:
        found = isolation.self_test(uid)
    assert found.level == "reduced"
    lacking = ("network", "ipc", "landlock", "seccomp", "no_new_privs", "rlimits")
    assert not any(found.layers[name] for name in lacking)
    assert_everything_was_tried(found.problems)
    with pytest.raises(PrerequisiteError, match="no_new_privs"):
        isolation.require("reduced", found)


def assert_everything_was_tried(problems: tuple[str, ...]) -> None:
    """Each call that seccomp refuses, and each way out that Landlock closes, is among them."""
    told = "\n".join(problems)
    names = [*syscalls.architecture().refused, *syscalls.NOT_THERE]
    assert [n for n in names if f"seccomp: {n} is" not in told] == []
    for way in ("connecting", "a namespace", "a socket of family 2", "a filter"):
        assert f"seccomp: {way}" in told
    for way in (
        "reading a public file",
        "writing",
        "making",
        "listing",
        "/etc/passwd",
        "signalling",
    ):
        assert any(p.startswith("landlock: ") and way in p for p in problems)


def test_require_names_the_layer_and_the_setting() -> None:
    layers = dict.fromkeys(isolation.LAYERS, True) | {"network": False}
    found = isolation.Isolation("reduced", layers, ("network: unshare refused",))
    isolation.require("reduced", found)
    with pytest.raises(PrerequisiteError, match=r"network.*unshare refused.*MIN_ISOLATION"):
        isolation.require("standard", found)


def test_confinement_uses_what_holds_and_no_more(tmp_path: Path) -> None:
    layers = dict.fromkeys(isolation.LAYERS, True)
    full = isolation.Isolation("standard", layers)
    assert full.confinement(61_000, LIMITS, tmp_path).chosen == confinement_module.LAYERS
    docker = isolation.Isolation("reduced", layers | {"network": False, "mounts": False})
    chosen = docker.confinement(61_000, LIMITS, tmp_path).chosen
    assert chosen == {"ipc", "landlock", "seccomp"}
    laptop = isolation.Isolation("reduced", layers | {"uid": False, "landlock": False})
    assert laptop.confinement(None, LIMITS, tmp_path) == Confinement(
        None, LIMITS, tmp_path, frozenset({"seccomp"})
    )
    assert laptop.summary.startswith("reduced (network, ")
    assert "landlock" not in laptop.summary
    with pytest.raises(ValueError, match="user id"):
        full.confinement(None, LIMITS, tmp_path)


@root
def test_the_command_is_another_user_without_capabilities_or_network(box: Confinement) -> None:
    status = "while read -r k v; do case $k in CapEff:|NoNew*|Seccomp:) echo $k $v;; esac; done"
    done = shell(f"id -u; id -g; id -G; {status} < /proc/self/status; umask; pwd", box)
    uid = box.uid
    assert done.output_tail.split() == [
        *(str(uid),) * 3,
        *("CapEff:", "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2", "0077", str(box.scratch)),
    ]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = python(
            f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=5)", box
        )
    assert "PermissionError" in done.output_tail


def test_nothing_of_our_environment_or_descriptors_is_inherited(box: Confinement) -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        done = shell(
            "cd /proc/self/fd; echo *; cd /; env", box, env={"PATH": "/usr/bin:/bin", "GIVEN": "1"}
        )
    finally:
        os.close(read)
        os.close(write)
    lines = done.output_tail.split()
    assert lines[:4] == ["0", "1", "2", "3"]  # 3 is the shell reading the directory
    assert sorted(line for line in lines[4:] if not line.startswith(("PWD", "OLDPWD"))) == [
        "GIVEN=1",
        "PATH=/usr/bin:/bin",
    ]


def test_system_users_are_refused_before_anything_starts() -> None:
    for uid in (0, 1, 999):
        with pytest.raises(ValueError, match="system user"):
            Confinement(uid, LIMITS)
        with pytest.raises(ValueError, match="system user"):
            Tree(os.getpid(), uid)


def test_a_parent_that_died_before_is_noticed() -> None:
    read, write = os.pipe()

    def work() -> None:
        try:
            confine(Confinement(None, LIMITS), parent=os.getppid() + 1)
        except OSError as error:
            os.write(write, type(error).__name__.encode())

    child = forked(work)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as file:
        assert file.read() == "ProcessLookupError"


def test_a_confined_child_dies_with_its_parent(box: Confinement) -> None:
    read, write = os.pipe()

    def child(parent: int) -> None:
        close_all_but([2, write])  # a long run of tests has more open than the box allows
        confine(box, parent=parent)
        os.write(write, f"{os.getpid()}\n".encode())
        signal.pause()

    def work() -> None:
        me = os.getpid()
        forked(lambda: child(me))
        os.close(write)
        signal.pause()

    parent = forked(work)
    os.close(write)
    with os.fdopen(read) as file:
        child_pid = int(file.readline())
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    until(lambda: not alive(child_pid))


def test_close_all_but_keeps_what_it_is_told() -> None:
    kept, told = os.pipe()
    closed, other = os.pipe()

    def work() -> None:
        close_all_but([told])
        fds = sorted(int(n) for n in os.listdir("/proc/self/fd"))
        os.write(told, b"yes" if fds[-1] == told or fds[:1] == [0] else b"no")
        os._exit(0 if set(fds) <= {0, told} else 1)

    child = forked(work)
    _, status = os.waitpid(child, 0)
    for fd in (told, closed, other):
        os.close(fd)
    os.close(kept)
    assert os.waitstatus_to_exitcode(status) == 0


# --- bounds ----------------------------------------------------------------------------------


def test_a_time_limit_ends_the_command(box: Confinement) -> None:
    done = shell("echo begun; sleep 60", box, timeout_s=0.5)
    assert done.timed_out
    assert done.returncode == -signal.SIGKILL
    assert done.seconds < 5
    assert done.output_tail == "begun\n"


def test_processor_time_is_limited(box: Confinement) -> None:
    box = replace(box, limits=replace(LIMITS, cpu_s=1))
    done = shell("while :; do :; done", box)
    assert (done.timed_out, done.limit) == (False, "cpu")


def test_a_file_cannot_grow_past_its_limit(box: Confinement) -> None:
    done = shell("exec head -c 3000000 /dev/zero > big", box)
    assert done.limit == "file_size"
    assert box.scratch is not None
    assert (box.scratch / "big").stat().st_size == LIMITS.file_bytes


@root
def test_a_fork_bomb_is_bounded_and_ends(box: Confinement) -> None:
    assert box.uid is not None
    done = shell("f() { f | f & }; f; sleep 60", box, timeout_s=1.0)
    assert done.timed_out
    assert kill_processes(box.uid) == 0


def test_memory_of_the_whole_tree_is_watched(box: Confinement) -> None:
    program = "import os, signal; os.fork(); b = bytearray(60 << 20); signal.pause()"
    done = python(program, box, memory_bytes=100 << 20)
    assert (done.limit, done.timed_out) == ("memory", False)


def test_a_flood_of_output_is_drained_and_its_end_kept(box: Confinement) -> None:
    done = shell("head -c 20000000 /dev/zero | tr '\\0' x; echo the end", box)
    assert done.returncode == 0
    assert len(done.output_tail) == 4096
    assert done.output_tail.endswith("xxxthe end\n")


def test_input_is_what_was_given(box: Confinement) -> None:
    assert shell("cat", box, stdin=b"hello").output_tail == "hello"
    assert shell("cat", box).output_tail == ""


def test_a_channel_is_descriptor_three(box: Confinement) -> None:
    channel = os.memfd_create("channel")
    try:
        shell("echo said >&3", box, channel=channel)
        assert os.pread(channel, 100, 0) == b"said\n"
    finally:
        os.close(channel)


def test_what_poll_raises_ends_the_command(box: Confinement) -> None:
    class EnoughError(Exception):
        pass

    seen: list[int] = []

    def poll() -> None:
        pids = [int(p) for p in os.listdir("/proc") if p.isdigit() and _runs(int(p), b"sleep 61")]
        if pids:
            seen.extend(pids)
            raise EnoughError

    with pytest.raises(EnoughError):
        shell("sleep 61", box, poll=poll)
    assert not any(alive(pid) for pid in seen)


def _runs(pid: int, command: bytes) -> bool:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return line.strip() == command


def test_a_command_that_does_not_exist_is_our_error(box: Confinement) -> None:
    with pytest.raises(InfrastructureError, match="/no/such/program"):
        run(["/no/such/program"], confinement=box, env={}, timeout_s=5, output_limit_bytes=100)
    with pytest.raises(ValueError, match="absolute"):
        run(["sh"], confinement=box, env={}, timeout_s=5, output_limit_bytes=100)


def test_commands_run_side_by_side_from_threads(pool: UidPool, tmp_path: Path) -> None:
    results: list[str] = []

    def one() -> None:
        with contextlib.ExitStack() as stack:
            uid = stack.enter_context(pool.lease()) if ROOT else None
            results.append(shell("id -u", Confinement(uid, LIMITS)).output_tail.strip())

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    if ROOT:
        assert len(set(results)) == 4


# --- the end of a tree -----------------------------------------------------------------------

ORPHAN = """
import os, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        open("orphan", "w").write(str(os.getpid()))
        signal.pause()
    os._exit(0)
os.wait()
import time
while not (os.path.exists("orphan") and open("orphan").read()): time.sleep(0.01)
"""


@root
def test_a_double_forked_grandchild_in_a_session_of_its_own_dies(box: Confinement) -> None:
    assert box.scratch is not None
    done = python(ORPHAN, box)
    assert done.returncode == 0, done.output_tail
    assert not alive(int((box.scratch / "orphan").read_text()))


@root
def test_a_process_that_keeps_changing_its_pid_is_caught(box: Confinement) -> None:
    assert box.uid is not None
    comet = "import os\nwhile True:\n  if os.fork(): os._exit(0)\n  os.setsid()"
    python(comet, box)
    assert kill_processes(box.uid) == 0


@root
def test_kill_uid_removes_what_was_left_in_shared_places(pool: UidPool, tmp_path: Path) -> None:
    with pool.lease() as uid:
        left = [Path("/dev/shm") / f"left-{uid}", Path("/tmp") / f"left-{uid}"]
        left[0].write_text("x")
        left[1].mkdir()
        (left[1] / "inner").write_text("x")
        for path in left:
            os.chown(path, uid, uid)
        kill_uid(uid)
        assert not any(path.exists() for path in left)


def test_system_users_ourselves_and_strangers_are_never_swept(pool: UidPool) -> None:
    with pytest.raises(ValueError, match="system user"):
        kill_uid(0)
    with pytest.raises(ValueError, match="system user"):
        kill_uid(999)
    with pytest.raises(ValueError, match="our own"):
        kill_uid(os.getuid())
    with pytest.raises(ValueError, match="not of the pool"):
        pool.kill_uid(pool.base + pool.size)
    with pytest.raises(ValueError, match="starts at"):
        UidPool(0, Path("/nowhere"))


# --- uids ------------------------------------------------------------------------------------


@root
def test_leases_are_distinct_and_come_back(pool: UidPool) -> None:
    with pool.lease() as one, pool.lease() as two:
        assert one != two
    with pool.lease() as again:
        assert again == one


@root
def test_a_full_pool_says_so(tmp_path: Path) -> None:
    pool = UidPool(61_200, tmp_path, size=1)
    with pool.lease(), pytest.raises(InfrastructureError, match="all 1 user ids"), pool.lease():
        pass


@root
def test_a_dead_holder_frees_its_slot(tmp_path: Path) -> None:
    pool = UidPool(61_200, tmp_path, size=1)
    read, write = os.pipe()

    def work() -> None:
        with pool.lease():
            os.write(write, b"1")
            signal.pause()

    holder = forked(work)
    os.read(read, 1)
    with pytest.raises(InfrastructureError), pool.lease():
        pass
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)
    with pool.lease() as uid:
        assert uid == 61_200
    os.close(read)
    os.close(write)


# --- closed directories ----------------------------------------------------------------------


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    folder = tmp_path / "closed"
    (folder / "deep" / "tree").mkdir(parents=True)
    (folder / "deep" / "tree" / "file").write_text("inside")
    (folder / "secret").write_text("secret")
    folder.chmod(0o700)
    return folder


@root
def test_an_exposed_tree_is_readable_and_its_neighbours_are_gone(
    box: Confinement, closed: Path
) -> None:
    tree = closed / "deep" / "tree"
    assert "Permission denied" in shell(f"cat {tree}/file", box).output_tail
    done = shell(
        f"cat {tree}/file; echo; ls {closed} {closed}/deep; touch {tree}/new {closed}/new",
        replace(box, reads=(str(tree),), layers=confinement_module.LAYERS - {"landlock"}),
    )
    assert done.output_tail.startswith("inside\n")
    assert "secret" not in done.output_tail
    assert done.output_tail.count("ead-only file system") == 2
    assert (closed / "secret").read_text() == "secret"


@root
def test_a_scratch_directory_below_a_closed_one_is_writable(box: Confinement, closed: Path) -> None:
    scratch = closed / "scratch"
    scratch.mkdir(mode=0o700)
    os.chown(scratch, box.uid, box.uid)  # type: ignore[arg-type]
    done = shell("echo written > here", replace(box, scratch=scratch))
    assert done.returncode == 0, done.output_tail
    assert (scratch / "here").read_text() == "written\n"


@root
def test_this_interpreter_and_torch_run_under_another_user(box: Confinement) -> None:
    done = python(
        f"import sys, importlib.util as u; sys.path[:] = {sys.path!r}; "
        "print(u.find_spec('torch').name)",
        box,
    )
    assert done.output_tail == "torch\n"


@root
def test_a_tree_closed_in_itself_is_a_prerequisite_with_the_fix(
    box: Confinement, closed: Path
) -> None:
    tree = closed / "deep" / "tree"
    tree.chmod(0o700)
    with pytest.raises(PrerequisiteError, match=rf"chmod o\+rX {tree}"):
        shell("true", replace(box, reads=(str(tree),)))
    with pytest.raises(PrerequisiteError, match="No such file"):
        shell("true", replace(box, reads=(str(closed / "absent"),)))


def test_blocked_ancestor_is_the_topmost(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "a"):
        folder.chmod(0o755)
    (tmp_path / "a" / "b").chmod(0o700)
    blocked = mounts.blocked_ancestor(str(inner / "x"))
    tops = [p for p in reversed(inner.parents) if not p.stat().st_mode & 0o001]
    assert blocked == str(tops[0])


# --- a zygote ---------------------------------------------------------------------------------

ZYGOTE = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from reward_service.sandbox import libc, mounts
from reward_service.sandbox.confine import Confinement, Limits, close_all_but, confine
from reward_service.sandbox.trees import interpreter
import torch
reads = interpreter()
closed, scratch, uid = sys.argv[2], sys.argv[3], int(sys.argv[4])
mounts.expose(writable=[scratch])
libc.adopt_orphans()
me = os.getpid()
child = os.fork()
if child == 0:
    begun = time.monotonic()
    close_all_but([1, 2])
    confine(Confinement(uid, Limits(60, 1 << 20, 64, 64), Path(scratch), None, reads), parent=me)
    seconds = time.monotonic() - begun
    import colorsys, sqlite3, ssl  # what had not been imported can still be
    a = torch.ones(64, 64)
    os.write(1, json.dumps([
        os.getuid(), (a @ a)[0, 0].item(), seconds, os.access(closed, os.F_OK), os.getcwd()
    ]).encode())
    os._exit(0)
os.waitpid(child, 0)
"""


@root
def test_a_forked_child_of_a_process_with_torch_is_confined_in_milliseconds(
    pool: UidPool, closed: Path
) -> None:
    pytest.importorskip("torch")
    scratch = closed / "scratch"
    scratch.mkdir(mode=0o700)
    package_root = str(Path(isolation.__file__).parents[2])
    with pool.lease() as uid:
        os.chown(scratch, uid, uid)
        arguments = [package_root, str(closed / "secret"), str(scratch), str(uid)]
        done = subprocess.run(
            [sys.executable, "-I", "-c", ZYGOTE, *arguments],
            capture_output=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()
    who, product, seconds, sees_secret, where = json.loads(done.stdout)
    assert (who, product, sees_secret, where) == (uid, 64.0, False, str(scratch))
    assert seconds < 0.5
    assert (closed / "secret").exists()


# --- boxes -----------------------------------------------------------------------------------


def test_boxes_remove_what_the_dead_left_and_nothing_else(tmp_path: Path) -> None:
    with Boxes.prepare(tmp_path, 61_000) as living:
        abandoned = living.folder.parent / "abandoned"
        (abandoned / "inner").mkdir(parents=True)
        (abandoned / "lock").write_text("")
        unknown = living.folder.parent / "unknown"
        unknown.mkdir()
        with Boxes.prepare(tmp_path, 61_000) as other:
            assert living.folder.exists()
            assert other.folder.exists()
            assert not abandoned.exists()
            assert unknown.exists()
        assert not other.folder.exists()
    assert not living.folder.exists()


def test_a_box_has_a_scratch_of_its_own_that_goes_with_it(tmp_path: Path) -> None:
    with Boxes.prepare(tmp_path, 61_000) as boxes:
        with boxes.open(LIMITS) as one, boxes.open(LIMITS) as two:
            assert one.scratch is not None
            assert one.scratch != two.scratch
            assert (one.uid == two.uid) == (not ROOT)
            done = shell(f"echo x > here; ls {two.scratch}", one)
            assert (one.scratch / "here").exists()
            if ROOT:
                assert "Permission denied" in done.output_tail or "No such" in done.output_tail
        assert not one.scratch.exists()
