"""A service in small, over real sockets, that fails in whatever way it is told.

It runs in the test's own loop. A candidate's source says what becomes of it: `bad ...` is
refused, `unscored N REASON ...` is unscored N times,
anything else is correct, with a message that is the source, so that a caller can tell his own.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from starlette.types import Receive, Scope, Send

from reward_service.api.server import listen
from reward_service.schemas import (
    Candidate,
    Outcome,
    Problem,
    Provenance,
    Reason,
    RewardConfigRef,
    Submission,
    Verdict,
)

PROVENANCE = Provenance(service_version="0", harness_hash="0")
CONFIG = RewardConfigRef(name="log_speedup", version=1, hash="0")
PROBLEM = Problem(name="level1/relu")
NOWHERE = "nowhere"
"""A device class that no worker serves."""
LONGEST_TEST_S = 60.0


def submission(source: str, **fields: Any) -> Submission:
    return Submission(problem=PROBLEM, candidate=Candidate(source=source), **fields)


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that runs in a loop."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), LONGEST_TEST_S))

    return run


async def eventually(look: Callable[[], Any], what: str, within_s: float = 20.0) -> None:
    until = time.monotonic() + within_s
    while not look():
        assert time.monotonic() < until, f"waited in vain for {what}"
        await asyncio.sleep(0.002)


def correct(source: str) -> Verdict:
    return Verdict(
        id=hashlib.sha256(source.encode()).hexdigest()[:32],
        outcome=Outcome.CORRECT,
        message=source[:100],
        reward=1.0,
        reward_config=CONFIG,
        compiled=True,
        correct=True,
        provenance=PROVENANCE,
    )


def unscored(reason: Reason, retryable: bool = True) -> Verdict:
    return Verdict(
        id="0" * 32,
        outcome=Outcome.UNSCORED,
        reason=reason,
        message="we could not tell",
        provenance=PROVENANCE,
        retryable=retryable,
    )


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    key: str | None
    prefer: str | None
    authorization: str | None
    body: bytes
    wait_s: float
    at: float = field(default_factory=time.monotonic)

    @property
    def submissions(self) -> list[dict[str, Any]]:
        return list(json.loads(self.body)["submissions"])

    @property
    def content(self) -> str:
        """What an idempotency key stands for: all but the deadlines."""
        return json.dumps([{**s, "deadline_s": None} for s in self.submissions])

    @property
    def sources(self) -> list[str]:
        return [s["candidate"]["source"] for s in self.submissions]


@dataclass
class Answer:
    """What to answer instead: a status with its headers, or something worse."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    then: str = ""
    """`drop`: half of an answer, before anything is done; `lose`: the same, after; `hang`."""


@dataclass
class Kept:
    """A batch in the store."""

    verdicts: list[Verdict]
    sources: list[str]


class FakeService:
    """Start it with `async with`; `stop` and `start` restart it on the same port."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.answers: deque[Answer] = deque()
        """What to answer to the next requests, one each."""
        self.always: Answer | None = None
        self.batches: dict[str, Kept] = {}
        self.keys: dict[str, tuple[str, str]] = {}
        self.held: set[str] = set()
        """Sources that are not judged yet."""
        self.work: Counter[str] = Counter()
        """How often a source became new work."""
        self.given_up: list[str] = []
        self.max_body_bytes = 1 << 30
        self.room = 1 << 30
        """Submissions that a batch may have, or it is 429."""
        self.waits = True
        """Whether `wait` is honoured."""
        self.token: str | None = None
        self.port = 0
        self._tries: Counter[str] = Counter()
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def posts(self) -> list[Seen]:
        return [seen for seen in self.requests if seen.method == "POST"]

    @property
    def gets(self) -> list[Seen]:
        return [seen for seen in self.requests if seen.method == "GET"]

    async def __aenter__(self) -> FakeService:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._serving is not None:
            await self.stop()

    async def start(self) -> None:
        listener = listen("127.0.0.1", self.port)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app, interface="asgi3", lifespan="off", log_config=None, log_level="critical"
        )
        self._server = _Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        await eventually(lambda: self._server and self._server.started, "the fake")

    async def stop(self) -> None:
        """Die: answers under way break off."""
        assert self._server is not None
        assert self._serving is not None
        for listening in self._server.servers:
            listening.close()
        self._server.should_exit = self._server.force_exit = True
        await self._serving
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        self._serving = None

    def lose_store(self) -> None:
        self.batches.clear()
        self.keys.clear()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        query = parse_qs(scope["query_string"].decode())
        seen = Seen(
            scope["method"],
            scope["path"],
            headers.get("idempotency-key"),
            headers.get("prefer"),
            headers.get("authorization"),
            body,
            float(query.get("wait", ["0"])[0]),
        )
        self.requests.append(seen)
        answer = self.answers.popleft() if self.answers else self.always
        if answer is None or answer.then == "lose":
            made = await self._route(seen)
            if answer is not None:
                made.then = "drop"
            answer = made
        if answer.then == "hang":
            await asyncio.Event().wait()
        await _send(answer, send)

    async def _route(self, seen: Seen) -> Answer:
        if self.token is not None and seen.authorization != f"Bearer {self.token}":
            return problem(401, "send the token")
        if len(seen.body) > self.max_body_bytes:
            return problem(413, "the body is too long", [("body", "too long")])
        if (seen.method, seen.path) == ("POST", "/evaluate/batch"):
            return self._submit(seen)
        id = seen.path.rpartition("/")[2]
        if seen.path == "/problems":
            return Answer(body=b'[{"name": "level1/relu", "level": 1, "title": "", "hash": "0"}]')
        if id not in self.batches:
            return problem(404, "no such batch")
        if seen.method == "DELETE":
            self.given_up.append(id)
        elif self.waits:
            until = time.monotonic() + seen.wait_s
            while self._pending(id) and time.monotonic() < until:
                await asyncio.sleep(0.002)
        return self._batch(id, 200) if id in self.batches else problem(404, "no such batch")

    def _submit(self, seen: Seen) -> Answer:
        assert seen.key is not None
        if seen.key in self.keys:
            content, id = self.keys[seen.key]
            if content != seen.content:
                return problem(422, "another body", [("Idempotency-Key", "another body")])
            if id in self.batches:
                return self._batch(id, 202)
        sources = seen.sources
        wrong = [n for n, source in enumerate(sources) if source.split()[0] == "bad"]
        if wrong:
            fields = [(f"submissions.{n}.candidate.source", "bad") for n in wrong]
            return problem(422, f"{len(wrong)} are wrong", fields)
        if any(s.get("policy", {}).get("device") == NOWHERE for s in seen.submissions):
            return problem(503, "no worker serves it", [("policy.device", "no worker serves it")])
        if len(sources) > self.room:
            return problem(429, "no room for so many", retry_after="0")
        id = f"{len(self.requests):032x}"
        self.keys[seen.key] = (seen.content, id)
        self.work.update(sources)
        self.batches[id] = Kept([self._judge(source) for source in sources], sources)
        return self._batch(id, 202)

    def _judge(self, source: str) -> Verdict:
        word, *rest = source.split()
        if word == "unscored":
            self._tries[source] += 1
            if self._tries[source] <= int(rest[0]):
                return unscored(Reason(rest[1]), retryable=rest[1] != "BAD_PROBLEM")
        return correct(source)

    def _pending(self, id: str) -> bool:
        kept = self.batches.get(id)
        return kept is not None and any(source in self.held for source in kept.sources)

    def _batch(self, id: str, status: int) -> Answer:
        kept = self.batches[id]
        each = zip(kept.verdicts, kept.sources, strict=True)
        verdicts = [None if s in self.held else v.model_dump(mode="json") for v, s in each]
        done = sum(verdict is not None for verdict in verdicts)
        states = {"queued": len(verdicts) - done, "done": done}
        body = {"id": id, "total": len(verdicts), "done": done, "states": states}
        text = json.dumps({**body, "verdicts": verdicts}).encode()
        ended = done == len(verdicts)
        return Answer(200 if ended else status, {"Location": f"/batches/{id}"}, text)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def problem(
    status: int,
    detail: str,
    fields: list[tuple[str, str]] | None = None,
    **headers: str,
) -> Answer:
    """An error; `retry_after="3"` is its header `Retry-After`."""
    errors = [{"field": field, "message": message} for field, message in fields or []]
    body = {"title": "an error", "status": status, "detail": detail, "errors": errors}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, named, json.dumps(body).encode())


async def _send(answer: Answer, send: Callable[[Any], Awaitable[None]]) -> None:
    headers = {"content-length": str(len(answer.body) + 10 * (answer.then == "drop"))}
    raw = [(n.lower().encode(), v.encode()) for n, v in {**headers, **answer.headers}.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    more = answer.then == "drop"
    await send({"type": "http.response.body", "body": answer.body, "more_body": more})
