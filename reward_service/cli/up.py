"""`reward-service up`: the whole service on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from reward_service.cli.children import Children
from reward_service.cli.common import EXIT_PREREQUISITE, load_settings, require_state_dir, start
from reward_service.errors import PrerequisiteError
from reward_service.settings import Settings

Commands = Mapping[str, Sequence[str]]


def up(
    port: Annotated[int | None, typer.Option(help="Port of the API; 0: any.")] = None,
    host: Annotated[str | None, typer.Option(help="Address that the API listens on.")] = None,
    cpu: Annotated[bool, typer.Option("--cpu", help="Judge on the CPU, GPUs or not.")] = False,
    builders: Annotated[
        int | None, typer.Option(min=1, help="Builder processes; by default one for two cores.")
    ] = None,
    accept_reduced_isolation: Annotated[
        bool,
        typer.Option(
            "--accept-reduced-isolation",
            help="Run candidates as this user where their own cannot be had.",
        ),
    ] = False,
) -> None:
    """Run everything here: Valkey if there is no REDIS_URL, the API, builders, the devices."""
    from reward_service.devices.detect import device_names

    start()
    isolation = "reduced" if accept_reduced_isolation else None
    settings = load_settings(port=port, host=host, min_isolation=isolation)
    require_state_dir(settings)
    devices = ["cpu"] if cpu else device_names() or ["cpu"]
    run_up(settings, commands(devices, builders or default_builders()))


def default_builders() -> int:
    """A build keeps about two compilers busy."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def commands(devices: Sequence[str], builders: int) -> Commands:
    """The children by name: the builders, and a worker for each device."""
    this = [sys.executable, "-m", "reward_service.cli"]
    workers = {
        f"worker {device}": [*this, "worker", "--device", device, "--with-parent"]
        for device in devices
    }
    compiling = {
        f"builder {number + 1}": [*this, "builder", "--with-parent"] for number in range(builders)
    }
    return {**compiling, **workers}


def run_up(settings: Settings, commands: Commands) -> None:
    """Run the API here and `commands` as children, until SIGTERM or SIGINT.

    Raises `PrerequisiteError`; exits with status 3 if a child does.
    """
    from reward_service.api.app import create_app, is_loopback
    from reward_service.api.server import listen, serve
    from reward_service.jobs.embedded import EmbeddedValkey

    unusable = threading.Event()

    def on_unusable(name: str) -> None:
        typer.echo(f"error: {name} cannot run here; see above", err=True)
        unusable.set()
        os.kill(os.getpid(), signal.SIGTERM)

    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(settings.host, settings.port))
        if settings.redis_url is None:
            if settings.token is None and not is_loopback(settings.host):
                # `reward-service token` has no way to the embedded server.
                raise PrerequisiteError(
                    f"{settings.host} can be reached from other hosts, and there is no token",
                    "set REWARD_SERVICE_TOKEN, or REDIS_URL, or listen on 127.0.0.1",
                )
            url = stack.enter_context(EmbeddedValkey()).url
            settings = load_settings(**settings.model_dump(exclude={"redis_url"}), redis_url=url)
            typer.echo("valkey     embedded; what it holds ends with it")
        else:
            typer.echo("valkey     REDIS_URL")
        assert settings.redis_url is not None
        app = create_app(settings)
        env = {
            **os.environ,
            "REDIS_URL": settings.redis_url.get_secret_value(),
            "REWARD_SERVICE_MIN_ISOLATION": settings.min_isolation,
        }
        try:
            with Children(commands, env, on_unusable):
                for name in commands:
                    typer.echo(name)
                bound = listener.getsockname()
                at = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
                typer.echo(f"api        http://{at}:{bound[1]}")
                serve(app, listener)
        finally:
            if unusable.is_set():
                sys.exit(EXIT_PREREQUISITE)
