"""`reward-service builder`: compile candidates."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from reward_service.cli.common import load_settings, require_state_dir, start, store_url


def builder(
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
) -> None:
    """Build candidates; needs a compiler and torch, but no GPU."""
    from reward_service.build.stage import BuildStage
    from reward_service.jobs.process import run_builder
    from reward_service.rewards.book import RewardBook

    start(with_parent)
    settings = load_settings()
    require_state_dir(settings)
    url = store_url(settings)
    book = RewardBook(settings.reward_file)
    with BuildStage(settings, progress=logging.getLogger(__name__).info) as stage:
        run_builder(settings, url, stage, book)
