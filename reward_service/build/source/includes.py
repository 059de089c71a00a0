"""Which headers a source may include for its host pass to mean what nvcc's would.

A header that launches kernels itself (thrust, CUB's device-wide algorithms) would have to be split
as well; a plain compiler might even take it and do something else. Headers of the candidate's own
are split by whoever splits its sources.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from reward_service.build.source.tokens import Token, UnsuitableError, directive_rest

_PATH = re.compile(r'(?:\s|(?>/\*(?s:.*?)\*/))*+[<"]([^>"\n]+)[>"]')
_KNOWN = re.compile(
    r"""
      [a-z_]+                                   # the C++ library
    | (?:assert|complex|ctype|errno|fenv|float|inttypes|limits|math|stdarg|stdbool|stddef|stdint
        |stdio|stdlib|string|time|unistd|iso646|sys/time|pthread)\.h
    | (?:torch|ATen|c10|pybind11|cuda/std)/[\w/.-]+
    | Python\.h
    | cuda(?:_runtime|_runtime_api|_device_runtime_api|_fp16|_bf16|_fp8|_fp6|_fp4|_pipeline
        |_pipeline_primitives|_awbarrier|_profiler_api|_occupancy|Typedefs|Profiler)?\.h
    | (?:cublas|cublas_v2|cublasLt|cusparse|cusolverDn|cusolver_common|cufft|curand|curand_kernel
        |cudnn|nvrtc|driver_types|vector_types|vector_functions|device_functions
        |device_launch_parameters|math_constants|math_functions|library_types|cuComplex
        |sm_\d+_\w+|mma|cooperative_groups)\.h
    | cooperative_groups/[\w/]+\.h
    | crt/[\w/]+\.h
    | nvtx3/[\w/]+\.h(?:pp)?
    | cub/(?:cub\.cuh|(?:block|warp|thread)/\w+\.cuh)
    | cuda/(?:barrier|pipeline|atomic|annotated_ptr|functional|ptx|cmath|numeric)
    | (?:immintrin|omp)\.h
    """,
    re.VERBOSE,
)
_LAUNCHING = re.compile(r"torch/csrc/.*\.cuh|ATen/.*(?:Loops|Reduce|jit|CUDALoops)\w*\.cuh")


def check(directive: Token, own: Collection[str]) -> None:
    """Raises `UnsuitableError` for an `#include` that is neither known to be harmless nor one of
    the candidate's `own` headers."""
    match = _PATH.match(directive_rest(directive))
    if match is None:
        raise UnsuitableError("an #include by macro")
    path = match.group(1).strip()
    if path in own:
        return
    if ".." in path or not _KNOWN.fullmatch(path) or _LAUNCHING.search(path):
        raise UnsuitableError(f"it includes {path}")
