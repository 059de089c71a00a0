"""Reads the `Prefer` header (RFC 7240): how long a client is ready to wait."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MAX_DIGITS = 9


@dataclass(frozen=True)
class Prefer:
    """What was asked, of the preferences that we know."""

    wait_s: float | None = None
    """None: wait as long as it takes."""
    applied: str = ""
    """Value of `Preference-Applied`; empty: no preference applied."""


def parse(headers: Iterable[str]) -> Prefer:
    """The preferences of all `Prefer` headers; unknown and malformed ones are passed over.

    `wait=N` bounds the wait; `respond-async` alone means not to wait at all.
    """
    asynchronous = False
    wait: int | None = None
    for preference in ",".join(headers).split(","):
        token = preference.split(";")[0]
        name, _, value = (part.strip().strip('"').lower() for part in token.partition("="))
        if name == "respond-async":
            asynchronous = True
        elif name == "wait" and wait is None and value.isascii() and value.isdigit():
            wait = int(value[:MAX_DIGITS])
    if wait is None and asynchronous:
        return Prefer(0.0, "respond-async")
    if wait is None:
        return Prefer()
    return Prefer(float(wait), f"respond-async, wait={wait}" if asynchronous else f"wait={wait}")
