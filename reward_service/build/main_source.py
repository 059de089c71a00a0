"""What the split rung may do with the C++ part of a CUDA candidate, main.cpp."""

from __future__ import annotations

import re

from reward_service.build.flags import Flags
from reward_service.formats.extension_call import ExtensionCall

_BORROWED = (
    (r"\b(?:at|c10)::cuda\b|\b(?:C10|AT)_CUDA_", r"(?:ATen|c10)/cuda/"),
    (r"\bcuda[A-Z]|\bdim3\b", r"(?:(?:ATen|c10)/cuda/|cuda|cublas|device_|driver_)"),
    (r"\b__half|\bhalf2?\b|\b__nv_bfloat", r"(?:ATen|c10)/cuda/|cuda_[bf]"),
)
"""Names, and what a header must begin with to bring them."""
_MORE_THAN_DECLARES = re.compile(
    r"[{}=]|#\s*(?!include\b)\w|\b(?:using|namespace|static|template|typedef|extern)\b"
)


def merges(call: ExtensionCall, flags: Flags) -> bool:
    """Whether main.cpp means the same at the end of cuda.cu: it only declares what is defined
    there, and binds. That saves a pass, a third of a build's work."""
    if not call.cuda_sources or any(f.startswith(("-D", "-U")) for f in (*flags.cxx, *flags.nvcc)):
        return False
    declared, cuda = "\n".join(call.cpp_sources), "\n".join(call.cuda_sources)
    if _MORE_THAN_DECLARES.search(declared):
        return False
    macros = set(re.findall(r"#\s*define\s+(\w+)", cuda))
    functions = {name for name, _ in call.functions or ()}
    return not macros & (functions | set(re.findall(r"\w+", declared)))


def borrows(text: str) -> bool:
    """Whether a C++ source lives on headers that it does not include: the precompiled header
    holds them for all sources of CUDA candidates, <torch/extension.h> does not."""
    return any(
        re.search(names, text) is not None
        and re.search(rf"#\s*include\s*[<\"]{headers}", text) is None
        for names, headers in _BORROWED
    )
