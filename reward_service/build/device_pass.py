"""The device pass of the split build: `nvcc -fatbin` over the stand-in headers of `headers/device`.

Host functions are only type-checked in that pass, so that the templates they use get instantiated.
The stand-ins declare torch's names and define nothing; what device code can use (Half, BFloat16,
complex, TensorAccessor, atomics) is torch's own header. Each of these, and each costly standard
header, is read only where the source asks for it: `needs` says for what by the words that occur,
and takes more rather than less. What it misses makes the pass fail, never differ.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

HEADERS = Path(__file__).parent / "headers" / "device"
"""The directory that goes first on nvcc's include path, as `-isystem`."""

_REAL_CODE = r"Atomic\.cuh|gpuAtomic|NumericUtils|ATen/native|DeviceUtils|AT_DISPATCH_V2"
"""Device code of torch that uses all number types."""
_WORDS = {
    "HALF": rf"(?i:complex)|Half|HALF|[Ff]loat16|FLOAT16|REDUCED|F16|{_REAL_CODE}",
    "BFLOAT16": rf"(?i:bfloat|bf16)|REDUCED|{_REAL_CODE}",
    "COMPLEX": rf"(?i:complex)|{_REAL_CODE}",
    "FLOAT8": rf"(?i:float8|fp8|e[45]m[23]|e8m0)|{_REAL_CODE}",
    "CUDA_HALF": r"(?i:half|fp16|float16|AccumulateType)|__h\w+",
    "CUDA_BFLOAT16": r"(?i:bfloat|bf16)",
    "ACCESSOR": r"(?i:accessor)|PtrTraits",
    "CUBLAS": r"(?i:cublas)",
}
_STD = {
    "STRING": r"(?:to_)?string(?:_view)?|sto[a-z]+|getline|\w+_error|invalid_argument|"
    r"out_of_range|exception",
    "ALGORITHM": r"sort|stable_sort|(?:min|max)_element|minmax|clamp|fill_n|generate|copy_if|"
    r"transform|reverse|accumulate|iota|inner_product|reduce|gcd|lcm|(?:all|any|none)_of|"
    r"(?:find|count|remove)(?:_if)?|(?:lower|upper)_bound|unique|for_each|nth_element|rotate|"
    r"partial_sum|back_inserter|distance|advance|multiplies",
    "FUNCTIONAL": r"function|bind|hash|c?ref|plus|minus|multiplies|greater|less|invoke",
    "MEMORY": r"(?:unique|shared|weak)_ptr|make_(?:unique|shared)",
    "MAP": r"(?:unordered_)?(?:multi)?(?:map|set)",
    "STREAM": r"c(?:out|err|log|in)|endl|flush|[io]?(?:string|f)?stream|fixed|scientific|"
    r"set(?:precision|w|fill)|boolalpha",
}
"""Names of `std` and the group of costly headers that has them."""
_CHEAP = re.compile(
    r"vector|array|tuple|get|tie|ignore|make_tuple|forward_as_tuple|tuple_cat|apply|pair|make_pair|"
    r"optional|make_optional|nullopt|in_place|numeric_limits|initializer_list|min|max|swap|move|"
    r"forward|exchange|copy|copy_n|fill|equal|size|data|begin|end|next|byte|declval|conditional|"
    r"integral_constant|enable_if|decay|(?:is|remove|add|make)_\w+|\w+_[tv]|(?:true|false)_type|"
    r"(?:make_)?(?:index|integer)_sequence(?:_for)?|"
    r"(?:f?abs|a?(?:sin|cos|tan)h?|atan2|exp2?|expm1|log(?:2|10|1p)?|pow|sqrt|cbrt|hypot|erfc?|"
    r"[lt]gamma|ceil|floor|trunc|l?l?round|l?l?rint|nearbyint|fmod|fmax|fmin|fma|isnan|isinf|"
    r"isfinite|signbit|copysign|ldexp)f?|mem(?:cpy|set|move|cmp)|strlen|strn?cmp|\w*printf|malloc|"
    r"free|calloc|abort|exit|getenv|rand|srand"
)
"""Names of `std` that the stand-ins always have; any other asks for everything."""
_STD_NAME = re.compile(r"\bstd\s*::\s*(\w+)")
_BRACED = re.compile(r"\bstd\s*::\s*(?:min|max)\s*(?:<[^<>]*>)?\s*\(\s*\{")
_DECLARED = re.compile(r"(\w+)\(")
_FREE = re.compile(r"\b(?:at|torch)\s*::\s*(\w+)")
_MEMBER = re.compile(r"(?:\.|->)\s*(?:template\s+)?(\w+)")
_OPENED = re.compile(r"\busing\s+namespace\s+(\w+)")


def needs(text: str) -> tuple[str, ...]:
    """The `-D` flags for a source: which costly parts of the stand-ins it needs."""
    wanted = {name for name, pattern in _WORDS.items() if re.search(pattern, text)}
    opened = set(_OPENED.findall(text))
    names = set(_STD_NAME.findall(text))
    for group, pattern in _STD.items():
        if any(re.fullmatch(pattern, name) for name in names):
            wanted.add(f"STD_{group}")
    if _BRACED.search(text):
        wanted.add("STD_ALGORITHM")
    known = re.compile("|".join([*_STD.values(), _CHEAP.pattern]))
    if "std" in opened or any(not known.fullmatch(name) for name in names):
        wanted.add("STD_ALL")
    if opened & {"at", "torch", "c10"} or _others("functions") & set(_FREE.findall(text)):
        wanted.add("FUNCTIONS")
    if _others("methods") & set(_MEMBER.findall(text)):
        wanted.add("METHODS")
    return tuple(f"-DRS_NEEDS_{name}" for name in sorted(wanted))


@cache
def _others(kind: str) -> frozenset[str]:
    """The names that only the large generated file of this kind declares."""
    text = (HEADERS / "rs" / f"{kind}_other.inc").read_text()
    lines = (line for line in text.splitlines() if not line.startswith("//"))
    return frozenset(found[1] for line in lines if (found := _DECLARED.search(line)))
