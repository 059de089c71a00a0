"""Fixtures of the adversarial suite, read from their folders."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from reward_service.schemas import Reason

HERE = Path(__file__).parent
Device = Literal["cpu", "cuda"]
Which = Literal["cheat", "twin", "candidate"]


class Case(BaseModel):
    """A problem and candidates for it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path
    title: str
    devices: tuple[Device, ...] = ("cpu",)
    problem: str | None = None
    """Name of a file of `problems/`; None: `problem.py` of its own."""
    policy: dict[str, Any] = {}
    """Beside `library = "allow"`, unless it says otherwise."""
    prelude: str | None = None
    """A file of the family's folder, without its ending, that goes before cheat and twin: sources
    that several fixtures share word for word. On a GPU `<prelude>_cuda.py` where there is one."""
    prelude_for: tuple[Which, ...] = ("cheat", "twin", "candidate")
    tight: bool = False
    """Builds under limits so low that a bomb meets them within seconds."""

    @property
    def name(self) -> str:
        """Unique: the folder's."""
        return self.folder.name

    def problem_source(self) -> str:
        """The reference."""
        path = self.folder / "problem.py"
        return (HERE / "problems" / f"{self.problem}.py" if self.problem else path).read_text()

    def source(self, which: Which, device: Device) -> str:
        """A candidate's source."""
        own = _for_device(self.folder / f"{which}.py", device).read_text()
        if self.prelude is None or which not in self.prelude_for:
            return own
        return _for_device(self.folder.parent / f"{self.prelude}.py", device).read_text() + own


class Honest(Case):
    """What `honest.toml` holds: a kernel that only looks as if it cheated, `candidate.py`."""


class Fixture(Case):
    """What `fixture.toml` holds."""

    catalogue: str
    """Its number in the threat catalogue, such as `C1`."""
    seen: Literal["public", "repository", "reproduced", "inference"]
    """Where it was seen: in public reports, as code in a public repository, only by us, nowhere."""
    reasons: tuple[Reason, ...] = ()
    """Any of these may be the refusal's. Empty where it is harmless."""
    harmless: bool = False
    """The candidate is otherwise right and may be `correct`, but must gain nothing by the cheat."""
    max_speedup: float = 1.5
    """Of a harmless cheat, the most that its speedup's lower end may be."""
    weak: Literal["accepts", "fast", "dies", "hangs", "builds", "overruns"] = "accepts"
    """What the weak harness does with the cheat: accepts its outputs; accepts them and finds it
    `weak_speedup` times as fast; dies or gives no verdict; does not end in time; or, for attacks
    on builds, makes its module with a plain compiler, or has it run out of time or memory."""
    weak_speedup: float = 3.0
    trace: bool = False
    """The cheat leaves the file `trace_path`: the weak harness must let it, and ours must not."""
    secret: bool = False
    """The cheat reads `secret_path`, which the test plants, readable by all."""
    root: bool = False
    """Holds only where the service has users of its own to give to foreign code."""
    pending: str | None = None
    """What our service lacks to hold against it; the test then must fail."""

    @property
    def trace_path(self) -> Path:
        """Where the cheat leaves its mark: `/var/tmp/rs-trace-<name>`."""
        return Path(f"/var/tmp/rs-trace-{self.name}")

    @property
    def secret_path(self) -> Path:
        """What the cheat would read: `/var/tmp/rs-secret-<name>`."""
        return Path(f"/var/tmp/rs-secret-{self.name}")


def _for_device(path: Path, device: Device) -> Path:
    """A file, or its form for a GPU where it has another."""
    own = path.with_stem(f"{path.stem}_cuda")
    return own if device == "cuda" and own.exists() else path


def fixtures() -> list[Fixture]:
    """All of them, in the order of their names."""
    files = sorted((HERE / "cheats").glob("*/*/fixture.toml"))
    return [Fixture(folder=file.parent, **tomllib.loads(file.read_text())) for file in files]


def honest() -> list[Honest]:
    """The kernels that only look suspicious."""
    files = sorted((HERE / "honest").glob("*/honest.toml"))
    return [Honest(folder=file.parent, **tomllib.loads(file.read_text())) for file in files]
