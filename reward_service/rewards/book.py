"""The reward configs that the service has: four of its own, and those of a TOML file.

A file names a config, the kind that it builds on, and the parameters that differ:

    [fast_2]
    kind = "fast_p"
    version = 1
    description = "1 if correct and more than twice as fast"
    parameters = { p = 2.0 }

A config is identified by a hash over its kind, version and all its parameters (defaults
included), and each verdict carries it: two rewards can be compared when their hashes agree.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from reward_service.errors import PrerequisiteError, RequestError
from reward_service.rewards.kinds import KINDS, Kind
from reward_service.schemas import (
    OUTCOME_OF,
    Name,
    Outcome,
    Reason,
    RewardConfigRef,
    RewardInfo,
    Speedup,
)


@dataclass(frozen=True)
class RewardConfig:
    """One named way of scoring; `kind` and `parameters` decide the number."""

    name: str
    version: int
    description: str
    kind: str
    scoring: Kind

    @property
    def parameters(self) -> dict[str, float]:
        """Every parameter with its value, defaults included."""
        return {key: float(value) for key, value in self.scoring.model_dump().items()}

    @cached_property
    def ref(self) -> RewardConfigRef:
        """What a verdict says of the config that it was scored by."""
        identity = {"kind": self.kind, "version": self.version, "parameters": self.parameters}
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"), allow_nan=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return RewardConfigRef(name=self.name, version=self.version, hash=digest)

    @property
    def info(self) -> RewardInfo:
        """The listing's entry."""
        return RewardInfo(
            name=self.name,
            version=self.version,
            hash=self.ref.hash,
            description=self.description,
            parameters=self.parameters,
        )

    def score(self, outcome: Outcome, reason: Reason | None, speedup: Speedup | None) -> float:
        """The reward of a scored verdict.

        Raises `ValueError` where there is none: for built and unscored verdicts, and for
        combinations that no verdict can have.
        """
        if outcome in (Outcome.BUILT, Outcome.UNSCORED):
            raise ValueError(f"outcome {outcome} has no reward")
        belongs = Outcome.CORRECT if reason is None else OUTCOME_OF[reason]
        if belongs is not outcome:
            raise ValueError(f"outcome {outcome} does not allow reason {reason}")
        if outcome is Outcome.CORRECT:
            return self.scoring.correct(None if speedup is None else speedup.low)
        if speedup is not None:
            raise ValueError(f"outcome {outcome} has no speedup")
        return self.scoring.failed(outcome)


class RewardBook:
    """The configs by name. `file`: TOML with further ones, read once.

    Raises `PrerequisiteError` naming the table and key at fault where the file is no good.
    """

    def __init__(self, file: Path | None = None) -> None:
        configs = [
            RewardConfig(kind, 1, (scoring.__doc__ or "").splitlines()[0], kind, scoring())
            for kind, scoring in KINDS.items()
        ]
        if file is not None:
            configs += _read(file.expanduser())
        self._configs = {config.name: config for config in configs}

    def list(self) -> list[RewardInfo]:
        """Every config, sorted by name."""
        return [self._configs[name].info for name in sorted(self._configs)]

    def resolve(self, name: str) -> RewardConfig:
        """The config of this name, or of this `name@version`.

        Raises `RequestError` 422 that says which exist.
        """
        bare, _, version = name.partition("@")
        config = self._configs.get(bare)
        if config is None or ("@" in name and version != str(config.version)):
            exist = ", ".join(str(self._configs[n].ref) for n in sorted(self._configs))
            message = f"no reward config is named {name!r}; there are {exist}"
            raise RequestError(422, message, field="policy.reward")
        return config


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["dice", "fast_p", "tiered", "log_speedup"]
    version: int = Field(default=1, ge=1)
    description: str = ""
    parameters: dict[str, Any] = {}


def _read(file: Path) -> list[RewardConfig]:
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _refused(file, error.strerror or str(error)) from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise _refused(file, str(error)) from error
    return [_config(file, name, table) for name, table in tables.items()]


def _config(file: Path, name: str, table: Any) -> RewardConfig:
    if name in KINDS:
        raise _refused(file, f"[{name}] is the name of a built-in config")
    at = name
    try:
        TypeAdapter(Name).validate_python(name)
        entry = _Entry.model_validate(table)
        at = f"{name}.parameters"
        scoring = KINDS[entry.kind].model_validate(entry.parameters, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join((at, *(str(part) for part in first["loc"])))
        raise _refused(file, f"{key}: {first['msg']}") from error
    description = entry.description or f"{entry.kind} with parameters of its own"
    return RewardConfig(name, entry.version, description, entry.kind, scoring)


def _refused(file: Path, why: str) -> PrerequisiteError:
    return PrerequisiteError(
        f"the reward file {file} is no good: {why}",
        "correct it, or unset REWARD_SERVICE_REWARD_FILE",
    )
