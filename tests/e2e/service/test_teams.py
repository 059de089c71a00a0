"""More than one team on one service: tokens, quotas, whose work is whose. Over real HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from service_harness import PYTHONPATH, Api, Fleet, eventually, http, post, start, verdict
from service_harness import submission as make

from reward_service.api.authentication import FRESH_S


class Command:
    """`reward-service token` against a fleet's Valkey."""

    def __init__(self, fleet: Fleet) -> None:
        self._env = {**os.environ, "REDIS_URL": fleet.valkey.url, "PYTHONPATH": PYTHONPATH}

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reward_service.cli", "token", *arguments]
        return subprocess.run(
            command, env=self._env, capture_output=True, text=True, check=False, timeout=60
        )

    def secret(self, name: str, *options: str) -> str:
        done = self("create", name, "--json", *options)
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["token"])


@pytest.fixture(scope="module")
def token(fleet: Fleet) -> Command:
    return Command(fleet)


@pytest.fixture(scope="module")
def secrets(token: Command) -> dict[str, str]:
    return {"alice": token.secret("alice"), "bob": token.secret("bob", "--max-waiting", "2")}


@pytest.fixture(scope="module")
def public(fleet: Fleet) -> Iterator[Api]:
    """An API that could be reached from other hosts."""
    with Api(fleet.settings.model_copy(update={"host": "0.0.0.0"})) as api:
        yield api


@pytest.fixture
def alice(public: Api, secrets: dict[str, str]) -> Iterator[httpx.Client]:
    with http(public, Authorization=f"Bearer {secrets['alice']}") as client:
        yield client


@pytest.fixture
def bob(public: Api, secrets: dict[str, str]) -> Iterator[httpx.Client]:
    with http(public, Authorization=f"Bearer {secrets['bob']}") as client:
        yield client


def metric(client: httpx.Client, name: str) -> dict[str, float]:
    """A family's values by client."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    samples = [s for family in families for s in family.samples]
    return {s.labels["client"]: s.value for s in samples if s.name == f"reward_service_{name}"}


def test_beyond_loopback_every_request_needs_a_token(public: Api) -> None:
    for headers in ({}, {"Authorization": "Bearer rs_guess"}):
        with http(public, **headers) as client:
            for path in ("/devices", "/metrics", "/docs", "/", f"/evaluations/{'0' * 32}"):
                answer = client.get(path)
                assert answer.status_code == 401
                assert answer.headers["Content-Type"] == "application/problem+json"
                assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert post(client, make("x")).status_code == 401
            assert client.get("/healthz").status_code == 200


def test_with_no_token_stored_nobody_gets_in(tmp_path: Path) -> None:
    with Fleet(tmp_path) as fleet:
        settings = fleet.settings.model_copy(update={"host": "0.0.0.0"})
        with Api(settings) as api, http(api) as client:
            assert client.get("/devices").status_code == 401


def test_on_loopback_a_token_is_optional_but_a_wrong_one_is_wrong(
    client: httpx.Client, secrets: dict[str, str]
) -> None:
    def devices(**headers: str) -> int:
        return client.get("/devices", headers=headers).status_code

    assert devices() == 200
    assert devices(Authorization=f"Bearer {secrets['alice']}") == 200
    assert devices(Authorization="Bearer rs_guess") == 401


def test_a_created_token_works_at_once_and_a_revoked_one_soon_not(
    public: Api, token: Command
) -> None:
    secret = token.secret("carol")
    with http(public, Authorization=f"Bearer {secret}") as client:
        assert client.get("/devices").status_code == 200
        assert token("revoke", "carol").returncode == 0
        eventually(
            lambda: client.get("/devices").status_code == 401, "a refusal", within_s=FRESH_S + 1
        )


def test_while_valkey_is_away_only_what_is_fresh_gets_in(tmp_path: Path) -> None:
    with Fleet(tmp_path) as fleet:
        secret = Command(fleet).secret("alice")
        settings = fleet.settings.model_copy(update={"host": "0.0.0.0"})
        with Api(settings) as api, http(api, Authorization=f"Bearer {secret}") as client:
            assert client.get("/rewards").status_code == 200
            fleet.valkey.stop()
            stranger = client.get("/rewards", headers={"Authorization": "Bearer rs_guess"})
            assert stranger.status_code == 503
            assert int(stranger.headers["Retry-After"]) >= 1
            eventually(lambda: client.get("/rewards").status_code == 503, "its token to be stale")
            fleet.valkey.start()
            eventually(lambda: client.get("/rewards").status_code == 200, "its token to be known")


def test_over_its_quota_a_client_is_429_and_others_are_not(
    alice: httpx.Client, bob: httpx.Client, fleet: Fleet
) -> None:
    ids = [start(bob, make(f"quota {n}", build=[["gate", "quota"]])) for n in range(2)]
    refused = post(bob, make("quota 2"))
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert "'bob'" in refused.json()["detail"]
    assert "its own quota is 2" in refused.json()["detail"]
    assert start(bob, make("quota 1", build=[["gate", "quota"]])) == ids[1], "joining is free"
    other = start(alice, make("quota of another"))
    assert metric(alice, "quota_refusals_total") == {"bob": 1.0}
    assert metric(alice, "client_unfinished") == {"alice": 1.0, "bob": 2.0}
    fleet.open("quota")
    for id in (*ids, other):
        verdict(bob, id)
    assert post(bob, make("quota 2")).status_code == 200
    eventually(lambda: metric(alice, "client_ended_total").get("bob") == 3.0, "it to be counted")


def test_nobody_can_cancel_what_another_waits_for(
    alice: httpx.Client, bob: httpx.Client, fleet: Fleet
) -> None:
    body = make("shared", judge=[["gate", "shared"]])
    id = start(alice, body)
    assert start(bob, body) == id
    for _ in range(3):
        answer = bob.delete(f"/evaluations/{id}")
        assert answer.status_code == 200
        assert answer.json()["verdict"] is None
    fleet.open("shared")
    assert verdict(alice, id)["outcome"] == "correct"


def test_a_newcomer_does_not_wait_for_all_that_another_has_queued(fleet: Fleet) -> None:
    window = fleet.settings.client_window
    settings = fleet.settings.model_copy(update={"host": "0.0.0.0"})
    command = Command(fleet)
    many, few = ({"Authorization": f"Bearer {command.secret(name)}"} for name in ("many", "few"))
    with Api(settings) as api, http(api, **many) as team, http(api, **few) as newcomer:
        first = start(team, make("many first", build=[["gate", "many"]]))
        fleet.entered("many")
        theirs = [start(team, make(f"many {n}")) for n in range(2 * window)]
        own = start(newcomer, make("few"))
        fleet.open("many")
        for id in (first, *theirs, own):
            verdict(newcomer, id)
    log = [line.split() for line in (fleet.directory / "log").read_text().splitlines()]
    built = [id for stage, id in log if stage == "build" and id in {*theirs, own}]
    assert built.index(own) == window, "behind one window of the other"


def test_many_clients_at_once_are_each_told_apart(
    public: Api, secrets: dict[str, str], alice: httpx.Client
) -> None:
    wrong: list[Any] = []

    def ask(secret: str, status: int) -> None:
        with http(public, Authorization=f"Bearer {secret}") as client:
            got = [client.get("/rewards").status_code for _ in range(20)]
        wrong.extend(code for code in got if code != status)

    asking = [
        threading.Thread(target=ask, args=(secret, status))
        for secret, status in [*((s, 200) for s in secrets.values()), ("rs_guess", 401)] * 3
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert not wrong


def test_the_list_shows_names_and_quotas_and_no_secret(
    token: Command, secrets: dict[str, str]
) -> None:
    listed = token("list", "--json")
    rows = {row["name"]: row for row in json.loads(listed.stdout)}
    assert rows["alice"]["max_waiting"] is None
    assert rows["bob"]["max_waiting"] == 2
    assert "bob" in token("list").stdout
    assert not any(secret in listed.stdout for secret in secrets.values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "alice"), "revoke it first"),
        (("create", "operator"), "taken"),
        (("create", "Not A Name"), "cannot be a name"),
        (("create", "dave", "--max-waiting", "0"), "max-waiting"),
        (("revoke", "nobody"), "there is no token"),
    ],
)
def test_a_wrong_call_exits_with_3_and_makes_nothing(
    token: Command, secrets: dict[str, str], arguments: tuple[str, ...], said: str
) -> None:
    before = token("list", "--json").stdout
    done = token(*arguments)
    assert done.returncode == 3
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert done.stdout == ""
    assert token("list", "--json").stdout == before
