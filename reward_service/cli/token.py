"""`reward-service token`: who may call from other hosts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from reward_service.cli.common import load_settings, store_url

if TYPE_CHECKING:
    from reward_service.jobs.connection import Client
    from reward_service.jobs.tokens import Token

Name = Annotated[str, typer.Argument(help="Lower case letters, digits, dot, dash, underscore.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]

token = typer.Typer(
    help="Make, list and revoke the tokens of clients.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@token.command()
def create(
    name: Name,
    max_waiting: Annotated[
        int | None,
        typer.Option(min=1, help="Evaluations that may wait or run at a time; else any number."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and print its secret, which is shown this once."""
    from reward_service.jobs.tokens import NAME, RESERVED, Tokens

    if NAME.fullmatch(name) is None or name in RESERVED:
        message = f"{name!r} cannot be a name: lower case letters, digits and . _ - are allowed"
        reserved = ", ".join(sorted(RESERVED))
        raise typer.BadParameter(f"{message}, and {reserved} are taken", param_hint="NAME")
    secret = Tokens(_client()).create(name, max_waiting)
    if secret is None:
        raise typer.BadParameter(f"there is a token {name!r}; revoke it first", param_hint="NAME")
    if as_json:
        print(json.dumps({"name": name, "max_waiting": max_waiting, "token": secret}))
    else:
        typer.echo("This is shown once; clients send it as `Authorization: Bearer ...`.", err=True)
        print(secret)


@token.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the tokens, without their secrets, and what their clients have in hand."""
    from reward_service.jobs.store import Store
    from reward_service.jobs.tokens import Tokens

    client = _client()
    unfinished = Store(client).unfinished()
    tokens = sorted(Tokens(client).by_digest().values(), key=lambda known: known.name)
    rows = [_row(known, unfinished.get(known.name, 0)) for known in tokens]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table("name", "created", "max waiting", "waiting or running")
    for row in rows:
        limit = "" if row["max_waiting"] is None else str(row["max_waiting"])
        table.add_row(str(row["name"]), str(row["created"]), limit, str(row["unfinished"]))
    Console().print(table)


@token.command()
def revoke(name: Name) -> None:
    """Make a token worthless, within seconds; what its client has submitted is still judged."""
    from reward_service.jobs.tokens import Tokens

    if not Tokens(_client()).revoke(name):
        raise typer.BadParameter(f"there is no token {name!r}", param_hint="NAME")


def _client() -> Client:
    from reward_service.jobs.connection import connect

    return connect(store_url(load_settings()))


def _row(known: Token, unfinished: int) -> dict[str, str | int | None]:
    return {
        "name": known.name,
        "created": datetime.fromtimestamp(known.created, UTC).isoformat(timespec="seconds"),
        "max_waiting": known.max_waiting,
        "unfinished": unfinished,
    }
