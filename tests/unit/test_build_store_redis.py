"""The artifact store in a real Valkey: shared between hosts, whole entries or none, bounded."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from reward_service.build.store import open_store
from reward_service.build.store_directory import DirectoryStore
from reward_service.build.store_redis import ON_ITS_WAY_S, PART_BYTES, RedisStore
from reward_service.errors import PrerequisiteError
from reward_service.jobs import keys
from reward_service.jobs.connection import Client, connect
from reward_service.settings import Settings

KEY = "ab" * 32
OTHER = "cd" * 32
MOST = 100_000


@pytest.fixture
def client(valkey: str) -> Iterator[Client]:
    with connect(valkey) as client:
        client.flushall()
        yield client


class Hosts:
    """Directories of several hosts around one Valkey."""

    def __init__(self, client: Client, folder: Path, max_bytes: int) -> None:
        self.client = client
        self.folder = folder
        self.max_bytes = max_bytes

    def __call__(self, name: str) -> RedisStore:
        return RedisStore(self.client, self.here(name), self.max_bytes)

    def here(self, name: str) -> DirectoryStore:
        return DirectoryStore(self.folder / name, 1 << 30)

    def put(self, name: str, key: str, content: bytes) -> Path:
        module = self.folder / "module.so"
        module.write_bytes(content)
        return self(name).put(key, module, {"log_tail": "x"})

    def there(self) -> list[str]:
        """Keys of the entries in Valkey, the least recently used first; checks its books."""
        used = [key.decode() for key in self.client.zrange(keys.ARTIFACTS_USED, 0, -1)]
        books = self.client.hgetall(keys.ARTIFACTS_BYTES)
        sizes = {k.decode(): int(v) for k, v in books.items() if k not in (b"total", b"uses")}
        assert set(used) == set(sizes)
        assert int(books.get(b"total", 0)) == sum(sizes.values())
        found = {k.decode() for k in self.client.keys(keys.artifact("*"))}
        assert found == {keys.artifact(key) for key in used}
        for key in used:
            entry = self.client.hgetall(keys.artifact(key))
            entry_bytes = sum(len(value) for value in entry.values())
            assert sizes[key] == entry_bytes
            assert self.client.ttl(keys.artifact(key)) == -1
        return used


@pytest.fixture
def hosts(client: Client, tmp_path: Path) -> Hosts:
    return Hosts(client, tmp_path, 1 << 30)


@pytest.mark.parametrize("size", [0, 1, 1000, PART_BYTES, 2 * PART_BYTES + 1])
def test_another_host_finds_what_was_put(hosts: Hosts, size: int) -> None:
    content = os.urandom(size)
    path = hosts.put("builder", KEY, content)
    assert path == hosts.here("builder").path(KEY)
    worker = hosts("worker")
    assert worker.read(KEY) == content
    assert worker.get(KEY) == hosts.here("worker").path(KEY)
    assert hosts.here("worker").read(KEY) == content, "a runner loads a plain file"
    assert worker.meta(KEY) == hosts("builder").meta(KEY)
    meta = worker.meta(KEY)
    assert meta is not None
    assert meta["log_tail"] == "x"
    assert hosts.there() == [KEY]


def test_the_description_alone_brings_the_module_along(hosts: Hosts) -> None:
    hosts.put("builder", KEY, b"module")
    assert hosts("worker").meta(KEY) == hosts("builder").meta(KEY)
    assert hosts.here("worker").read(KEY) == b"module"


def test_what_is_nowhere_is_not_found(hosts: Hosts) -> None:
    store = hosts("a")
    assert (store.get(KEY), store.read(KEY), store.meta(KEY)) == (None, None, None)
    assert store.get_failure(KEY) is None


def test_another_host_finds_failures(hosts: Hosts) -> None:
    hosts("a").put_failure(KEY, {"reason": "BUILD_FAILED", "message": "ü"})
    assert hosts("b").get_failure(KEY) == {"reason": "BUILD_FAILED", "message": "ü"}
    assert hosts.here("b").get_failure(KEY) is not None
    assert hosts("b").get(KEY) is None
    assert hosts.there() == [KEY]


def test_the_first_of_two_stays(hosts: Hosts) -> None:
    hosts.put("a", KEY, b"first")
    hosts.put("b", KEY, b"second")
    assert hosts("c").read(KEY) == b"first"
    assert hosts.there() == [KEY]


@pytest.mark.parametrize(
    ("field", "value"), [("0", b"modulf"), ("0", b""), ("meta", b"{"), ("meta", b"[]")]
)
def test_a_damaged_module_is_removed_and_can_be_put_again(
    hosts: Hosts, field: str, value: bytes
) -> None:
    hosts.put("a", KEY, b"module")
    hosts.client.hset(keys.artifact(KEY), field, value)
    assert hosts("b").read(KEY) is None
    assert not hosts.client.exists(keys.artifact(KEY))
    assert hosts("a").read(KEY) == b"module", "who has it puts it back"
    assert hosts("b").read(KEY) == b"module"


def test_a_damaged_failure_is_removed(hosts: Hosts) -> None:
    hosts("a").put_failure(KEY, {})
    hosts.client.hset(keys.artifact(KEY), "failure", "{")
    assert hosts("b").get_failure(KEY) is None
    assert not hosts.client.exists(keys.artifact(KEY))


def test_damage_in_the_directory_is_mended_from_valkey(hosts: Hosts) -> None:
    path = hosts.put("a", KEY, b"module")
    path.write_bytes(b"modulf")
    assert hosts("a").read(KEY) == b"module"
    assert path.read_bytes() == b"module"


def test_a_use_here_puts_back_what_was_removed_there(hosts: Hosts) -> None:
    hosts.put("builder", KEY, b"module")
    hosts.client.flushall()
    assert hosts("worker").get(KEY) is None
    assert hosts("builder").get(KEY) is not None
    assert hosts("worker").read(KEY) == b"module"


def test_a_module_of_more_than_a_quarter_stays_here(client: Client, tmp_path: Path) -> None:
    hosts = Hosts(client, tmp_path, 4000)
    hosts.put("a", KEY, bytes(1001))
    assert hosts("a").read(KEY) == bytes(1001)
    assert hosts("b").read(KEY) is None
    hosts.put("a", OTHER, bytes(1000))
    assert hosts("b").read(OTHER) == bytes(1000)
    assert hosts.there() == [OTHER]


def test_what_is_on_its_way_expires(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A writer that stops between the parts and the script leaves nothing for good."""
    seen = []

    def stop(*_: object) -> int:
        (name,) = hosts.client.keys(keys.artifact_on_its_way("*"))
        seen.append(hosts.client.ttl(name))
        hosts.client.delete(name)
        return int(publish(*_))

    store = hosts("a")
    publish = store._publish
    monkeypatch.setattr(store, "_publish", stop)
    module = hosts.folder / "module.so"
    module.write_bytes(b"x")
    assert store.put(KEY, module, {}).read_bytes() == b"x"
    assert "took too long" in caplog.text
    assert 0 < seen[0] <= ON_ITS_WAY_S
    assert hosts.there() == []


def test_without_memory_there_a_host_goes_on_and_says_so(
    hosts: Hosts, caplog: pytest.LogCaptureFixture
) -> None:
    hosts.client.config_set("maxmemory", "1")
    try:
        hosts.put("a", KEY, b"module")
        assert "maxmemory" in caplog.text
        assert hosts("a").read(KEY) == b"module"
        assert hosts("b").read(KEY) is None
    finally:
        hosts.client.config_set("maxmemory", "0")
    assert hosts("a").read(KEY) == b"module"
    assert hosts("b").read(KEY) == b"module", "it is there as soon as it can be"


def test_without_a_server_a_host_goes_on_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hosts = Hosts(connect("unix:///nowhere/v.sock", retries=0), tmp_path, 1 << 30)
    hosts.put("a", KEY, b"module")
    hosts("a").put_failure(OTHER, {"reason": "x"})
    assert hosts("a").read(KEY) == b"module"
    assert hosts("a").get_failure(OTHER) == {"reason": "x"}
    assert hosts("b").read(KEY) is None
    assert hosts("b").get_failure(OTHER) is None
    assert "does not answer" in caplog.text


def test_the_settings_choose_the_home(valkey: str, client: Client, tmp_path: Path) -> None:
    assert isinstance(open_store(Settings(state_dir=tmp_path)), DirectoryStore)
    chosen = Settings(state_dir=tmp_path / "a", artifact_store="redis", redis_url=valkey)
    module = tmp_path / "module.so"
    module.write_bytes(b"module")
    open_store(chosen).put(KEY, module, {})
    elsewhere = chosen.model_copy(update={"state_dir": tmp_path / "b"})
    assert open_store(elsewhere).read(KEY) == b"module"
    with pytest.raises(PrerequisiteError, match="no REDIS_URL"):
        open_store(Settings(state_dir=tmp_path, artifact_store="redis", redis_url=None))


def least_recently_used(url: str) -> type[RuleBasedStateMachine]:
    class LeastRecentlyUsed(RuleBasedStateMachine):
        """Against a list of keys, the latest used last; Valkey must drop from its front."""

        @initialize()
        def start(self) -> None:
            self.folder = tempfile.TemporaryDirectory()
            client = connect(url)
            client.flushall()
            self.hosts = Hosts(client, Path(self.folder.name), MOST)
            self.used: list[str] = []
            self.kept: dict[str, tuple[str, int]] = {}

        def teardown(self) -> None:
            self.hosts.client.close()
            self.folder.cleanup()

        def enters(self, key: str) -> None:
            """It is the latest; what does not fit any more goes."""
            if key in self.used:
                self.used.remove(key)
            self.used.append(key)
            while sum(self.kept[k][1] for k in self.used) > MOST:
                self.used.pop(0)

        @rule(
            n=st.integers(0, 9),
            bytes_=st.integers(MOST // 8, MOST // 4),
            host=st.sampled_from("ab"),
        )
        def put(self, n: int, bytes_: int, host: str) -> None:
            key = f"{n:02x}" * 32
            if key not in self.kept:
                self.hosts.put(host, key, bytes([n]) * bytes_)
                entry = self.hosts.client.hgetall(keys.artifact(key))
                self.kept[key] = (host, sum(len(value) for value in entry.values()))
                self.enters(key)

        @rule(n=st.integers(0, 9))
        def use_where_it_was_built(self, n: int) -> None:
            key = f"{n:02x}" * 32
            if key in self.kept:
                assert self.hosts(self.kept[key][0]).get(key) is not None
                self.enters(key)

        @rule(n=st.integers(0, 9))
        def use_elsewhere(self, n: int) -> None:
            key = f"{n:02x}" * 32
            found = self.hosts("c").read(key)
            fetched = key in self.used or self.hosts.here("c").path(key).exists()
            assert (found is not None) == fetched
            if found is not None:
                assert set(found) <= {n}
                self.enters(key)

        @invariant()
        def keeps_what_was_used_last(self) -> None:
            assert self.hosts.there() == self.used

    return LeastRecentlyUsed


def test_the_least_recently_used_go_first(valkey: str) -> None:
    machine = least_recently_used(valkey)
    run_state_machine_as_test(
        machine, settings=settings(max_examples=30, stateful_step_count=30, deadline=None)
    )
