"""Splits one CUDA source text into what nvcc compiles and what a plain C++ compiler compiles.

`transform(text, index)` gives both texts. The device text is nearly the candidate's own. In the
host text kernels are stubs that launch, what only the device runs is gone, and
`k<<<...>>>(...)` is a call: no compiler needs to know CUDA to compile it.

The reading of the text is by tokens, not by a C++ parser. Wherever it is not sure, it raises
`UnsuitableError`, and the stock build takes the candidate. Both texts keep the number of every
line.
"""

from reward_service.build.source.tokens import UnsuitableError
from reward_service.build.source.transform import Transformed, transform

__all__ = ["Transformed", "UnsuitableError", "transform"]
