"""Writes the generated part of the device pass's stand-ins from the headers of an installed torch.

`python generate_device.py` rewrites `device/rs/methods_*.inc` (the operators among at::Tensor's
methods) and `device/rs/functions_*.inc` (the free operators in `at`). Only declarations are taken,
and of them only what a program for a reward may call: an operator that is left out makes the
device pass fail, and the stock build takes over. What nearly every program uses is `common`; the
`other` files cost 0.1 s and are read where the source names something of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_HERE = Path(__file__).parent / "device" / "rs"
_UNUSUAL = re.compile(
    r"Dimname|Sym(?:Int|Bool|Float)|Storage|Stream|IListRef|c10::List|QScheme|hook_return"
)
_UNUSUAL_NAME = re.compile(
    r"_.*|.*_(?:out|outf|symint|copy|backward|double_backward)|(?:mkldnn|miopen|mps|xpu|fbgemm|"
    r"quantize|q_|sparse|ccol|crow|to_mkldnn|to_sparse|fake_quantize|cudnn|cudnn_).*"
)
_METHOD = re.compile(r"^  (\S[^;{}()]*[ &>])(\w+)\((.*)\) const;$", re.MULTILINE)
_FUNCTION = re.compile(r"^inline ([^(){}]*[ &>])(\w+)\((.*)\) \{$", re.MULTILINE)
_COMMON_METHODS = {
    *("clone", "contiguous", "copy_", "detach", "fill_", "item", "permute", "reshape", "t", "to"),
    *("transpose", "view", "zero_"),
}
_COMMON_FUNCTIONS = {
    *("empty", "empty_like", "empty_strided", "full", "full_like", "ones", "ones_like", "zeros"),
    "zeros_like",
}
_HEAD = "// Made by generate_device.py from torch's headers; do not edit.\n"


def methods(include: Path) -> Iterator[tuple[str, str]]:
    """Declarations of at::Tensor's operators."""
    body = (include / "ATen/core/TensorBody.h").read_text()
    generated = body[body.index("Tensor abs() const;") - 100 :]
    for found in _METHOD.finditer(generated):
        if _usual(found):
            yield found[2], _plain(f"{found[1]}{found[2]}({found[3]}) const;")


def functions(include: Path) -> Iterator[tuple[str, str]]:
    """Declarations of the free operators."""
    for path in sorted((include / "ATen/ops").glob("*.h")):
        if not path.stem.endswith(("_ops", "_native", "_dispatch")):
            for found in _FUNCTION.finditer(path.read_text()):
                if _usual(found):
                    yield found[2], _plain(f"{found[1]}{found[2]}({found[3]});")


def _usual(found: re.Match[str]) -> bool:
    return not (_UNUSUAL.search(found[0]) or _UNUSUAL_NAME.fullmatch(found[2]))


def _plain(declaration: str) -> str:
    declaration = re.sub(r"\b(?:c10|std)::string_view", "rs_text", declaration)
    declaration = declaration.replace("const at::ITensorListRef &", "TensorList")
    return re.sub(r"\bat::|::(?=std::)", "", declaration)


def main() -> None:
    """Rewrite all four files."""
    import torch

    include = Path(torch.__file__).parent / "include"
    for kind, common, lines in (
        ("methods", _COMMON_METHODS, methods(include)),
        ("functions", _COMMON_FUNCTIONS, functions(include)),
    ):
        parts: dict[str, dict[str, None]] = {"common": {}, "other": {}}
        for name, line in lines:
            parts["common" if name in common else "other"][line] = None
        for part, kept in parts.items():
            (_HERE / f"{kind}_{part}.inc").write_text(_HEAD + "".join(f"{k}\n" for k in kept))


if __name__ == "__main__":
    main()
