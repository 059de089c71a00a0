"""`reward-service prepare`: make what builds need once per toolchain."""

from __future__ import annotations

import typer

from reward_service.cli.common import load_settings, require_state_dir


def prepare() -> None:
    """Make the precompiled headers (a builder would do it at its start).

    For images, with REWARD_SERVICE_PRECOMPILED_DIR set to a place that the image keeps.
    """
    from reward_service.build.precompiled import Precompiled
    from reward_service.build.toolchain import Toolchain

    settings = load_settings()
    require_state_dir(settings)
    toolchain = Toolchain.find(settings.state_dir.expanduser())
    toolchain.require(cuda=False)
    precompiled = Precompiled(toolchain, settings.header_dir)
    usual = precompiled.usual(cuda=toolchain.nvcc is not None)
    precompiled.prepare(usual, lambda text: typer.echo(text, err=True))
    total = sum(made["bytes"] for made in precompiled.sizes().values())
    typer.echo(f"{total / 2**20:.0f} MiB of precompiled headers in {settings.header_dir}")
