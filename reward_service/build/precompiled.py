"""Precompiled headers and runtime objects of the split rung: made once per toolchain, then read.

    <root>/<kind>-<hash>/prefix.h.gch | prefix.pch     and meta.json beside it
          /runtime-<hash>/binding_runtime.o, launch_runtime.o, lacking.txt

The hash is over the compiler, its flags, torch's version and the text of all of our headers, so
that nothing here is ever out of date. A folder appears by one rename; who makes one holds a lock
of the kernel's, which a dead process cannot keep. What cannot be made (a standard that torch's
headers refuse, a compiler too old for them) is remembered as such.

A precompiled header can only be used with the flags that it was made with, as far as these
change what headers mean: `mode` is that part of a candidate's flags. The usual ones are made by
`prepare`, before the first evaluation; another one is made beside the evaluations (`want`) and
serves from then on.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Literal

from reward_service.build.toolchain import Toolchain, isystem
from reward_service.errors import InfrastructureError
from reward_service.sandbox import tethered

HEADERS = Path(__file__).with_name("headers")
"""Our own C++ headers and stand-ins for those of others; see `headers/README.md`."""
_RUNTIMES = ("binding_runtime", "launch_runtime")
_LACKING = "lacking.txt"

Kind = Literal["cpu", "cuda"]

_MAKE_S = 600.0
_TETHERED = str(Path(tethered.__file__))
_KILLED = re.compile(
    r"signal terminated program|Killed|Terminated|out of memory|No space left|"
    r"unable to execute command"
)
"""A compiler that did not get to say whether a header can be made."""
_MOST = 16
"""Headers below one root, past which none is made for unusual flags: each takes up to 450 MB."""
_NEUTRAL = re.compile(
    r"-W.*|-w|-g[0-3]?|-pipe|-f(PIC|pic)|-[DU].*|-fvisibility(-inlines-hidden|=\w+)|-fmax-errors.*|"
    r"-fdiagnostics.*|-f(no-)?(strict-aliasing|strict-overflow|wrapv|omit-frame-pointer|"
    r"inline(-functions|-small-functions)?|unroll-loops|unroll-all-loops|peel-loops|tree-.*|"
    r"vectorize|slp-vectorize|prefetch-loop-arrays|split-loops|unswitch-loops|gcse|"
    r"schedule-insns2?|ipa-(cp|pta)|plt|semantic-interposition|function-sections|data-sections|"
    r"merge-all-constants|delete-null-pointer-checks)"
)
"""Flags that change code but not what a header means: g++ takes a precompiled header made
without them. What it would refuse after all fails the pass (-Werror=invalid-pch)."""

_WORD = re.compile(r"[A-Za-z_]\w*")
AS_GCC = ("-fclang-abi-compat=17",)
"""torch's libraries are built by gcc, which does not mangle the types of non-type parameters;
clang does from version 18 on."""
_USUAL_CPU = ((), ("-O2",), ("-O2", "-march=native"), ("-O2", "-march=native", "-fopenmp"))


def mode(flags: Iterable[str]) -> tuple[str, ...]:
    """The part of a C++ compiler's flags that a precompiled header must share."""
    level = ""
    kept = []
    for flag in flags:
        if flag.startswith("-O"):
            level = {"-O0": "", "-O": "-O2", "-O1": "-O2", "-O3": "-O2"}.get(flag, flag)
        elif not _NEUTRAL.fullmatch(flag):
            kept.append(flag)
    return ((level,) if level else ()) + tuple(sorted(dict.fromkeys(kept)))


@dataclass(frozen=True)
class Header:
    """A precompiled header, made or not."""

    kind: Kind
    mode: tuple[str, ...]
    compiler: str
    folder: Path

    @property
    def is_clang(self) -> bool:
        """Whether clang makes and uses it; else g++."""
        return "clang" in os.path.basename(self.compiler)

    @property
    def file(self) -> Path:
        """The precompiled header itself."""
        return self.folder / ("prefix.pch" if self.is_clang else "prefix.h.gch")

    @property
    def use(self) -> tuple[str, ...]:
        """What makes a command read it."""
        if self.is_clang:
            return (*AS_GCC, "-include-pch", str(self.file))
        return ("-Winvalid-pch", "-Werror=invalid-pch", "-include", str(self.folder / "prefix.h"))


@dataclass
class Precompiled:
    """The headers and the runtime object of one toolchain below `root`."""

    toolchain: Toolchain
    root: Path
    _wanted: dict[str, Header] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _maker: threading.Thread | None = None
    _running: set[BinaryIO] = field(default_factory=set)
    """Whatever holds one of these runs; see `tethered`."""
    _closed: bool = False

    @cached_property
    def identity(self) -> str:
        """Hash of all that makes a module of the split rung differ, but for its own flags."""
        parts = [self.toolchain.clang_version or "", self.toolchain.describe(cuda=True)]
        code = sorted(HEADERS.parent.rglob("*.py"))
        parts += [hashlib.sha256(path.read_bytes()).hexdigest() for path in code]
        return self._hash(parts, ".")

    def header(self, kind: Kind, flags: Iterable[str]) -> Header:
        """The header for a pass with these flags of a candidate."""
        tools = self.toolchain
        compiler = (tools.clang if kind == "cuda" else None) or tools.cxx
        if compiler is None:
            raise InfrastructureError("there is no C++ compiler")
        wanted = mode(f for f in flags if f != tools.standard)
        version = tools.clang_version if compiler == tools.clang else tools.cxx_version
        parts = [kind, compiler, version or "", *AS_GCC, *self.flags(kind), *wanted]
        name = self._hash(parts, f"prefix_{kind}.h", "common", "missing")
        return Header(kind, wanted, compiler, self.root / f"{kind}-{name[:24]}")

    def flags(self, kind: Kind) -> list[str]:
        """The flags that all passes of a kind share, but for the stand-ins for headers."""
        tools = self.toolchain
        cuda = kind == "cuda"
        flags = ["-fPIC", tools.standard, "-DTORCH_API_INCLUDE_EXTENSION_H"]
        if cuda:
            flags += [f for f in tools.nvcc_flags if f.startswith("-D")]
        flags += isystem([*tools.includes, *(tools.cuda_includes if cuda else ())])
        if cuda:
            flags += ["-idirafter", str(HEADERS / "missing")]
        return flags

    def ready(self, header: Header) -> bool | None:
        """Whether it is there; None where it is not and cannot be made."""
        meta = _meta(header.folder)
        if meta is None:
            return False
        return True if meta["made"] else None

    @property
    def has_runtime(self) -> bool:
        """Whether the objects that modules of this rung are linked with could be made."""
        meta = _meta(self._runtime_folder)
        return meta is not None and bool(meta["made"])

    @property
    def binding_runtime(self) -> Path:
        """The object for every module."""
        return self._runtime_folder / "binding_runtime.o"

    @property
    def launch_runtime(self) -> Path:
        """The object for every module with kernels."""
        return self._runtime_folder / "launch_runtime.o"

    @cached_property
    def lacking(self) -> frozenset[str]:
        """Every word that torch's headers hold and our prefix does not: an error at one of these
        is no error of the candidate's. Only to be asked for where there is a runtime."""
        return frozenset((self._runtime_folder / _LACKING).read_text().split())

    def usual(self, *, cuda: bool) -> list[Header]:
        """The headers that most candidates need."""
        headers = [self.header("cpu", flags) for flags in _USUAL_CPU]
        return [self.header("cuda", ()), *headers] if cuda else headers

    def prepare(self, headers: Sequence[Header], progress: Callable[[str], None]) -> None:
        """Make what is missing of the headers and the runtime object, two at a time."""
        jobs: list[tuple[str, Callable[[], None]]] = []
        if _meta(self._runtime_folder) is None:
            jobs.append(("the binding", self._make_runtime))
        for header in headers:
            if _meta(header.folder) is None:
                flags = " ".join(header.mode) or "no flags"
                jobs.append((f"{header.kind}, {flags}", lambda h=header: self._make(h)))  # type: ignore[misc]
        if not jobs:
            return
        progress(f"making {len(jobs)} precompiled headers, once for this toolchain")

        def one(number: int, name: str, job: Callable[[], None]) -> None:
            begun = time.monotonic()
            job()
            took = time.monotonic() - begun
            progress(f"precompiled header {number} of {len(jobs)} ({name}): {took:.1f} s")

        with ThreadPoolExecutor(2) as threads:
            tasks = [threads.submit(one, n, *job) for n, job in enumerate(jobs, start=1)]
            for task in tasks:
                task.result()

    def want(self, header: Header) -> None:
        """Have a header made beside the evaluations, if the machine's share of such is not used
        up."""
        with self._guard:
            made = sum(1 for f in self._folders() if not f.name.startswith("runtime"))
            if self._closed or header.folder.name in self._wanted or made >= _MOST:
                return
            self._wanted[header.folder.name] = header
            if self._maker is None or not self._maker.is_alive():
                self._maker = threading.Thread(target=self._make_wanted, daemon=True)
                self._maker.start()

    def close(self) -> None:
        """End what is being made."""
        with self._guard:
            self._closed = True
            for tether in self._running:
                tether.close()
        if self._maker is not None:
            self._maker.join()

    def sizes(self) -> dict[str, dict[str, float]]:
        """Bytes and making time (`bytes`, `seconds`) of what there is, by folder name."""
        found = {}
        for folder in self._folders():
            meta = _meta(folder)
            if meta is not None and meta["made"]:
                size = sum(f.stat().st_size for f in folder.iterdir())
                found[folder.name] = {"bytes": float(size), "seconds": float(meta["seconds"])}
        return found

    def _folders(self) -> list[Path]:
        """Those that are whole."""
        found = self.root.iterdir() if self.root.is_dir() else ()
        return sorted(f for f in found if f.is_dir() and not f.name.startswith("."))

    # --- making ----------------------------------------------------------------------------

    @property
    def _runtime_folder(self) -> Path:
        tools = self.toolchain
        parts = [tools.cxx or "", tools.cxx_version or "", *self.flags("cpu")]
        name = self._hash(parts, "prefix_cpu.h", "common", "runtime")
        return self.root / f"runtime-{name[:24]}"

    def _make_wanted(self) -> None:
        while True:
            with self._guard:
                missing = [h for h in self._wanted.values() if self.ready(h) is False]
                if self._closed or not missing:
                    self._maker = None
                    return
            self._make(missing[0])

    def _make(self, header: Header) -> None:
        source = HEADERS / f"prefix_{header.kind}.h"
        argv = [header.compiler, *self.flags(header.kind), *header.mode]
        if header.is_clang:
            # Times of files are no part of what a header is: an image or a checkout changes them.
            argv += [*AS_GCC, "-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp"]
        argv += ["-x", "c++-header", str(source)]
        with self._new(header.folder) as new:
            if new is None:
                return
            (new / "prefix.h").write_text(f'#include "{source}"\n')
            self._compile(argv, new, header.file.name)

    def _make_runtime(self) -> None:
        argv = [str(self.toolchain.cxx), *self.flags("cpu")]
        with self._new(self._runtime_folder) as new:
            if new is None:
                return
            for name in _RUNTIMES:
                source = str(HEADERS / "runtime" / f"{name}.cpp")
                if not self._compile([*argv, "-O2", "-c", source], new, f"{name}.o"):
                    return
            words = []
            for header in ("torch/extension.h", str(HEADERS / "prefix_cpu.h")):
                preprocess = [*argv, "-E", "-dD", "-include", header, "-x", "c++", os.devnull]
                if not self._compile(preprocess, new, "words.i"):
                    return
                words.append(set(_WORD.findall((new / "words.i").read_text(errors="replace"))))
            (new / "words.i").unlink()
            (new / _LACKING).write_text("\n".join(sorted(words[0] - words[1])))

    @contextlib.contextmanager
    def _new(self, folder: Path) -> Iterator[Path | None]:
        """A folder to fill, which becomes `folder`; None if another process has made that."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o755)
        with (self.root / f".{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _meta(folder) is not None:
                yield None
                return
            self._remove_abandoned()
            new = self.root / f".new-{secrets.token_hex(8)}"
            new.mkdir()
            try:
                yield new
                for path in (new, *new.iterdir()):
                    if not path.is_symlink():
                        path.chmod(0o755 if path.is_dir() else 0o644)
                if (new / "meta.json").exists():
                    new.rename(folder)
            finally:
                shutil.rmtree(new, ignore_errors=True)

    def _remove_abandoned(self) -> None:
        """What makers that died have left."""
        for folder in self.root.glob(".new-*"):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - folder.stat().st_mtime > 2 * _MAKE_S:
                    shutil.rmtree(folder, ignore_errors=True)

    def _compile(self, argv: list[str], new: Path, name: str) -> bool:
        """Run a compiler and note in `meta.json` how it went; whether it left `name`."""
        begun = time.monotonic()
        with self._guard:
            if self._closed:
                return False
            out, into = os.pipe()
            tether = os.fdopen(into, "wb")
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", _TETHERED, str(out), *argv, "-o", str(new / name)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[out],
                cwd=new,
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TMPDIR": str(new)},
            )
            os.close(out)
            self._running.add(tether)
        try:
            told, _ = process.communicate(timeout=_MAKE_S)
        finally:
            with self._guard:
                self._running.discard(tether)
                tether.close()
            process.wait()
        meta = new / "meta.json"
        log = told.decode(errors="replace")
        if process.returncode > 128 or _KILLED.search(log):
            meta.unlink(missing_ok=True)  # nothing is known
            return False
        path = new / name
        made = process.returncode == 0 and path.is_file() and not path.is_symlink()
        how = {"made": made, "seconds": time.monotonic() - begun, "log": log[-4000:]}
        meta.write_text(json.dumps(how))
        return made

    def _hash(self, parts: Sequence[str], *headers: str) -> str:
        """Of torch, `parts`, and the text of these of our headers (files or folders)."""
        tools = self.toolchain
        whole = [tools.torch, tools.torch_cuda or "", platform.python_version(), platform.machine()]
        digest = hashlib.sha256(json.dumps([*whole, str(HEADERS), *parts]).encode())
        for top in headers:
            files = [HEADERS / top, *(HEADERS / top).rglob("*")]
            for path in sorted(p for p in files if p.is_file()):
                digest.update(f"{path.relative_to(HEADERS).as_posix()}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


def _meta(folder: Path) -> dict[str, float | bool | str] | None:
    """How a folder was made; None if it is not there."""
    try:
        data = json.loads((folder / "meta.json").read_bytes())
    except FileNotFoundError:
        return None
    return data if isinstance(data, dict) else None
