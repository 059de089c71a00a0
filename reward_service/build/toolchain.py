"""What this machine compiles with: torch's headers and flags, the C++ compiler, nvcc.

The facts come from one fresh interpreter that imports torch (`toolchain_probe.py`; this process
never does) and are kept on disk until the interpreter, torch, a compiler or the environment that
chooses between them changes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from reward_service.errors import PrerequisiteError
from reward_service.sandbox.trees import parts_beside

_PROBE = str(Path(__file__).with_name("toolchain_probe.py"))
_PROBE_S = 300.0
_ENVIRONMENT = ("PATH", "CXX", "CUDA_HOME", "CUDA_PATH", "CUDNN_HOME", "CUDNN_PATH", "HOME")


@dataclass(frozen=True)
class Toolchain:
    """The facts; paths are absolute."""

    torch: str
    torch_cuda: str | None
    """The CUDA version that torch was built for; None: torch is built for CPUs."""
    includes: tuple[str, ...]
    """Torch's headers, then Python's."""
    cuda_includes: tuple[str, ...]
    torch_lib: str
    cuda_libs: tuple[str, ...]
    """Directories of the CUDA libraries."""
    standard: str
    """The `-std=` flag that torch compiles extensions with."""
    nvcc_flags: tuple[str, ...]
    """Flags that torch gives every nvcc command."""
    cxx: str | None
    cxx_version: str | None
    nvcc: str | None
    nvcc_version: str | None
    cuda_home: str | None
    clang: str | None = None
    """A clang++ that can stand in for the C++ compiler on the host side of CUDA sources."""
    clang_version: str | None = None
    linker: str | None = None
    """The directory of `ld.lld`, for `-B`; None: the C++ compiler's own linker."""

    @classmethod
    def find(cls, cache_dir: Path) -> Toolchain:
        """The toolchain of this interpreter (seconds the first time, then milliseconds).

        Raises PrerequisiteError where torch is missing or cannot be imported.
        """
        path = cache_dir / f"toolchain-{_fingerprint()[:24]}.json"
        try:
            return cls._from_json(json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            facts = _probe()
        cache_dir.mkdir(parents=True, exist_ok=True)
        found = cls._from_json(facts)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(asdict(found)))
        partial.replace(path)
        return found

    @classmethod
    def _from_json(cls, facts: dict[str, Any]) -> Toolchain:
        if facts.keys() != {f.name for f in fields(cls)}:
            raise ValueError("the facts are another version's")
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in facts.items()
        }
        return cls(**values)

    def require(self, *, cuda: bool) -> None:
        """Raise PrerequisiteError, with the fix, if there is no compiler for the sources."""
        if self.cxx is None:
            raise PrerequisiteError(
                "there is no C++ compiler on the PATH",
                "install one (Debian: `apt-get install g++`) or set CXX to its path",
            )
        if cuda and self.nvcc is None:
            raise PrerequisiteError(
                "there is no nvcc on the PATH or in CUDA_HOME",
                "install the CUDA toolkit"
                + (f" {self.torch_cuda}" if self.torch_cuda else "")
                + " and set CUDA_HOME to its directory",
            )

    @property
    def links_cuda(self) -> bool:
        """Torch has its CUDA libraries here; else a CUDA module is left with open symbols."""
        return Path(self.torch_lib, "libc10_cuda.so").exists()

    def describe(self, *, cuda: bool) -> str:
        """The compilers' names and versions, for provenance and keys."""
        parts = [self.cxx_version or "no C++ compiler"]
        if cuda:
            parts.append(self.nvcc_version or "no nvcc")
        return ", ".join(parts)

    def trees(self, *, cuda: bool) -> list[str]:
        """What a compile must be able to read."""
        paths = [*self.includes, self.torch_lib]
        programs = [p for p in (self.cxx, self.clang) if p is not None]
        if self.linker is not None:
            programs.append(os.path.join(self.linker, "ld.lld"))
        for program in programs:
            paths += [program, *parts_beside(program)]
        if cuda:
            paths += [*self.cuda_includes, *self.cuda_libs]
            if self.cuda_home is not None:
                paths.append(self.cuda_home)
        return [p for p in dict.fromkeys(paths) if os.path.exists(p)]


def isystem(paths: Iterable[str]) -> list[str]:
    """The flags that have headers looked for in `paths`."""
    return [word for path in paths for word in ("-isystem", path)]


def find_cxx() -> str | None:
    """The C++ compiler: `CXX`, else `c++` or `g++` on the PATH."""
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++"]
    return next((path for name in names if (path := shutil.which(name))), None)


def find_nvcc() -> str | None:
    """nvcc: in `CUDA_HOME`, else on the PATH, else where its installer puts it."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    names = [os.path.join(home, "bin", "nvcc") for home in homes if home]
    names += ["nvcc", "/usr/local/cuda/bin/nvcc"]
    return next((path for name in names if (path := shutil.which(name))), None)


def find_clang() -> str | None:
    """clang++: on the PATH, else the newest of the numbered ones."""
    return shutil.which("clang++") or _newest("clang++-")


def find_lld() -> str | None:
    """The directory of a linker by the name `ld.lld`, which is what compilers look for."""
    for found in (shutil.which("ld.lld"), _newest("ld.lld-")):
        # The numbered command is a link into a directory that has the plain name as well.
        if found is not None:
            for folder in (os.path.dirname(found), os.path.dirname(os.path.realpath(found))):
                if os.path.exists(os.path.join(folder, "ld.lld")):
                    return folder
    return None


def _newest(prefix: str) -> str | None:
    """The command on the PATH with this name and the highest number behind it."""
    found = {
        int(path.name.removeprefix(prefix)): path
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        if folder
        for path in Path(folder).glob(f"{prefix}[0-9]*")
        if path.name.removeprefix(prefix).isdigit()
    }
    return str(found[max(found)]) if found else None


def _fingerprint() -> str:
    """Of all that the facts depend on."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise PrerequisiteError(
            "torch is not installed", "run `pip install 'reward-service[worker]'`"
        )
    parts = [sys.executable, sys.version, *(os.environ.get(name, "") for name in _ENVIRONMENT)]
    version = Path(spec.origin).with_name("version.py")
    linker = find_lld()
    parts.append(linker or "")
    files = [version, find_cxx(), find_nvcc(), find_clang(), _PROBE]
    for file in files:
        if file is not None:
            real = os.path.realpath(file)
            stat = os.stat(real)
            parts += [real, str(stat.st_size), str(stat.st_mtime_ns)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _probe() -> dict[str, Any]:
    given = {
        "cxx": find_cxx(),
        "nvcc": find_nvcc(),
        "clang": find_clang(),
        "linker": find_lld(),
    }
    done = subprocess.run(
        [sys.executable, "-I", _PROBE, json.dumps(given)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_PROBE_S,
        check=False,
    )
    if done.returncode != 0:
        told = done.stderr.decode(errors="replace").strip().splitlines()
        raise PrerequisiteError(
            f"torch cannot be imported ({told[-1] if told else 'no message'})",
            "reinstall it with `pip install --force-reinstall torch`",
        )
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts
