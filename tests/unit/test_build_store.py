"""The artifact store in a directory: whole entries or none, verified, bounded."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from reward_service.build.store_directory import DirectoryStore, module_name
from reward_service.errors import StoreError

KEY = "ab" * 32
OTHER = "cd" * 32
MOST = 2000


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.so"
    path.write_bytes(b"module" * 100)
    return path


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "store", 1 << 20)


def test_what_was_put_is_found(store: DirectoryStore, module: Path) -> None:
    assert store.get(KEY) is None
    assert store.meta(KEY) is None
    path = store.put(KEY, module, {"log_tail": "x"})
    assert path == store.root / "ab" / KEY / f"{module_name(KEY)}.so"
    assert store.get(KEY) == path
    assert path.read_bytes() == store.read(KEY) == module.read_bytes()
    meta = store.meta(KEY)
    assert meta is not None
    assert meta["log_tail"] == "x"
    assert [p.name for p in store.root.iterdir()] == ["ab"]


def test_entries_are_readable_by_all_and_writable_by_us(
    store: DirectoryStore, module: Path
) -> None:
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
def test_a_damaged_entry_is_removed(store: DirectoryStore, module: Path, damage: str) -> None:
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


def test_failures_are_kept_apart(store: DirectoryStore) -> None:
    assert store.get_failure(KEY) is None
    store.put_failure(KEY, {"reason": "BUILD_FAILED"})
    assert store.get_failure(KEY) == {"reason": "BUILD_FAILED"}
    assert store.get(KEY) is None


def test_the_first_of_two_stays(store: DirectoryStore, module: Path) -> None:
    store.put(KEY, module, {"n": 1})
    store.put(KEY, module, {"n": 2})
    meta = store.meta(KEY)
    assert meta is not None
    assert meta["n"] == 1
    assert [p.name for p in store.root.iterdir()] == ["ab"]


def test_the_least_recently_used_go_first(tmp_path: Path, module: Path) -> None:
    store = DirectoryStore(tmp_path / "store", 2500)
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
    store = DirectoryStore(tmp_path / "store", 10)
    assert store.put(KEY, module, {}).exists()
    store.put(OTHER, module, {})
    assert store.get(KEY) is None
    assert store.get(OTHER) is not None


def test_what_a_dead_process_left_is_removed_later(store: DirectoryStore, module: Path) -> None:
    old, fresh = store.root / "new-1-x", store.root / "new-1-y"
    for folder in (old, fresh):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    store.put(KEY, module, {})
    assert not old.exists()
    assert fresh.exists()


@pytest.mark.parametrize("key", ["", "../../etc", "AB" * 32, "ab" * 31, f"{KEY}/x", f"{KEY}\n"])
def test_only_keys_are_keys(store: DirectoryStore, key: str) -> None:
    with pytest.raises(ValueError, match="not an artifact key"):
        store.get(key)


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path, module: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="artifact store"):
        DirectoryStore(tmp_path / "file" / "store", 1).put(KEY, module, {})


class LeastRecentlyUsed(RuleBasedStateMachine):
    """Against a list of keys, the latest used last; the store must drop from its front."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = DirectoryStore(Path(self.folder.name) / "store", MOST)
        self.used: list[str] = []
        self.sizes: dict[str, int] = {}

    def teardown(self) -> None:
        self.folder.cleanup()

    def size(self, key: str) -> int:
        return sum(f.stat().st_size for f in self.store.path(key).parent.iterdir())

    @rule(n=st.integers(0, 9), bytes_=st.integers(0, MOST), failed=st.booleans())
    def put(self, n: int, bytes_: int, failed: bool) -> None:
        key = f"{n:02x}" * 32
        if key in self.used:
            return
        if failed:
            self.store.put_failure(key, {"message": "x" * bytes_})
        else:
            self.store.put_content(key, b"x" * bytes_, {})
        self.used.append(key)
        self.sizes[key] = self.size(key)
        while len(self.used) > 1 and sum(self.sizes[k] for k in self.used) > MOST - MOST // 16:
            self.used.pop(0)

    @rule(n=st.integers(0, 9))
    def use(self, n: int) -> None:
        key = f"{n:02x}" * 32
        found = self.store.get(key) is not None or self.store.get_failure(key) is not None
        assert found == (key in self.used)
        if found:
            self.used.remove(key)
            self.used.append(key)

    @invariant()
    def keeps_what_was_used_last(self) -> None:
        assert {p.name for p in self.store.root.glob("??/*")} == set(self.used)
        assert not list(self.store.root.glob("new-*"))


TestLeastRecentlyUsed = LeastRecentlyUsed.TestCase
TestLeastRecentlyUsed.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
