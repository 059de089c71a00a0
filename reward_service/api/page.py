"""`/`: devices, queues and the latest verdicts, for a person; one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from reward_service import __version__
from reward_service.api.service import Service
from reward_service.jobs.record import Record

LATEST = 20
HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5">
<meta name="viewport" content="width=device-width"><title>reward-service</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
       color-scheme: light dark }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884 }}
</style></head><body><h1>reward-service {version}</h1>
<h2>Devices</h2>{devices}<h2>Queues</h2>{queues}<h2>Latest verdicts</h2>{verdicts}
<p><a href="/docs">API</a> · <a href="/metrics">metrics</a></p></body></html>"""


def routes(service: Service) -> APIRouter:
    """`/`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/", response_class=HTMLResponse)
    def index() -> HTMLResponse:
        devices = [p.device for p in service.registry.alive() if p.device is not None]
        page = PAGE.format(
            version=__version__,
            devices=_table(
                ("class", "name", "state", "isolation", "worker"),
                [(d.device_class, d.name, d.state, d.isolation, d.worker) for d in devices],
            ),
            queues=_table(
                ("queue", "waiting", "oldest"),
                [(q, str(n), f"{age:.1f} s") for q, (n, age) in service.store.queues().items()],
            ),
            verdicts=_table(
                ("problem", "outcome", "reward", "speedup", "seconds"),
                [_row(record) for record in service.store.recent(LATEST)],
            ),
        )
        return HTMLResponse(page, headers=HEADERS)

    return router


def _row(record: Record) -> tuple[str, ...]:
    verdict = record.verdict
    assert verdict is not None
    speedup = verdict.speedup
    return (
        record["title"],
        f"{verdict.outcome} {verdict.reason or ''}",
        "" if verdict.reward is None else f"{verdict.reward:.3f}",
        "" if speedup is None else f"{speedup.value:.2f} [{speedup.low:.2f}, {speedup.high:.2f}]",
        f"{verdict.stages.get('total', 0.0):.2f}",
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in row)}</tr>" for row in rows)
    if not body:
        return "<p>none</p>"
    return f"<table><tr>{''.join(f'<th>{escape(c)}</th>' for c in head)}</tr>{body}</table>"
