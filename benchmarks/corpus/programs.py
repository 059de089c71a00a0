"""The build corpus: its programs, and what is expected of each.

A program is one file below `cuda/`, `cpu/` or `failing/`. Constants at its top say what it is for;
they are read from the text, so that nothing of it runs here:

    TOPICS   what it uses
    EXPECT   "split": the split rung makes it; "stock": that rung must leave it to the stock one;
             "BUILD_FAILED": no rung can; "LOAD_FAILED": it builds, and the module does not load
    PASS     of one that fails: where ("device", "host", "link", "load")
    MESSAGE  of one that fails: what its message must hold
    WHY      where EXPECT or PASS needs a reason
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
EXPECTATIONS = ("split", "stock", "BUILD_FAILED", "LOAD_FAILED")
PASSES = ("device", "host", "link", "load", "source")
"""Where a program fails; `source`: the split rung leaves it to the stock rung on purpose."""
_CONSTANTS = {"TOPICS", "EXPECT", "PASS", "MESSAGE", "WHY"}


@dataclass(frozen=True)
class Program:
    """One program of the corpus."""

    name: str
    """Folder and file, such as `cuda/vector_add`."""
    source: str
    title: str
    """The first line of its docstring."""
    topics: tuple[str, ...]
    expect: str
    fails_in: str | None = None
    message: str = ""
    why: str | None = None

    @property
    def path(self) -> Path:
        """Where it lies."""
        return ROOT / f"{self.name}.py"

    @property
    def cuda(self) -> bool:
        """It needs nvcc to build and a GPU to run."""
        return not self.name.startswith("cpu/")

    @property
    def builds(self) -> bool:
        """It is expected to build and to run."""
        return self.expect in ("split", "stock")


def programs() -> list[Program]:
    """All programs, by name."""
    return [read(path) for path in sorted(ROOT.glob("*/*.py"))]


def read(path: Path) -> Program:
    """The program in a file; raises ValueError where a constant is missing or unknown."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in _CONSTANTS:
                found[name] = ast.literal_eval(node.value)
    program = Program(
        name=path.relative_to(ROOT).with_suffix("").as_posix(),
        source=source,
        title=(ast.get_docstring(tree) or "").split("\n")[0],
        topics=tuple(found.get("TOPICS", ())),
        expect=found.get("EXPECT", ""),
        fails_in=found.get("PASS"),
        message=found.get("MESSAGE", ""),
        why=found.get("WHY"),
    )
    _check(program)
    return program


def _check(program: Program) -> None:
    wrong = None
    if program.expect not in EXPECTATIONS:
        wrong = f"EXPECT must be one of {', '.join(EXPECTATIONS)}"
    elif not program.topics or not program.title:
        wrong = "a docstring and TOPICS are needed"
    elif program.builds != (program.fails_in is None):
        wrong = "PASS is for programs that fail"
    elif program.fails_in is not None and program.fails_in not in PASSES:
        wrong = f"PASS must be one of {', '.join(PASSES)}"
    elif program.expect == "stock" and not program.why:
        wrong = "a program that must leave the split rung says WHY"
    if wrong is not None:
        raise ValueError(f"{program.name}: {wrong}")
