"""Tokens as Valkey holds them, quotas, and whose submissions a cancel takes away."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from jobs_desk import Desk

from reward_service.digest import sha256
from reward_service.errors import QuotaError, StoreError
from reward_service.jobs import keys
from reward_service.jobs.connection import connect
from reward_service.jobs.tokens import LOCAL, Token, Tokens, require_room
from reward_service.schemas import State

ALICE, BOB = Token(name="alice", max_waiting=3), Token(name="bob")


@pytest.fixture
def desk(valkey: str) -> Desk:
    return Desk(valkey)


@pytest.fixture
def tokens(desk: Desk) -> Tokens:
    return Tokens(desk.client, now=lambda: desk.time)


def test_a_token_is_known_by_its_secret_until_it_is_revoked(tokens: Tokens) -> None:
    secret = tokens.create("alice", 5)
    assert secret is not None
    assert tokens.by_digest() == {sha256(secret): Token(name="alice", created=1e3, max_waiting=5)}
    assert tokens.revoke("alice")
    assert tokens.by_digest() == {}
    assert not tokens.revoke("alice")


def test_secrets_differ_and_are_stored_nowhere(desk: Desk, tokens: Tokens) -> None:
    secrets = [tokens.create(f"team-{number}") or "" for number in range(20)]
    assert len(set(secrets)) == 20
    stored = repr(desk.client.hgetall(keys.TOKENS))
    for secret in secrets:
        assert secret.startswith("rs_")
        assert len(secret) == len("rs_") + 43, "32 bytes in base64url"
        assert secret[3:] not in stored


def test_a_name_is_given_once_however_many_ask(tokens: Tokens) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: tokens.create("alice"), range(8)))
    assert sum(secret is not None for secret in made) == 1
    assert len(tokens.by_digest()) == 1


def test_a_store_that_is_away_is_a_store_error() -> None:
    tokens = Tokens(connect("unix:///nowhere/v.sock", retries=0))
    for call in (tokens.by_digest, lambda: tokens.create("a"), lambda: tokens.revoke("a")):
        with pytest.raises(StoreError):
            call()


def test_a_quota_counts_what_waits_and_what_runs(desk: Desk) -> None:
    ids = [desk.submit(name, ALICE) for name in "abc"]
    with pytest.raises(QuotaError) as refused:
        desk.submit("d", ALICE)
    assert (refused.value.status, refused.value.client) == (429, "alice")
    assert "its own quota is 3" in refused.value.detail
    ticket = desk.get(ids[0]).ticket
    desk.claim(ticket)
    with pytest.raises(QuotaError):
        desk.submit("d", ALICE)
    desk.lifecycle.finish(ticket, desk.scored(ids[0]))
    desk.submit("d", ALICE)


def test_a_quota_is_one_client_s_alone(desk: Desk) -> None:
    for name in "abc":
        desk.submit(name, ALICE)
    for name in "defgh":
        desk.submit(name, BOB)
        desk.submit(name, LOCAL)


def test_joined_and_served_work_costs_no_quota(desk: Desk) -> None:
    theirs = desk.submit("theirs", BOB)
    for name in "abc":
        desk.submit(name, ALICE)
    assert desk.submit("theirs", ALICE) == theirs
    assert desk.submit("a", ALICE) == desk.submit("a", ALICE)
    ticket = desk.get(theirs).ticket
    desk.claim(ticket)
    desk.lifecycle.finish(ticket, desk.scored(theirs))
    assert desk.submit("theirs", ALICE) == theirs


@pytest.mark.parametrize("end", ["cancel", "expire", "finish"])
def test_whatever_ends_an_evaluation_frees_the_quota(desk: Desk, end: str) -> None:
    id = desk.submit("a", ALICE, deadline_s=1.0)
    assert desk.store.unfinished() == {"alice": 1}
    desk.time += 2.0
    ticket = desk.get(id).ticket
    desk.claim(ticket)
    if end == "cancel":
        desk.cancel(id, ALICE)
    elif end == "expire":
        desk.lifecycle.expire(id)
    else:
        desk.lifecycle.finish(ticket, desk.scored(id))
    assert desk.store.unfinished() == {"alice": 0}


def test_a_refused_submission_leaves_nothing(desk: Desk) -> None:
    for name in "abc":
        desk.submit(name, ALICE)
    before = sorted(desk.client.keys())
    with pytest.raises(QuotaError):
        desk.submit("d", ALICE)
    assert sorted(desk.client.keys()) == before


def test_room_is_asked_for_several_at_once(desk: Desk) -> None:
    desk.submit("a", ALICE)
    require_room(ALICE, 2, desk.client)
    with pytest.raises(QuotaError):
        require_room(ALICE, 3, desk.client)
    require_room(BOB, 10_000, desk.client)


def test_a_cancel_takes_away_one_s_own_submissions_only(desk: Desk) -> None:
    id = desk.submit("shared", ALICE)
    for _ in range(2):
        assert desk.submit("shared", BOB) == id
    for _ in range(5):
        desk.cancel(id, ALICE)
    assert desk.get(id).holders == {"bob": 2}
    desk.cancel(id, Token(name="stranger"))
    desk.cancel(id, BOB)
    assert desk.get(id).state is State.QUEUED
    desk.cancel(id, BOB)
    assert desk.get(id).state is State.DONE
