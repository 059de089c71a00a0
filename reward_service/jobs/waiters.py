"""Lets any number of coroutines wait for evaluations over one connection.

One reader follows the events stream from the last entry it saw, so that a reconnect misses
nothing; since the stream may have been cut or lost meanwhile, it also wakes everyone to look
for himself. A waiter subscribes first and looks second, so that no end can fall between the
two. Each evaluation that gets done is loaded once and also handed to `on_done`, waited for
or not. Who follows many evaluations, or each of their moves, learns which have moved, and loads
those.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager

import redis

from reward_service.errors import StoreError
from reward_service.jobs import keys
from reward_service.jobs.connection import Client, connect_reader
from reward_service.jobs.record import Record
from reward_service.schemas import State

log = logging.getLogger(__name__)

BLOCK_S = 5.0
BATCH = 500
BEGINNING = "0-0"
SHORTEST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0


class Follower:
    """Learns which of some evaluations have moved since it last asked."""

    def __init__(self, ids: Collection[str]) -> None:
        self._ids = frozenset(ids)
        self._moved = set(self._ids)
        self._something = asyncio.Event()
        self._something.set()

    async def moved(self, timeout_s: float) -> set[str]:
        """What has moved, once something has; all of them at first. Empty: nothing in time."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._something.wait(), timeout_s)
        self._something.clear()
        moved, self._moved = self._moved, set()
        return moved

    def tell(self, ids: Collection[str]) -> None:
        """These have moved; none: only wake up."""
        self._moved.update(ids)
        self._something.set()

    def tell_all(self) -> None:
        """Any may have moved."""
        self.tell(self._ids)


class Waiters:
    """Everyone in this process who waits for an evaluation.

    `load` reads evaluations, those that there are by their id, or raises `StoreError`.
    """

    def __init__(
        self,
        url: str,
        load: Callable[[Sequence[str]], Awaitable[Mapping[str, Record]]],
        on_done: Callable[[Record], None],
    ) -> None:
        self._url = url
        self._load = load
        self._on_done = on_done
        self._futures: dict[str, set[asyncio.Future[Record | None]]] = defaultdict(set)
        self._followers: dict[str, set[Follower]] = defaultdict(set)
        self.released = False
        """Whether everyone is to go."""
        self._closed = False
        self._last: str | None = None

    @property
    def count(self) -> int:
        """How many wait."""
        followers = {one for group in self._followers.values() for one in group}
        return sum(len(futures) for futures in self._futures.values()) + len(followers)

    async def wait(self, id: str, timeout_s: float) -> Record | None:
        """The evaluation once it is done, or as it is after `timeout_s` or `release`.

        None: there is none of this id. Raises `StoreError`.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        while True:
            future: asyncio.Future[Record | None] = loop.create_future()
            self._futures[id].add(future)
            try:
                record = (await self._load([id])).get(id)
                left = until - loop.time()
                over = record is None or record.state is State.DONE
                if over or self.released or left <= 0:
                    return record
                await asyncio.wait([future], timeout=left)
            finally:
                self._futures[id].discard(future)
                if not self._futures[id]:
                    del self._futures[id]
            if future.done() and (done := future.result()) is not None:
                return done

    @contextmanager
    def follow(self, ids: Collection[str]) -> Iterator[Follower]:
        """Follow evaluations while the block lasts; who sees `released` must leave it."""
        follower = Follower(ids)
        for id in ids:
            self._followers[id].add(follower)
        try:
            yield follower
        finally:
            for id in ids:
                self._followers[id].discard(follower)
                if not self._followers[id]:
                    del self._followers[id]

    def release(self) -> None:
        """Let everyone go with what is known: the process is about to end."""
        self.released = True
        self._wake_all()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Follow the stream while the block lasts."""
        reader = asyncio.create_task(self._run())
        try:
            yield
        finally:
            self._closed = True
            # Once may not do: the client sends inside `asyncio.wait_for`, which before
            # Python 3.12 drops a cancellation that arrives as the sending ends.
            while not reader.done():
                reader.cancel()
                await asyncio.wait([reader], timeout=SHORTEST_PAUSE_S)

    async def _run(self) -> None:
        pause = SHORTEST_PAUSE_S
        while not self._closed:
            client = connect_reader(self._url, BLOCK_S)
            try:
                await self._catch_up(client)
                pause = SHORTEST_PAUSE_S
                while not self._closed:
                    await self._read(client)
            except (redis.RedisError, OSError, StoreError) as error:
                log.warning("events: %s; trying again", error)
            except Exception:
                log.exception("the reader of events failed; it begins again")
            finally:
                await client.aclose()
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _catch_up(self, client: Client) -> None:
        """Begin at the end of the stream, or where the last connection broke."""
        await client.ping()
        if self._last is None:
            latest = await client.xrevrange(keys.EVENTS, count=1)
            self._last = latest[0][0].decode() if latest else BEGINNING
        self._wake_all()

    async def _read(self, client: Client) -> None:
        streams = {keys.EVENTS: self._last or BEGINNING}
        block_ms = int(BLOCK_S * 1000)
        for _, entries in await client.xread(streams, count=BATCH, block=block_ms) or []:
            moved = [(fields[b"id"].decode(), fields[b"state"].decode()) for _, fields in entries]
            done = [id for id, state in moved if state == State.DONE]
            # Together: one by one, the last of many that end at once had to wait for the others.
            for record in (await self._load(done)).values() if done else ():
                self._done(record)
            for id, _ in moved:
                for follower in self._followers.get(id, ()):
                    follower.tell([id])
            self._last = entries[-1][0].decode()

    def _done(self, record: Record) -> None:
        for future in self._futures.get(record.id, ()):
            if not future.done():
                future.set_result(record)
        try:
            self._on_done(record)
        except Exception:
            log.exception("evaluation %s could not be observed", record.id)

    def _wake_all(self) -> None:
        for futures in self._futures.values():
            for future in futures:
                if not future.done():
                    future.set_result(None)
        for follower in {one for group in self._followers.values() for one in group}:
            follower.tell_all()
