"""Judges the rows of a corpus run against what was expected, and makes the table of them."""

from __future__ import annotations

from typing import Any

from benchmarks.corpus.programs import Program

_HEAD = (
    "| program | topics | rung | why it left the split rung | s | s stock | code identical "
    "| outputs equal | as expected |\n|---|---|---|---|---|---|---|---|---|\n"
)


def unexpected(program: Program, row: dict[str, Any]) -> list[str]:
    """What is not as expected; empty if all is. What was not looked at is not held against it."""
    ladder = row["ladder"]
    builds = {"ladder": ladder} | ({"stock": row["stock"]} if row["stock"] else {})
    outcome = "BUILD_FAILED" if program.expect == "BUILD_FAILED" else "built"
    found = [
        f"{which}: {build['outcome']} {build['message'][:200]!r}"
        for which, build in builds.items()
        if build["outcome"] != outcome
    ]
    if outcome == "BUILD_FAILED":
        found += [
            f"{which}: the message lacks {program.message!r}: {build['message'][:200]!r}"
            for which, build in builds.items()
            if program.message.lower() not in build["message"].lower()
        ]
    wanted = path(program)
    if wanted is not None and ladder["path"] != wanted:
        found.append(f"rung {ladder['path']} ({ladder['fallback']}), not {wanted}")
    if row["identical"] is False:
        found.append(f"device code differs: {', '.join(row['code']['differences'])}")
    return [*found, *_runs(program, row)]


def path(program: Program) -> str | None:
    """The rung that must decide; None: either may. An error of a device pass is final."""
    if program.builds:
        return program.expect
    return "split" if program.fails_in == "device" else None


def _runs(program: Program, row: dict[str, Any]) -> list[str]:
    runs = {which: run for which, run in row["runs"].items() if run is not None}
    if program.expect == "LOAD_FAILED":
        return [f"{which} loads" for which, run in runs.items() if run.get("failed") != "load"]
    found = [
        f"{which} fails to {run['failed']}: {run['error'][:200]}"
        for which, run in runs.items()
        if "failed" in run
    ]
    return [*found, "outputs differ"] if row["outputs_equal"] is False else found


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a summary, then a row for each program."""
    good = [row for row in rows if row["expect"] in ("split", "stock")]
    split = sum(row["ladder"]["path"] == "split" for row in good)
    identical = sum(row["identical"] is True for row in rows)
    compared = sum(row["identical"] is not None for row in rows)
    equal = sum(row["outputs_equal"] is True for row in rows)
    ran = sum(row["outputs_equal"] is not None for row in rows)
    odd = sum(bool(row["unexpected"]) for row in rows)
    lines = [
        f"{len(rows)} programs, {len(good)} of them meant to build: {split} on the split rung "
        f"({100 * split / max(1, len(good)):.0f} %).",
        f"Device code identical to the stock build's in {identical} of {compared} compared; "
        f"outputs equal bit by bit in {equal} of {ran} run; {odd} not as expected.",
    ]
    return "\n".join(lines) + "\n\n" + _HEAD + "".join(map(_line, rows))


def _line(row: dict[str, Any]) -> str:
    ladder, stock = row["ladder"], row["stock"]
    outcome = "" if ladder["outcome"] == "built" else f", {ladder['outcome']}"
    cells = [
        row["program"],
        ", ".join(row["topics"]),
        f"{ladder['path']}{outcome}",
        (ladder["fallback"] or "")[:120],
        f"{ladder['seconds']:.2f}",
        f"{stock['seconds']:.1f}" if stock else "",
        _said(row["identical"]),
        _said(row["outputs_equal"]),
        "yes" if not row["unexpected"] else "; ".join(row["unexpected"])[:300],
    ]
    return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |\n"


def _said(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "NO"
