"""`reward-service api`: the HTTP API alone."""

from __future__ import annotations

from typing import Annotated

import typer

from reward_service.cli.common import load_settings, start


def api(
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0: any.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
) -> None:
    """Answer HTTP; builders and workers are found through REDIS_URL."""
    from reward_service.api.app import create_app
    from reward_service.api.server import listen, serve

    start()
    settings = load_settings(port=port, host=host)
    app = create_app(settings)
    with listen(settings.host, settings.port) as listener:
        serve(app, listener)
