"""Bad requests: each a problem+json that names the field, none a traceback."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from service_harness import Api, Fleet, http, post, start, submission

from reward_service.schemas import ProblemDetails

GOOD = submission("good")


def body(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


def problem(answer: httpx.Response, status: int) -> ProblemDetails:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert "Traceback" not in answer.text
    details = ProblemDetails.model_validate_json(answer.content)
    assert details.status == status
    assert details.title
    return details


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"problem": {}}, "problem"),
        ({"problem": {"name": "a", "source": "b"}}, "problem"),
        ({"problem": {"name": "level1/no_such_problem"}}, "problem.name"),
        ({"problem": {"name": "../../etc/passwd\n"}}, "problem.name"),
        ({"problem": {"source": ""}}, "problem.source"),
        ({"problem": 3}, "problem"),
        ({"candidate": {}}, "candidate.source"),
        ({"candidate": {"source": "x", "format": "triton"}}, "candidate.format"),
        ({"candidate": {"source": 7}}, "candidate.source"),
        ({"candidate": {"source": "\ud800"}}, "candidate.source"),
        ({"policy": {"device": "no_such_device"}}, "policy.device"),
        ({"policy": {"device": "Not A Name"}}, "policy.device"),
        ({"policy": {"reward": "no_such_reward"}}, "policy.reward"),
        ({"policy": {"baseline": "guess"}}, "policy.baseline"),
        ({"policy": {"precision": "fp8"}}, "policy.precision"),
        ({"policy": {"time_limit_s": 0}}, "policy.time_limit_s"),
        ({"policy": {"min_custom_share": 2}}, "policy.min_custom_share"),
        ({"policy": {"unheard_of": 1}}, "policy.unheard_of"),
        ({"deadline_s": -1}, "deadline_s"),
        ({"deadline_s": "soon"}, "deadline_s"),
        ({"priority": "first"}, "priority"),
        ({"tags": {"not a name!": "x"}}, "tags.not a name!"),
        ({"tags": {str(n): "x" for n in range(17)}}, "tags"),
        ({"unheard_of": 1}, "unheard_of"),
    ],
)
def test_a_wrong_field_is_422_and_named(
    client: httpx.Client, fields: dict[str, Any], at: str
) -> None:
    content = json.dumps(body(**fields))
    answer = client.post("/evaluate", content=content, headers={"Content-Type": "application/json"})
    assert at in [error["field"] for error in problem(answer, 422).errors]


@pytest.mark.parametrize("missing", ["problem", "candidate"])
def test_a_missing_field_is_422_and_named(client: httpx.Client, missing: str) -> None:
    without = {name: value for name, value in GOOD.items() if name != missing}
    assert problem(post(client, without), 422).errors == [
        {"field": missing, "message": "Field required"}
    ]


def test_the_values_that_json_lacks_are_422(client: httpx.Client) -> None:
    content = json.dumps(body(deadline_s=float("nan"), policy={"min_custom_share": float("inf")}))
    answer = client.post("/evaluate", content=content, headers={"Content-Type": "application/json"})
    named = {error["field"] for error in problem(answer, 422).errors}
    assert named == {"deadline_s", "policy.min_custom_share"}


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 422),
        (b"\xff\xfe", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"1" * 10_000, "application/json", 400),
        (b"[]", "application/json", 422),
        (b"null", "application/json", 422),
        (json.dumps(GOOD).encode(), "text/plain", 400),
        (json.dumps(GOOD).encode(), "application/x-www-form-urlencoded", 400),
    ],
)
def test_what_is_not_a_json_object_is_refused(
    client: httpx.Client, content: bytes, kind: str, status: int
) -> None:
    answer = client.post("/evaluate", content=content, headers={"Content-Type": kind})
    problem(answer, status)


def test_a_body_over_the_limit_is_413(client: httpx.Client, fleet: Fleet) -> None:
    source = "#" * fleet.settings.max_body_bytes
    details = problem(post(client, body(candidate={"source": source})), 413)
    assert details.errors[0]["field"] == "body"
    within = "#" * (fleet.settings.max_body_bytes // 2)
    assert post(client, body(problem={"source": within}), "respond-async").status_code == 202


def test_a_chunked_body_is_read_no_further_than_the_limit(
    client: httpx.Client, fleet: Fleet, api: Api
) -> None:
    with socket.create_connection(("127.0.0.1", api.port), timeout=20) as stream:
        stream.sendall(
            b"POST /evaluate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(fleet.settings.max_body_bytes // 65_536 + 1):
            stream.sendall(b"10000\r\n" + b" " * 65_536 + b"\r\n")
        # The body goes on for ever; the answer is there all the same.
        assert stream.recv(65_536).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("id", ["0" * 32, "nothing", "a" * 5_000, "%00", "..%2f..%2fetc"])
def test_an_unknown_evaluation_is_404(client: httpx.Client, id: str) -> None:
    problem(client.get(f"/evaluations/{id}"), 404)
    problem(client.delete(f"/evaluations/{id}"), 404)


@pytest.mark.parametrize("wait", ["-1", "601", "nan", "soon"])
def test_a_wrong_wait_is_422(client: httpx.Client, wait: str) -> None:
    answer = client.get(f"/evaluations/{'0' * 32}", params={"wait": wait})
    assert problem(answer, 422).errors[0]["field"] == "wait"


def test_a_wrong_path_is_404_and_a_wrong_method_405(client: httpx.Client) -> None:
    problem(client.get("/nowhere"), 404)
    assert "POST" in client.get("/evaluate").headers["Allow"]
    problem(client.get("/evaluate"), 405)
    problem(client.delete("/devices"), 405)


def test_paths_of_clients_are_no_labels(client: httpx.Client) -> None:
    client.get("/a-path-of-my-own")
    client.request("BREW", "/healthz")
    text = client.get("/metrics").text
    assert "a-path-of-my-own" not in text
    assert "BREW" not in text
    assert 'route="/evaluate"' in text


def test_a_bug_in_a_route_is_500_without_its_traceback(fleet: Fleet) -> None:
    class Library:
        def list(self) -> list[Any]:
            raise KeyError("a secret of the service")

    with Api(fleet.settings, library=Library()) as api, http(api) as client:
        answer = client.get("/problems")
        problem(answer, 500)
        assert "secret" not in answer.text


def test_the_catalogue_lists_what_there_is(client: httpx.Client) -> None:
    assert "log_speedup" in [reward["name"] for reward in client.get("/rewards").json()]
    assert [d["device_class"] for d in client.get("/devices").json()] == ["cpu"]
    assert isinstance(client.get("/problems").json(), list)
    assert client.get("/readyz").json() == {"builders": 1, "workers": 1}
    assert client.get("/healthz").json()["status"] == "ok"
    assert "Submission" in client.get("/openapi.json").json()["components"]["schemas"]


def test_the_page_shows_verdicts_and_may_load_nothing(client: httpx.Client) -> None:
    post(client, submission("shown", judge=[["fail", "ALIAS"]]))
    page = client.get("/")
    assert page.headers["Content-Type"].startswith("text/html")
    assert "incorrect ALIAS" in page.text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(tmp_path) as fleet:
        yield fleet


def test_without_processes_work_is_503(empty: Fleet) -> None:
    with Api(empty.settings) as api, http(api) as client:
        assert "builder" in problem(post(client, GOOD), 503).detail
        problem(client.get("/readyz"), 503)
        empty.start("builder")
        details = problem(post(client, body(policy={"device": "cpu"})), 503)
        assert details.errors[0]["field"] == "policy.device"
        assert problem(post(client, body()), 503).errors[0]["field"] == "policy.device"
        built = post(client, body(policy={"stop_after": "build"}))
        assert built.json()["outcome"] == "built", "a builder is enough for that"


def test_any_is_a_gpu_where_there_is_one(empty: Fleet) -> None:
    empty.start_both()
    with Api(empty.settings) as api, http(api) as client:
        assert post(client, GOOD).json()["provenance"]["device_class"] == "cpu"
        empty.start("worker", "h200")
        assert post(client, GOOD).json()["provenance"]["device_class"] == "h200"
        on_cpu = post(client, body(policy={"device": "cpu"})).json()
        assert on_cpu["provenance"]["device_class"] == "cpu"


def test_the_token_is_needed_where_there_is_one(fleet: Fleet) -> None:
    settings = fleet.settings.model_copy(update={"token": SecretStr("open sesame")})
    with Api(settings) as api:
        for wrong in ({}, {"Authorization": "Bearer guess"}, {"Authorization": "open sesame"}):
            with http(api, **wrong) as client:
                answer = client.get("/devices")
                problem(answer, 401)
                assert answer.headers["WWW-Authenticate"] == "Bearer"
                problem(post(client, GOOD), 401)
                problem(client.get("/docs"), 401)
                assert client.get("/healthz").status_code == 200
        with http(api, Authorization="Bearer open sesame") as client:
            assert client.get("/devices").status_code == 200
            start(client, submission("with a token"))
