"""Parses Python that somebody else wrote."""

from __future__ import annotations

import ast
import threading
import warnings

NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What `parse` raises; the last two where the text nests deeper than the parser goes."""

# The filters of warnings belong to the process, not to a thread. One text at a time also bounds
# what the trees of hostile ones take.
_ONE_AT_A_TIME = threading.Lock()


def parse(source: str) -> ast.Module:
    """The syntax tree; warns of nothing, for a stray backslash is its author's own affair.

    Raises one of `NOT_PYTHON`. A megabyte made for it takes seconds and a gigabyte.
    """
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
