"""Equal shares of the queues: no client's work keeps another's waiting, and none gets lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from jobs_desk import BUILT, Desk, Sweeping

from reward_service.jobs import keys
from reward_service.jobs.tokens import Token
from reward_service.schemas import State

ALICE, BOB, CAROL = CLIENTS = [Token(name=name) for name in ("alice", "bob", "carol")]
QUEUES = ["build", "run:cpu"]
WINDOW = 4


@pytest.fixture
def desk(valkey: str) -> Desk:
    return Desk(valkey, client_window=WINDOW)


def pop(desk: Desk, queue: str) -> str | None:
    """As RQ does for a worker."""
    ticket = desk.client.lpop(f"rq:queue:{queue}")
    return None if ticket is None else ticket.decode()


def served(desk: Desk, queue: str) -> list[str]:
    """Claim all that there is; whose it was, in order."""
    order = []
    while (ticket := pop(desk, queue)) is not None:
        record = desk.lifecycle.claim(ticket, "w")
        assert record is not None
        order.append(record.client)
    return order


def submit(desk: Desk, client: Token, count: int, queue: str = "build") -> list[str]:
    """So many of a client's, brought as far as the queue."""
    ids = []
    for number in range(count):
        desk.time += 0.001
        id = desk.submit(f"{client.name} {number}", client)
        if queue != "build":
            ticket = desk.get(id).ticket
            desk.claim(ticket)
            assert desk.lifecycle.built(ticket, BUILT, 0.1)
        ids.append(id)
    return ids


@pytest.mark.parametrize("queue", QUEUES)
def test_a_small_client_is_served_within_twice_its_fair_share(desk: Desk, queue: str) -> None:
    submit(desk, ALICE, 500, queue)
    submit(desk, BOB, 20, queue)
    order = served(desk, queue)
    assert Counter(order) == {"alice": 500, "bob": 20}
    last = len(order) - order[::-1].index("bob")
    assert last <= 2 * 40, "half of the first forty are its fair share"


def test_clients_with_a_backlog_get_equal_shares_within_a_window(desk: Desk) -> None:
    for client, count in zip(CLIENTS, (200, 60, 90), strict=True):
        submit(desk, client, count)
    order = served(desk, "build")
    so_far: Counter[str] = Counter()
    for client in order[: 3 * (60 - WINDOW)]:
        so_far[client] += 1
        shares = [so_far[client.name] for client in CLIENTS]
        assert max(shares) - min(shares) <= WINDOW, so_far


def test_what_a_client_submitted_first_is_served_first(desk: Desk) -> None:
    ids = submit(desk, ALICE, 3 * WINDOW)
    order = []
    while (ticket := pop(desk, "build")) is not None:
        order.append(keys.id_of(ticket))
        desk.lifecycle.claim(ticket, "w")
    assert order == ids


def test_one_client_alone_is_never_held_up(desk: Desk) -> None:
    submit(desk, ALICE, 100)
    for _ in range(100):
        assert desk.client.llen("rq:queue:build") > 0
        ticket = pop(desk, "build")
        assert ticket is not None
        assert desk.lifecycle.claim(ticket, "w") is not None


def test_urgent_work_goes_to_the_front_though_the_window_is_full(desk: Desk) -> None:
    submit(desk, BOB, WINDOW)
    submit(desk, ALICE, 2 * WINDOW)
    urgent = desk.submit("urgent", ALICE, priority="eval")
    ticket = pop(desk, "build")
    assert ticket is not None
    assert keys.id_of(ticket) == urgent


def test_what_is_withdrawn_makes_room_for_the_next(desk: Desk) -> None:
    ids = submit(desk, ALICE, WINDOW + 2)
    desk.cancel(ids[0], ALICE)
    desk.cancel(ids[-1], ALICE)
    listed = [keys.id_of(t.decode()) for t in desk.client.lrange("rq:queue:build", 0, -1)]
    assert listed == ids[1:-1]


def test_a_lost_worker_s_evaluation_is_the_next_of_its_client(desk: Desk) -> None:
    ids = submit(desk, ALICE, 3 * WINDOW)
    ticket = pop(desk, "build")
    assert ticket is not None
    assert desk.lifecycle.claim(ticket, "w")
    assert desk.lifecycle.requeue(ticket)
    for _ in range(WINDOW):
        assert desk.lifecycle.claim(pop(desk, "build") or "", "w")
    listed = [keys.id_of(t.decode()) for t in desk.client.lrange("rq:queue:build", 0, -1)]
    assert listed[0] == ids[0], "it was accepted before all that waited in the backlog"


def test_a_ticket_missing_from_the_backlog_is_replaced(desk: Desk) -> None:
    ids = submit(desk, ALICE, WINDOW + 1)
    lost = desk.get(ids[-1]).ticket
    desk.client.zrem(keys.backlog("build", "alice"), lost)
    sweeping = Sweeping(desk)
    for _ in range(3):
        sweeping.after(desk.settings.lease_s * 1.1)
    replaced = desk.get(ids[-1]).ticket
    assert replaced != lost
    assert replaced in desk.queue.tickets("build")
    assert served(desk, "build") == ["alice"] * (WINDOW + 1)


def test_a_wider_window_is_filled_by_the_sweeper(desk: Desk, valkey: str) -> None:
    submit(desk, ALICE, 3 * WINDOW)
    wider = Desk(valkey, flush=False, client_window=2 * WINDOW)
    Sweeping(wider).after(0.0)
    assert wider.client.llen("rq:queue:build") == 2 * WINDOW


def test_places_of_tickets_that_wait_no_more_are_freed_by_the_sweeper(desk: Desk) -> None:
    submit(desk, ALICE, 3 * WINDOW)
    for _ in range(WINDOW):  # by workers that know no windows
        ticket = pop(desk, "build")
        desk.client.zrem(keys.waiting("build"), ticket)
    assert desk.client.llen("rq:queue:build") == 0
    Sweeping(desk).after(0.0)
    assert desk.client.llen("rq:queue:build") == WINDOW


def test_work_accepted_before_there_were_clients_goes_on(desk: Desk) -> None:
    id = desk.submit()
    ticket = desk.get(id).ticket
    desk.client.hdel(keys.evaluation(id), "client")
    desk.client.hset(keys.evaluation(id), "holders", 2)
    desk.client.delete(keys.window("build", "local"))
    desk.cancel(id)
    assert desk.get(id).holders == {"local": 1}
    assert desk.claim(ticket) is not None
    assert desk.lifecycle.finish(ticket, desk.scored(id))


class Interleavings(RuleBasedStateMachine):
    """Clients, workers that may die at any moment, and the sweeper, in any order."""

    url = ""
    window = 2

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(
            self.url, client_window=self.window, lease_s=60, max_attempts=1_000, max_queued=1_000
        )
        self.sweeping = Sweeping(self.desk)
        self.ids: list[str] = []
        self.popped: list[str] = []
        self.gone: set[str] = set()
        """Tickets that a worker took out of RQ's list and died."""
        self.held: list[str] = []
        self.claims: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()

    @rule(
        client=st.sampled_from(CLIENTS),
        name=st.integers(0, 30),
        urgent=st.sampled_from([False, False, False, True]),
        deadline_s=st.sampled_from([100.0, 3_000.0]),
    )
    def submit(self, client: Token, name: int, urgent: bool, deadline_s: float) -> None:
        self.desk.time += 0.001
        id = self.desk.submit(
            f"work {name}",
            client,
            priority="eval" if urgent else "train",
            deadline_s=deadline_s,
        )
        if id not in self.ids:
            self.ids.append(id)

    @rule(client=st.sampled_from(CLIENTS), count=st.integers(1, 6))
    def submit_many(self, client: Token, count: int) -> None:
        for _ in range(count):
            self.submit(client, 100 + len(self.ids), False, 3_000.0)

    @rule(queue=st.sampled_from(QUEUES))
    def pop(self, queue: str) -> None:
        ticket = pop(self.desk, queue)
        if ticket is not None:
            self.popped.append(ticket)

    @rule(number=st.integers(0, 5))
    def claim(self, number: int) -> None:
        if self.popped:
            self._claim(self.popped.pop(number % len(self.popped)))

    def _claim(self, ticket: str) -> None:
        current = self.desk.get(keys.id_of(ticket)).ticket == ticket
        claimed = self.desk.lifecycle.claim(ticket, f"worker of {ticket}") is not None
        assert claimed is current
        if claimed:
            self.claims[ticket] += 1
            assert self.claims[ticket] == 1
            self.held.append(ticket)
        self.gone.discard(ticket)

    @rule(number=st.integers(0, 5), dies=st.booleans(), scored=st.booleans())
    def work(self, number: int, dies: bool, scored: bool) -> None:
        if not self.held:
            return
        ticket = self.held.pop(number % len(self.held))
        if dies:
            self.desk.client.delete(keys.lease(ticket))
        else:
            self._finish(ticket, scored)

    def _finish(self, ticket: str, scored: bool) -> None:
        id = keys.id_of(ticket)
        if not scored and self.desk.get(id).state is State.BUILDING:
            self.desk.lifecycle.built(ticket, BUILT, 0.1)
        else:
            self.ends[id] += self.desk.lifecycle.finish(ticket, self.desk.scored(id))

    @rule(number=st.integers(0, 5))
    def die_before_the_claim(self, number: int) -> None:
        if self.popped:
            self.gone.add(self.popped.pop(number % len(self.popped)))

    @rule(client=st.sampled_from(CLIENTS), number=st.integers(0, 30))
    def cancel(self, client: Token, number: int) -> None:
        if self.ids:
            id = self.ids[number % len(self.ids)]
            before = self.desk.get(id)
            self.desk.cancel(id, client)
            after = self.desk.get(id)
            others = {name: n for name, n in before.holders.items() if name != client.name}
            if before.state is not State.DONE and others:
                assert after.state is before.state, "others hold it"
                assert {n: c for n, c in after.holders.items() if n != client.name} == others

    @rule(seconds=st.sampled_from([1.0, 35.0, 70.0]))
    def sweep(self, seconds: float) -> None:
        self.sweeping.after(seconds)

    @invariant()
    def each_waits_in_one_place(self) -> None:
        desk = self.desk
        away = {*self.popped, *self.gone}
        for queue in QUEUES:
            listed = [t.decode() for t in desk.client.lrange(f"rq:queue:{queue}", 0, -1)]
            waiting = {t.decode() for t in desk.client.zrange(keys.waiting(queue), 0, -1)}
            places = list(listed)
            for client in CLIENTS:
                window = {t.decode() for t in desk.client.smembers(keys.window(queue, client.name))}
                backlog = desk.client.zrange(keys.backlog(queue, client.name), 0, -1)
                assert window <= set(listed) | away
                urgent = sum(desk.get(keys.id_of(ticket)).urgent for ticket in window)
                assert len(window) - urgent <= self.window
                assert not backlog or len(window) >= self.window, "none is held back for nothing"
                places += [ticket.decode() for ticket in backlog]
            assert len(places) == len(set(places))
            assert waiting - away <= set(places) <= waiting
        live = {id.decode() for id in desk.client.zrange(keys.DEADLINES, 0, -1)}
        owned = [
            id.decode() for c in CLIENTS for id in desk.client.smembers(keys.unfinished(c.name))
        ]
        assert sorted(owned) == sorted(live), "each counts for the one client that started it"

    def teardown(self) -> None:
        """Whatever happened, workers and sweeper bring it to an end, once each."""
        if not self.url:
            return
        desk = self.desk
        for id in self.ids:  # nobody's patience ends here, so that all must be judged
            desk.client.hset(keys.evaluation(id), "deadline", 1e9)
        for _ in range(100):
            if not desk.client.zcard(keys.DEADLINES):
                break
            self.sweeping.after(70.0)
            for queue in QUEUES:
                while (ticket := pop(desk, queue)) is not None:
                    self._claim(ticket)
            while self.popped:
                self._claim(self.popped.pop())
            while self.held:
                self._finish(self.held.pop(), False)
        assert all(desk.get(id).state is State.DONE for id in self.ids)
        assert all(ends <= 1 for ends in self.ends.values())
        for pattern in ("window", "backlog", "waiting", "unfinished", "held"):
            assert desk.client.keys(f"reward:{pattern}*") == []


def test_no_order_of_events_loses_work_or_does_it_twice(valkey: str) -> None:
    class Here(Interleavings):
        url = valkey

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_clients_and_workers_at_once_lose_nothing(desk: Desk) -> None:
    each, workers = 40, 4
    finished: list[str] = []
    submitting = threading.Event()
    until = time.monotonic() + 30

    def submit_all(client: Token) -> list[str]:
        return [desk.submit(f"{client.name} {n}", client) for n in range(each)]

    def work(queue: str) -> None:
        while time.monotonic() < until:
            last = submitting.is_set() and len(finished) == each * len(CLIENTS)
            ticket = pop(desk, queue)
            if ticket is None and last:
                return
            if ticket is None or desk.lifecycle.claim(ticket, f"worker of {ticket}") is None:
                continue
            id = keys.id_of(ticket)
            if queue == "build":
                assert desk.lifecycle.built(ticket, BUILT, 0.1)
            elif desk.lifecycle.finish(ticket, desk.scored(id)):
                finished.append(id)

    with ThreadPoolExecutor(workers + len(CLIENTS)) as pool:
        working = [pool.submit(work, QUEUES[n % 2]) for n in range(workers)]
        ids = [id for taken in pool.map(submit_all, CLIENTS) for id in taken]
        submitting.set()
        for future in working:
            future.result(60)
    assert sorted(finished) == sorted(ids)
