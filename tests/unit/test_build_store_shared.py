"""Either home of the artifact store, with many processes at once and with processes killed."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from reward_service.build.store import ArtifactStore
from reward_service.build.store_directory import DirectoryStore
from reward_service.build.store_redis import ON_ITS_WAY_S, RedisStore
from reward_service.jobs import keys
from reward_service.jobs.connection import connect

SPAWN = multiprocessing.get_context("spawn")
SIZE = 20_000
MOST = 10 * (SIZE + 1000)
KEYS = [f"{n:02x}" * 32 for n in range(24)]
Opened = Callable[[str], ArtifactStore]


def open_home(url: str | None, folder: Path, host: str) -> ArtifactStore:
    """One directory for all, or a directory a host around Valkey."""
    if url is None:
        return DirectoryStore(folder / "shared", MOST)
    return RedisStore(connect(url), DirectoryStore(folder / host, MOST), MOST)


def content(key: str) -> bytes:
    """The one content that goes with a key."""
    return hashlib.shake_256(key.encode()).digest(SIZE)


@pytest.fixture(params=["directory", "redis"])
def url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    if request.param == "directory":
        yield None
    else:
        found = request.getfixturevalue("valkey")
        with connect(found) as client:
            client.flushall()
        yield found


def _work(url: str | None, folder: Path, host: str, rounds: int, go: Path) -> None:
    """Put and read every key, in an order of one's own, and fail on a wrong content."""
    store = open_home(url, folder, host)
    module = folder / f"{host}.so"
    (folder / f"{host}.ready").touch()
    while not go.exists():
        time.sleep(0.001)
    for number in range(rounds):
        key = KEYS[hash((host, number)) % len(KEYS)]
        if store.read(key) is None:
            module.write_bytes(content(key))
            store.put(key, module, {"by": host})
        assert store.read(key) in (None, content(key)), "an entry in part, or of another key"


def _start(url: str | None, folder: Path, host: str, rounds: int) -> SpawnProcess:
    process = SPAWN.Process(target=_work, args=(url, folder, host, rounds, folder / "go"))
    process.start()
    return process


def _until(look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def _check_whole(url: str | None, folder: Path) -> None:
    """Every entry is whole; and once more is put, no more is kept than may be."""
    (folder / "next.so").write_bytes(b"next")
    for host in ("0", "1", "2"):
        store = open_home(url, folder, host)
        assert all(store.read(key) in (None, content(key)) for key in KEYS)
        key = os.urandom(32).hex()
        store.put(key, folder / "next.so", {})
        assert store.read(key) == b"next", "the store goes on working"
    for root in folder.iterdir():
        if root.is_dir():
            entries = list(root.glob("??/*/*"))
            assert sum(path.stat().st_size for path in entries) <= MOST
    if url is not None:
        with connect(url) as client:
            used = {key.decode() for key in client.zrange(keys.ARTIFACTS_USED, 0, -1)}
            books = {k.decode(): int(v) for k, v in client.hgetall(keys.ARTIFACTS_BYTES).items()}
            total = books.pop("total")
            del books["uses"]
            assert set(books) == used
            assert sum(books.values()) == total <= MOST
            for name in client.scan_iter(keys.artifact("*")):
                if name.decode().removeprefix(keys.artifact("")) not in used:
                    assert 0 < client.ttl(name) <= ON_ITS_WAY_S, f"{name} would stay for ever"


def test_many_processes_share_a_store(url: str | None, tmp_path: Path) -> None:
    workers = [_start(url, tmp_path, str(n), 80) for n in range(3)]
    _until(lambda: len(list(tmp_path.glob("*.ready"))) == 3)
    (tmp_path / "go").touch()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    _check_whole(url, tmp_path)
    assert not list(tmp_path.glob("*/new-*"))


def test_processes_killed_in_the_middle_leave_whole_entries(
    url: str | None, tmp_path: Path
) -> None:
    (tmp_path / "go").touch()
    for _ in range(4):
        workers = [_start(url, tmp_path, str(n), 1_000_000) for n in range(2)]
        _until(lambda: len(list(tmp_path.glob("*.ready"))) == 2)
        time.sleep(os.urandom(1)[0] / 2000)  # any moment will do, and each time another
        for worker in workers:
            worker.kill()
            worker.join()
        for ready in tmp_path.glob("*.ready"):
            ready.unlink()
        _check_whole(url, tmp_path)
