"""`reward-service worker`: judge on one device."""

from __future__ import annotations

from typing import Annotated

import typer

from reward_service.cli.common import load_settings, require_state_dir, start, store_url


def worker(
    device: Annotated[str, typer.Option(help="cpu, or cuda:0 and so on.")] = "cpu",
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
) -> None:
    """Judge candidates on a device; one worker a device."""
    from reward_service.jobs.process import run_worker
    from reward_service.rewards.book import RewardBook
    from reward_service.worker.supervisor import Supervisor

    start(with_parent)
    settings = load_settings()
    require_state_dir(settings)
    url = store_url(settings)
    book = RewardBook(settings.reward_file)
    with Supervisor(settings, device) as supervisor:
        run_worker(settings, url, supervisor.judge, supervisor.info, book)
