"""Run by `toolchain` in a fresh interpreter: prints the facts as one JSON object.

Stdin is not used; the argument is an object with the paths (or null) of `cxx`, `nvcc`, `clang`
and `linker`.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import sysconfig


def main() -> None:
    """Print the facts; see the module."""
    given = json.loads(sys.argv[1])
    import torch
    from torch.utils import cpp_extension

    home, nvcc, nvcc_version = None, given["nvcc"], None
    if nvcc is not None:
        # A wrapper on the PATH says nothing about where the toolkit is; its dry run does.
        told = _output([nvcc, "--dryrun", "-c", "x.cu", "-o", "x.o"])
        top = re.search(r"^#\$ TOP=(.+)$", told, re.MULTILINE)
        home = os.path.realpath(top[1].strip() if top else os.path.join(nvcc, "..", ".."))
        nvcc = os.path.join(home, "bin", "nvcc")
        release = re.search(r"V(\d+\.\d+\.\d+)", _output([nvcc, "--version"]))
        nvcc_version = f"nvcc {release[1]}" if release else "nvcc"
        if cpp_extension.CUDA_HOME is None:
            cpp_extension.CUDA_HOME = home
    python_include = sysconfig.get_path("include", scheme="posix_prefix")
    torch_includes = cpp_extension.include_paths("cpu")
    cuda_includes: list[str] = []
    cuda_libs: list[str] = []
    if home is not None:
        cuda_includes = [
            p for p in cpp_extension.include_paths("cuda") if p not in torch_includes
        ] + [os.path.join(home, "include")]
        cuda_libs = [
            p for p in cpp_extension.library_paths("cuda") if p != cpp_extension.TORCH_LIB_PATH
        ] + [os.path.join(home, "lib64")]
    writer = getattr(cpp_extension, "_write_ninja_file_to_build_library", cpp_extension)
    standards = re.findall(r"-std=c\+\+\d+", inspect.getsource(writer))
    facts = {
        "torch": torch.__version__,
        "torch_cuda": torch.version.cuda,
        "includes": [*torch_includes, python_include],
        "cuda_includes": _existing(cuda_includes),
        "torch_lib": cpp_extension.TORCH_LIB_PATH,
        "cuda_libs": _existing(cuda_libs),
        "standard": standards[-1] if standards else "-std=c++17",
        "nvcc_flags": list(cpp_extension.COMMON_NVCC_FLAGS),
        "cxx": given["cxx"],
        "cxx_version": _cxx_version(given["cxx"]),
        "nvcc": nvcc,
        "nvcc_version": nvcc_version,
        "cuda_home": home,
        "clang": given["clang"],
        "clang_version": _cxx_version(given["clang"]),
        "linker": given["linker"],
    }
    print(json.dumps(facts))


def _existing(paths: list[str]) -> list[str]:
    return [p for p in dict.fromkeys(map(os.path.realpath, paths)) if os.path.isdir(p)]


def _cxx_version(cxx: str | None) -> str | None:
    if cxx is None:
        return None
    first = _output([cxx, "--version"]).splitlines()
    return first[0].strip() if first else os.path.basename(cxx)


def _output(argv: list[str]) -> str:
    done = subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False
    )
    return done.stdout


if __name__ == "__main__":
    main()
