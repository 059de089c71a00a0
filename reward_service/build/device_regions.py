"""Which lines of a CUDA source belong to device code, by the numbers that compilers report.

A scan over text with comments, strings and preprocessor lines blanked out: from `__global__` or
`__device__` (or a macro of the source that expands to one) to the end of the function or
declaration. It decides nothing about the program, only whom an error message is believed.
"""

from __future__ import annotations

import re

_BLANK = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.DOTALL | re.MULTILINE,
)
_LINE = re.compile(r"^[ \t]*#\s*line\s+(\d+)[^\n]*$")
_DEFINE = re.compile(r"^[ \t]*#\s*define\s+(\w+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
_DEVICE = re.compile(r"__(?:global|device)__")


class Lines:
    """The lines of one source text, which may begin with lines of ours and a `#line` directive."""

    def __init__(self, text: str) -> None:
        self.whole = text
        """The text as given."""
        self._numbers: list[int] = []
        self._texts: dict[int, str] = {}
        number = 1
        for line in text.split("\n"):
            self._numbers.append(number)
            self._texts[number] = line
            directive = _LINE.match(line)
            number = int(directive[1]) if directive is not None else number + 1
        self._device = self._find()

    def text(self, line: int) -> str:
        """The line that a compiler calls `line`; empty if there is none."""
        return self._texts.get(line, "")

    def in_device_code(self, line: int) -> bool:
        """Whether the line is part of a function or variable of the device."""
        return line in self._device

    def _find(self) -> frozenset[int]:
        plain = _BLANK.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), self.whole)
        words = {m[1] for m in _DEFINE.finditer(self.whole) if _DEVICE.search(m[2])}
        words |= {"__global__", "__device__"}
        keyword = re.compile(rf"\b(?:{'|'.join(sorted(words))})\b")
        found: set[int] = set()
        at = 0
        while (start := keyword.search(plain, at)) is not None:
            at = _end(plain, start.end())
            first = plain.count("\n", 0, start.start())
            found.update(self._numbers[first : plain.count("\n", 0, at) + 1])
        return frozenset(found)


def _end(plain: str, at: int) -> int:
    """Where the declaration that goes on at `at` ends: behind its `}` or `;`."""
    depth = 0
    for found in re.compile(r"[(){};]").finditer(plain, at):
        sign = found[0]
        if sign in "({":
            depth += 1
        elif sign in ")}":
            depth -= 1
            if sign == "}" and depth <= 0:
                return found.end()
        elif depth <= 0:
            return found.end()
    return len(plain)
