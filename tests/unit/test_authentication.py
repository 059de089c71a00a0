"""Who calls, by what the API remembers of the stored tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from pydantic import SecretStr

from reward_service.api.authentication import FRESH_S, Authentication
from reward_service.digest import sha256
from reward_service.errors import StoreError
from reward_service.jobs.tokens import LOCAL, OPERATOR, Token

ALICE = Token(name="alice")


class Door:
    """An `Authentication` with a store and a clock of the test's own."""

    def __init__(self, operator: str | None = None, optional: bool = False) -> None:
        self.stored = {sha256("rs_alice"): ALICE}
        self.away = False
        self.reads = 0
        self.now = 100.0
        self.gate = asyncio.Event()
        self.gate.set()
        token = None if operator is None else SecretStr(operator)
        self.authentication = Authentication(self._read, token, optional, lambda: self.now)

    async def _read(self) -> dict[str, Token]:
        self.reads += 1
        if self.away:
            raise StoreError("away")
        seen = dict(self.stored)
        await self.gate.wait()
        return seen

    async def ask(self, authorization: str) -> Token | None:
        self.now += 0.001
        return await self.authentication.identify(authorization)


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 10))


@pytest.mark.parametrize(
    "header", ["Bearer rs_alice", "bearer rs_alice", "Bearer   rs_alice "], ids=repr
)
def test_a_stored_token_is_its_client(header: str) -> None:
    async def main() -> None:
        assert await Door().ask(header) == ALICE

    run(main())


@pytest.mark.parametrize(
    "header",
    ["", "rs_alice", "Basic rs_alice", "Bearer", "Bearer rs_alic", "Bearer rs_alice x", "\udcff"],
    ids=ascii,
)
@pytest.mark.parametrize("operator", [None, "sesame"])
def test_anything_else_is_nobody(header: str, operator: str | None) -> None:
    async def main() -> None:
        assert await Door(operator).ask(header) is None

    run(main())


def test_without_a_header_one_is_local_only_where_tokens_are_optional() -> None:
    async def main() -> None:
        door = Door(optional=True)
        assert await door.ask("") == LOCAL
        assert await door.ask("Bearer guess") is None, "a wrong one is still wrong"
        assert await door.ask("Bearer rs_alice") == ALICE

    run(main())


def test_a_known_token_is_looked_up_in_memory_while_fresh() -> None:
    async def main() -> None:
        door = Door()
        for _ in range(50):
            assert await door.ask("Bearer rs_alice") == ALICE
        assert door.reads == 1

    run(main())


def test_a_revocation_takes_effect_in_time() -> None:
    async def main() -> None:
        door = Door()
        assert await door.ask("Bearer rs_alice") == ALICE
        door.stored.clear()
        door.now += FRESH_S
        assert await door.ask("Bearer rs_alice") is None

    run(main())


def test_a_new_token_is_known_at_once() -> None:
    async def main() -> None:
        door = Door()
        assert await door.ask("Bearer rs_bob") is None
        door.stored[sha256("rs_bob")] = Token(name="bob")
        assert await door.ask("Bearer rs_bob") == Token(name="bob")

    run(main())


def test_a_new_token_is_not_missed_by_a_reading_that_began_before_it() -> None:
    async def main() -> None:
        door = Door()
        door.gate.clear()
        guess = asyncio.create_task(door.ask("Bearer guess"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert door.reads == 1
        door.stored[sha256("rs_bob")] = Token(name="bob")
        asked = asyncio.create_task(door.ask("Bearer rs_bob"))
        await asyncio.sleep(0)
        door.gate.set()
        assert await asked == Token(name="bob")
        assert await guess is None

    run(main())


def test_guesses_share_one_reading_and_none_is_kept() -> None:
    async def main() -> None:
        door = Door()
        guesses = [door.ask(f"Bearer rs_{number}") for number in range(1_000)]
        assert set(await asyncio.gather(*guesses)) == {None}
        assert door.reads <= 2
        assert len(door.authentication._tokens) == 1

    run(main())


def test_when_the_store_is_away_fresh_tokens_and_the_operator_s_go_on() -> None:
    async def main() -> None:
        door = Door(operator="sesame")
        assert await door.ask("Bearer rs_alice") == ALICE
        door.away = True
        assert await door.ask("Bearer rs_alice") == ALICE
        assert await door.ask("Bearer sesame") == OPERATOR
        with pytest.raises(StoreError):
            await door.ask("Bearer rs_other")
        door.now += FRESH_S
        with pytest.raises(StoreError):
            await door.ask("Bearer rs_alice")
        door.away = False
        assert await door.ask("Bearer rs_alice") == ALICE

    run(main())


def test_one_that_goes_away_takes_nobody_s_answer_along() -> None:
    async def main() -> None:
        door = Door()
        door.gate.clear()
        leaving = asyncio.create_task(door.ask("Bearer rs_alice"))
        staying = asyncio.create_task(door.ask("Bearer rs_alice"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        door.gate.set()
        assert await staying == ALICE

    run(main())
