"""The moves of an evaluation, on a real Valkey."""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jobs_desk import BUILT, Desk

from reward_service.errors import RequestError, StoreError
from reward_service.jobs import keys
from reward_service.jobs.connection import connect
from reward_service.jobs.store import Store
from reward_service.jobs.tokens import LOCAL
from reward_service.schemas import Reason, State

NEXT = {
    "queued": {"queued", "building", "done"},
    "building": {"queued", "built", "done"},
    "built": {"built", "running", "done"},
    "running": {"queued", "built", "done"},
    "done": set(),
}


@pytest.fixture
def desk(valkey: str) -> Desk:
    return Desk(valkey)


def test_the_usual_way(desk: Desk) -> None:
    id = desk.submit(tags={"a": "b"})
    first = desk.get(id).ticket
    desk.time += 2.0
    claimed = desk.claim(first, "builder")
    assert claimed is not None
    assert claimed.submission.candidate.source == "one"
    assert claimed.problem == "p"
    assert claimed.stages == {"queue": 2.0}
    assert desk.lifecycle.built(first, BUILT, 0.5)
    second = desk.get(id).ticket
    assert second != first
    desk.time += 1.0
    running = desk.claim(second, "worker")
    assert running is not None
    assert running.built == BUILT
    assert running.stages == {"queue": 3.0, "build": 0.5}
    assert desk.lifecycle.finish(second, desk.scored(id))
    assert desk.events(id) == ["queued", "building", "built", "running", "done"]
    done = desk.get(id).evaluation
    assert (done.state, done.verdict, done.tags) == (State.DONE, desk.scored(id), {"a": "b"})
    assert 0 < desk.client.ttl(keys.evaluation(id)) <= desk.settings.result_ttl_s
    assert 0 < desk.client.ttl(keys.by_key("one")) <= desk.settings.result_ttl_s
    assert not desk.client.hexists(keys.evaluation(id), "submission"), "sources are not kept"


def test_of_many_that_claim_a_ticket_one_gets_it(desk: Desk) -> None:
    ticket = desk.get(desk.submit()).ticket
    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(lambda n: desk.claim(ticket, f"w{n}"), range(8)))
    assert sum(record is not None for record in claimed) == 1


def test_a_claim_whose_answer_was_lost_can_be_repeated(desk: Desk) -> None:
    ticket = desk.get(desk.submit()).ticket
    assert desk.claim(ticket, "me") is not None
    assert desk.claim(ticket, "me") is not None
    assert desk.claim(ticket, "another") is None
    assert desk.get(keys.id_of(ticket)).attempts == 1


def test_of_a_result_a_cancel_and_a_deadline_at_once_one_wins(desk: Desk) -> None:
    for _ in range(20):
        id = desk.submit(deadline_s=1.0)
        ticket = desk.get(id).ticket
        desk.claim(ticket, "w")
        desk.time += 2.0
        with ThreadPoolExecutor(3) as pool:
            finish = pool.submit(desk.lifecycle.finish, ticket, desk.failed(id))
            cancel = pool.submit(desk.cancel, id)
            expire = pool.submit(desk.lifecycle.expire, id)
            record = cancel.result()
        assert record is not None
        assert desk.events(id).count("done") == 1
        verdict = desk.get(id).verdict
        assert verdict is not None
        assert finish.result() is (verdict.reason is Reason.INTERNAL)
        assert expire.result() is (verdict.reason is Reason.QUEUE_DEADLINE)


def test_of_many_equal_submissions_one_starts_an_evaluation(desk: Desk) -> None:
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: desk.intake.take(desk.admitted(), LOCAL), range(8)))
    assert len({one.id for one in taken}) == 1
    assert [one.how for one in taken].count("new") == 1
    assert desk.get(taken[0].id).holders == {"local": 8}


def test_joining_extends_the_deadline_and_never_shortens_it(desk: Desk) -> None:
    id = desk.submit(deadline_s=10.0)
    desk.submit(deadline_s=1.0)
    assert desk.get(id).deadline == 1_010.0
    desk.time += 5.0
    desk.submit(deadline_s=20.0)
    assert desk.get(id).deadline == 1_025.0
    desk.time = 1_011.0
    assert not desk.lifecycle.expire(id)
    assert desk.store.overdue() == []
    desk.time = 1_026.0
    assert desk.store.overdue() == [id]
    assert desk.lifecycle.expire(id)


def test_a_stage_is_started_at_most_so_often(desk: Desk) -> None:
    id = desk.submit()
    for attempt in range(desk.settings.max_attempts):
        ticket = desk.get(id).ticket
        assert desk.claim(ticket, f"w{attempt}") is not None
        assert desk.lifecycle.requeue(ticket)
    verdict = desk.get(id).verdict
    assert verdict is not None
    assert (verdict.reason, verdict.retryable) == (Reason.WORKER_LOST, True)


def test_the_build_counts_no_attempt_of_the_judge(desk: Desk) -> None:
    id = desk.submit()
    lost = desk.get(id).ticket
    desk.claim(lost, "b1")
    desk.lifecycle.requeue(lost)
    ticket = desk.get(id).ticket
    desk.claim(ticket, "b2")
    assert desk.lifecycle.built(ticket, BUILT, 0.1)
    assert desk.get(id).attempts == 0


def test_what_was_built_and_has_gone_is_built_again_at_most_so_often(desk: Desk) -> None:
    id = desk.submit()
    for number in range(desk.settings.max_attempts):
        ticket = desk.get(id).ticket
        assert desk.get(id).queue == "build"
        assert not desk.lifecycle.rebuild(ticket, "too early")
        desk.claim(ticket, "builder")
        assert desk.lifecycle.built(ticket, BUILT, 0.1)
        ticket = desk.get(id).ticket
        desk.claim(ticket, "worker")
        assert desk.get(id).rebuilds == number
        assert desk.lifecycle.rebuild(ticket, "it has gone")
        assert not desk.lifecycle.finish(ticket, desk.scored(id)), "its ticket is void"
    verdict = desk.get(id).verdict
    assert verdict is not None
    assert (verdict.reason, verdict.retryable) == (Reason.INTERNAL, True)
    assert verdict.message == "it has gone"


def test_a_full_queue_refuses_new_work_and_nothing_else(valkey: str) -> None:
    desk = Desk(valkey, max_queued=2)
    first = desk.submit("a")
    desk.submit("b")
    with pytest.raises(RequestError) as refused:
        desk.submit("c")
    assert refused.value.status == 429
    assert desk.submit("a") == first
    desk.claim(desk.get(first).ticket, "w")
    desk.submit("c")


def test_a_server_that_is_away_is_a_store_error() -> None:
    store = Store(connect("unix:///nowhere/v.sock", retries=0))
    for call in (store.ping, store.overdue, store.abandoned, store.queues, store.waiting):
        with pytest.raises(StoreError):
            call()
    with pytest.raises(StoreError):
        store.change("x", lambda record, pipe: None)


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("submit", "claim", "built", "scored", "failed", "requeue", "rebuild"),
                *("cancel", "wait", "lose"),
            ]
        ),
        st.integers(0, 7),
    ),
    min_size=4,
    max_size=40,
)


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(OPERATIONS)
def test_no_order_of_moves_breaks_an_evaluation(
    valkey: str, operations: list[tuple[str, int]]
) -> None:
    desk = Desk(valkey)
    ids: list[str] = []
    tickets: list[str] = []
    lost: set[str] = set()
    verdicts: dict[str, str] = {}
    for name, number in operations:
        if name == "submit":
            id = desk.submit(
                f"key {number % 3}", deadline_s=20.0, priority=["train", "eval"][number % 2]
            )
            if id not in ids:
                ids.append(id)
        elif name == "wait":
            desk.time += number
            for id in desk.store.overdue():
                desk.lifecycle.expire(id)
        elif name == "cancel" and ids:
            desk.cancel(ids[number % len(ids)])
        elif name == "lose" and tickets:
            ticket = tickets[number % len(tickets)]
            for queue in ("build", "run:cpu"):
                if desk.client.lrem(f"rq:queue:{queue}", 1, ticket):
                    lost.add(ticket)
        elif tickets:  # any ticket that ever was: most of them are void
            _move(desk, name, tickets[-1 - number % len(tickets)])
        for id in ids:
            ticket = desk.get(id).ticket
            if ticket and ticket not in tickets:
                tickets.append(ticket)
        _check(desk, ids, lost, verdicts)


def _move(desk: Desk, name: str, ticket: str) -> None:
    before = desk.get(keys.id_of(ticket))
    if name == "claim":
        moved = desk.claim(ticket, f"worker of {ticket}") is not None
    elif name == "built":
        moved = desk.lifecycle.built(ticket, BUILT, 0.1)
    elif name == "requeue":
        moved = desk.lifecycle.requeue(ticket)
    elif name == "rebuild":
        moved = desk.lifecycle.rebuild(ticket, "it has gone")
    elif name == "scored":
        moved = desk.lifecycle.finish(ticket, desk.scored(before.id, ticket))
    else:
        moved = desk.lifecycle.finish(ticket, desk.failed(before.id))
    if before.ticket != ticket:
        assert not moved, "a void ticket moves nothing"


def _check(desk: Desk, ids: list[str], lost: set[str], verdicts: dict[str, str]) -> None:
    """What must hold between any two moves."""
    places: dict[str, list[str]] = defaultdict(list)
    for queue, waiting in desk.store.waiting().items():
        listed = desk.queue.tickets(queue)
        assert listed | (lost & set(waiting)) == set(waiting), "RQ has what waits, and no more"
        for ticket in waiting:
            places[ticket].append(queue)
    for ticket in desk.client.smembers(keys.HELD):
        places[ticket.decode()].append("held")
    live = {id.decode() for id in desk.client.zrange(keys.DEADLINES, 0, -1)}
    current = set()
    for id in ids:
        record = desk.get(id)
        events = desk.events(id)
        assert events[0] == "queued"
        assert events[-1] == record.state
        assert all(after in NEXT[before] for before, after in pairwise(events)), events
        assert (id in live) is (record.state is not State.DONE)
        if record.state is State.DONE:
            assert record.ticket == ""
            assert verdicts.setdefault(id, record["verdict"]) == record["verdict"]
        else:
            working = record.state in (State.BUILDING, State.RUNNING)
            assert places[record.ticket] == ["held" if working else record.queue]
            current.add(record.ticket)
    assert set(places) == current, "no void ticket is left anywhere"
