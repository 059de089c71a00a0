"""The artifact store: whole entries or none, verified, bounded, shared between processes."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from reward_service.build.store import ArtifactStore, module_name
from reward_service.errors import StoreError

KEY = "ab" * 32
OTHER = "cd" * 32


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.so"
    path.write_bytes(b"module" * 100)
    return path


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "store", 1 << 20)


def test_what_was_put_is_found(store: ArtifactStore, module: Path) -> None:
    assert store.get(KEY) is None
    assert store.meta(KEY) is None
    path = store.put(KEY, module, {"log_tail": "x"})
    assert path == store.root / "ab" / KEY / f"{module_name(KEY)}.so"
    assert store.get(KEY) == path
    assert path.read_bytes() == module.read_bytes()
    meta = store.meta(KEY)
    assert meta is not None
    assert meta["log_tail"] == "x"
    assert [p.name for p in store.root.iterdir()] == ["ab"]


def test_entries_are_readable_by_all_and_writable_by_us(store: ArtifactStore, module: Path) -> None:
    before = os.umask(0o077)
    try:
        path = store.put(KEY, module, {})
    finally:
        os.umask(before)
    for folder in (path.parent, path.parent.parent, store.root):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o644


@pytest.mark.parametrize("damage", ["module", "meta", "gone"])
def test_a_damaged_entry_is_removed(store: ArtifactStore, module: Path, damage: str) -> None:
    path = store.put(KEY, module, {})
    if damage == "module":
        path.write_bytes(b"other")
    elif damage == "meta":
        path.with_name("meta.json").write_text("{")
    else:
        path.unlink()
    assert store.get(KEY) is None
    assert not path.parent.exists()
    store.put(KEY, module, {})
    assert store.get(KEY) == path


def test_failures_are_kept_apart(store: ArtifactStore) -> None:
    assert store.get_failure(KEY) is None
    store.put_failure(KEY, {"reason": "BUILD_FAILED"})
    assert store.get_failure(KEY) == {"reason": "BUILD_FAILED"}
    assert store.get(KEY) is None


def test_the_first_of_two_stays(store: ArtifactStore, module: Path) -> None:
    store.put(KEY, module, {"n": 1})
    store.put(KEY, module, {"n": 2})
    meta = store.meta(KEY)
    assert meta is not None
    assert meta["n"] == 1
    assert [p.name for p in store.root.iterdir()] == ["ab"]


def test_the_least_recently_used_go_first(tmp_path: Path, module: Path) -> None:
    store = ArtifactStore(tmp_path / "store", 2500)
    keys = [f"{n:02x}" * 32 for n in range(4)]
    for n, key in enumerate(keys[:3]):
        store.put(key, module, {})
        os.utime(store.root / key[:2] / key, (1000 + n, 1000 + n))
    assert store.get(keys[0]) is not None  # used again
    store.put(keys[3], module, {})
    assert [store.get(k) is not None for k in keys] == [True, False, True, True]


def test_an_entry_larger_than_the_store_is_still_there_when_put(
    tmp_path: Path, module: Path
) -> None:
    store = ArtifactStore(tmp_path / "store", 10)
    assert store.put(KEY, module, {}).exists()
    store.put(OTHER, module, {})
    assert store.get(KEY) is None
    assert store.get(OTHER) is not None


def test_what_a_dead_process_left_is_removed_later(store: ArtifactStore, module: Path) -> None:
    old, fresh = store.root / "new-1-x", store.root / "new-1-y"
    for folder in (old, fresh):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    store.put(KEY, module, {})
    assert not old.exists()
    assert fresh.exists()


@pytest.mark.parametrize("key", ["", "../../etc", "AB" * 32, "ab" * 31, f"{KEY}/x", f"{KEY}\n"])
def test_only_keys_are_keys(store: ArtifactStore, key: str) -> None:
    with pytest.raises(ValueError, match="not an artifact key"):
        store.get(key)


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path, module: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="artifact store"):
        ArtifactStore(tmp_path / "file" / "store", 1).put(KEY, module, {})


def _work(root: Path, module: Path, wrong: multiprocessing.Queue[str]) -> None:
    store = ArtifactStore(root, 20_000)
    for n in range(60):
        key = f"{n % 20:02x}" * 32
        store.put(key, module, {"n": n})
        path = store.get(key)
        if path is not None:
            try:
                if path.read_bytes() != module.read_bytes():
                    wrong.put(f"{key} holds something else")
            except FileNotFoundError:
                continue  # another process has made room


def test_many_processes_share_a_store(tmp_path: Path) -> None:
    module = tmp_path / "module.so"
    module.write_bytes(os.urandom(2000))
    context = multiprocessing.get_context("spawn")
    wrong: multiprocessing.Queue[str] = context.Queue()
    workers = [
        context.Process(target=_work, args=(tmp_path / "store", module, wrong)) for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert wrong.empty()
    assert not [p for p in (tmp_path / "store").iterdir() if p.name.startswith("new-")]
