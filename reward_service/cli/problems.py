"""`reward-service problems`: what there is to solve, or the source of one of them."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from reward_service import schemas
from reward_service.cli.common import load_settings
from reward_service.errors import RequestError
from reward_service.problems.library import ProblemLibrary

BAD_USAGE = 3


def problems(
    name: Annotated[str | None, typer.Argument(help="Show the source of this one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List the problems, or show one's source."""
    library = ProblemLibrary(load_settings().problem_dirs)
    if name is None:
        _list(library, as_json)
    else:
        _show(library, name, as_json)


def _list(library: ProblemLibrary, as_json: bool) -> None:
    infos = library.list()
    if as_json:
        print(json.dumps([info.model_dump() for info in infos], indent=2))
        return
    table = Table("name", "what it is")
    for info in infos:
        table.add_row(info.name, info.title)
    Console().print(table)
    for path, why in library.skipped().items():
        typer.echo(f"skipped {path}: {why}", err=True)


def _show(library: ProblemLibrary, name: str, as_json: bool) -> None:
    try:
        # Not validated: a name outside the wire's pattern is answered like any unknown one.
        found = library.resolve(schemas.Problem.model_construct(name=name, source=None))
    except RequestError as error:
        typer.echo(f"error: {error.detail}", err=True)
        raise typer.Exit(BAD_USAGE) from error
    if as_json:
        print(json.dumps({**found.info.model_dump(), "source": found.source}, indent=2))
        return
    console = Console()
    if console.is_terminal:
        console.print(Syntax(found.source, "python"))
    else:
        print(found.source, end="")
