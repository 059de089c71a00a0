"""The one way in which texts are told apart by a digest."""

from __future__ import annotations

import hashlib


def sha256(text: str) -> str:
    """SHA-256 of a text, in hex; of any text, for an inline source may hold what UTF-8 cannot."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
