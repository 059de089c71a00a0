"""Who is alive: builders and workers that said so lately."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from reward_service.jobs import keys
from reward_service.jobs.connection import Client, store_errors
from reward_service.schemas import DeviceInfo


class Process(BaseModel):
    """A builder or a worker; names are unique over all hosts."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: Literal["builder", "worker"]
    host: str
    pid: int
    device: DeviceInfo | None = None
    """Of a worker."""

    @property
    def serves(self) -> bool:
        """Whether it is a worker whose device can judge, now or shortly."""
        return self.device is not None and self.device.state != "quarantined"


class Registry:
    """The processes that have announced themselves within the last `ttl_s` seconds."""

    def __init__(self, client: Client, ttl_s: float) -> None:
        self._client = client
        self._ttl_ms = int(ttl_s * 1000)

    def announce(self, process: Process) -> None:
        """Say that a process is alive."""
        with store_errors(), self._client.pipeline() as pipe:
            pipe.sadd(keys.PROCESSES, process.name)
            pipe.set(keys.process(process.name), process.model_dump_json(), px=self._ttl_ms)
            if process.device is not None:
                pipe.sadd(keys.CLASSES, process.device.device_class)
            pipe.execute()

    def leave(self, name: str) -> None:
        """Say that a process ends."""
        with store_errors(), self._client.pipeline() as pipe:
            pipe.srem(keys.PROCESSES, name)
            pipe.delete(keys.process(name))
            pipe.execute()

    def alive(self) -> list[Process]:
        """The live ones, by name; the dead are forgotten."""
        with store_errors():
            names = sorted(name.decode() for name in self._client.smembers(keys.PROCESSES))
            if not names:
                return []
            found = self._client.mget([keys.process(name) for name in names])
            dead = [name for name, text in zip(names, found, strict=True) if text is None]
            if dead:
                self._client.srem(keys.PROCESSES, *dead)
        return [Process.model_validate_json(text) for text in found if text is not None]

    def known_classes(self) -> set[str]:
        """Every device class that was ever served."""
        with store_errors():
            return {name.decode() for name in self._client.smembers(keys.CLASSES)}
