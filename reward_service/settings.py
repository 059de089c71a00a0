"""The settings of a process of the service: environment variables with the prefix
`REWARD_SERVICE_` (and `REDIS_URL`), read once at its start and frozen from then on.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Every knob of the service, with its default."""

    model_config = SettingsConfigDict(env_prefix="REWARD_SERVICE_", frozen=True, extra="ignore")

    redis_url: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("REDIS_URL", "REWARD_SERVICE_REDIS_URL", "redis_url"),
    )
    """Redis 6.2+ or Valkey; unset: `up` starts an embedded Valkey on a private socket."""
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65_535)
    token: SecretStr | None = None
    """Bearer token of the operator, without a quota; `reward-service token` makes others. One
    is needed unless `host` is loopback and this is unset."""
    state_dir: Path = Path("~/.cache/reward-service")
    """Artifacts, device calibrations and scratch."""
    precompiled_dir: Path | None = None
    """Precompiled headers of the builder; unset: below `state_dir`. Of use where they come with
    an image and the state does not."""
    problem_dirs: tuple[Path, ...] = ()
    """Further directories of problems in KernelBench's layout (`level1/1_Name.py`)."""
    reward_file: Path | None = None
    """TOML file with further reward configs."""

    min_isolation: Literal["standard", "reduced"] = "standard"
    """A worker or builder that reaches less refuses to score. `reduced`: no change of user."""
    runner_uid_base: int = Field(default=64_000, ge=1_000, le=4_000_000)
    """First of the user ids given to sandboxed processes."""

    max_body_bytes: int = 1 << 20
    max_batch_bytes: int = 64 << 20
    """The same of a batch; both count what was compressed in full."""
    max_queued: int = Field(default=10_000, ge=1)
    """Evaluations waiting at most; past it a new one is answered with 429."""
    client_window: int = Field(default=16, ge=1)
    """Evaluations of one client that are next in a queue at a time; the rest of them wait until
    it is their turn, so that clients get equal shares. The same in all processes."""
    result_ttl_s: int = Field(default=7 * 86_400, ge=1)
    """How long a finished verdict is kept and served again."""
    lease_s: float = Field(default=10.0, gt=0)
    """A worker that has not renewed its lease for this long has died."""
    max_attempts: int = Field(default=3, ge=1)
    """How often an evaluation is started before it is unscored/WORKER_LOST."""

    build_timeout_s: float = Field(default=300.0, gt=0)
    build_memory_bytes: int = 8 << 30
    build_output_bytes: int = 256 << 20
    cuda_arch: str | None = None
    """Compute capability to build for, such as `9.0`; unset: the GPU's, or 9.0 without one."""
    artifact_store: Literal["directory", "redis"] = "directory"
    """Where workers find what builders made: `state_dir`, which hosts must then share, or Redis."""
    artifact_cache_bytes: int = 8 << 30
    """Bytes that built modules may take in `state_dir`; the least recently used go first."""
    artifact_redis_bytes: int = Field(default=1 << 30, ge=1 << 20)
    """Bytes that they may take in Redis likewise, on top of what its evaluations need. A module
    of more than a quarter of it is not put there."""

    load_timeout_s: float = Field(default=60.0, gt=0)
    """Seconds that loading a module and constructing a model may take."""
    timing_budget_s: float = Field(default=3.0, gt=0)
    """Seconds that the timed calls of one evaluation may take."""
    runner_memory_bytes: int | None = Field(default=None, ge=1 << 30)
    """Bytes of the host's memory that a running program may take; unset: half of it."""
    device_memory_bytes: int = 16 << 30
    """Bytes that the inputs and outputs of a problem may take on the host."""

    @cached_property
    def header_dir(self) -> Path:
        """Where precompiled headers are kept."""
        return (self.precompiled_dir or self.state_dir / "precompiled").expanduser()

    @cached_property
    def artifact_dir(self) -> Path:
        """Where built modules are kept."""
        return self.state_dir.expanduser() / "artifacts"
