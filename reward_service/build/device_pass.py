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

_REAL_DEVICE_HEADER = (
    r"Atomic\.cuh|gpuAtomic|NumericUtils|ATen/native|DeviceUtils|_isnan|AT_DISPATCH_V2"
)
_WORDS = {
    "HALF": rf"(?i:complex)|Half|HALF|[Ff]loat16|FLOAT16|REDUCED|F16|{_REAL_DEVICE_HEADER}",
    "BFLOAT16": rf"(?i:bfloat|bf16)|REDUCED|{_REAL_DEVICE_HEADER}",
    "COMPLEX": rf"(?i:complex)|{_REAL_DEVICE_HEADER}",
    "FLOAT8": rf"(?i:float8|fp8|e[45]m[23]|e8m0)|{_REAL_DEVICE_HEADER}",
    "CUDA_HALF": r"(?i:half|fp16|float16)|__h\w+|acc_?type|AccumulateType|opmath",
    "CUDA_BFLOAT16": r"(?i:bfloat|bf16)",
    "ACCESSOR": r"(?i:accessor)|PtrTraits",
    "ACC_TYPE": r"acc_type|AccumulateType|opmath|OpMath",
    "CUBLAS": r"(?i:cublas)",
}
_STD = {
    "STRING": r"(?:to_)?string(?:_view)?|sto[a-z]+|getline|\w+_error|invalid_argument|out_of_range"
    r"|exception",
    "ALGORITHM": r"sort|stable_sort|(?:min|max)_element|minmax|clamp|fill_n|generate|copy_if|"
    r"transform|reverse|accumulate|iota|inner_product|reduce|gcd|lcm|all_of|any_of|none_of|find|"
    r"find_if|count|count_if|lower_bound|upper_bound|unique|remove|remove_if|for_each|nth_element|"
    r"partial_sum|next_permutation|rotate|shuffle|back_inserter|prev|distance|advance|"
    r"multiplies|ostream_iterator",
    "FUNCTIONAL": r"function|bind|hash|ref|cref|plus|minus|multiplies|greater|less|invoke|mem_fn|"
    r"placeholders|negate|divides|equal_to",
    "MEMORY": r"(?:unique|shared|weak)_ptr|make_(?:unique|shared)|allocator",
    "MAP": r"(?:unordered_)?(?:multi)?(?:map|set)",
    "STREAM": r"cout|cerr|clog|cin|endl|flush|hex|dec|[io]?(?:string|f)?stream|fixed|scientific|"
    r"setprecision|setw|setfill|boolalpha",
}  # fmt: skip
_STD_CHEAP = re.compile(
    r"vector|array|tuple|tuple_\w+|get|tie|ignore|make_tuple|forward_as_tuple|tuple_cat|apply|pair|"
    r"make_pair|optional|make_optional|nullopt|nullopt_t|in_place|numeric_limits|initializer_list|"
    r"min|max|swap|move|forward|exchange|copy|copy_n|fill|equal|size|data|begin|end|next|"
    r"u?int(?:_fast|_least)?\d+_t|u?intptr_t|u?intmax_t|size_t|ptrdiff_t|nullptr_t|byte|float_t|"
    r"double_t|declval|integral_constant|(?:true|false)_type|conditional(?:_t)?|enable_if(?:_t)?|"
    r"decay(?:_t)?|(?:is|remove|add|make)_(?:same|const|cv|cvref|pointer|reference|signed|unsigned|"
    r"integral|floating_point|arithmetic|trivially_copyable|void|class|enum|base_of|convertible|"
    r"invocable|array|volatile|extent|lvalue_reference|rvalue_reference|constructible|"
    r"default_constructible|empty|standard_layout|pod|trivial|scalar)(?:_t|_v)?|void_t|"
    r"(?:common_type|invoke_result|underlying_type|type_identity)(?:_t)?|index_sequence|"
    r"make_index_sequence|index_sequence_for|integer_sequence|make_integer_sequence|"
    r"(?:f?abs|a?(?:sin|cos|tan)h?|atan2|exp|exp2|expm1|log|log2|log10|log1p|pow|sqrt|cbrt|hypot|"
    r"erfc?|[lt]gamma|ceil|floor|trunc|l?l?round|l?l?rint|nearbyint|fmod|remainder|fmax|fmin|fma|"
    r"fdim|isnan|isinf|isfinite|signbit|copysign|ldexp|frexp|scalbn|modf|nan)f?|"
    r"memcpy|memset|memmove|memcmp|strlen|strcmp|strncmp|printf|fprintf|snprintf|sprintf|malloc|"
    r"free|calloc|abort|exit|getenv|rand|srand|atoi|div"
)
_STD_NAME = re.compile(r"\bstd\s*::\s*(\w+)")
_BRACED_MIN = re.compile(r"\bstd\s*::\s*(?:min|max)\s*(?:<[^<>]*>)?\s*\(\s*\{")
_DECLARED = re.compile(r"(\w+)\(")
_FREE = re.compile(r"\b(?:at|torch|native)\s*::\s*(\w+)")
_MEMBER = re.compile(r"(?:\.|->)\s*(?:template\s+)?(\w+)")
_EVERYTHING = re.compile(r"using\s+namespace\s+(?:at|torch|c10|std)\b")


def needs(text: str) -> tuple[str, ...]:
    """The `-D` flags for a source: which costly parts of the stand-ins it needs."""
    wanted = [name for name, pattern in _WORDS.items() if re.search(pattern, text)]
    names = set(_STD_NAME.findall(text))
    for group, pattern in _STD.items():
        matched = {n for n in names if re.fullmatch(pattern, n)}
        names -= matched
        if matched or (group == "ALGORITHM" and _BRACED_MIN.search(text)):
            wanted.append(f"STD_{group}")
    opened = {found.split()[-1] for found in _EVERYTHING.findall(text)} and set(
        re.findall(r"using\s+namespace\s+(\w+)", text)
    )
    if "std" in opened or any(not _STD_CHEAP.fullmatch(n) for n in names):
        wanted.append("STD_ALL")
        wanted = [w for w in wanted if not w.startswith("STD_") or w in ("STD_ALL", "STD_STRING")]
        if "STD_STRING" not in wanted:
            wanted.append("STD_STRING")
    if opened & {"at", "torch", "c10"} or _others("functions") & set(_FREE.findall(text)):
        wanted.append("FUNCTIONS")
    if _others("methods") & set(_MEMBER.findall(text)):
        wanted.append("METHODS")
    return tuple(f"-DRS_NEEDS_{name}" for name in sorted(wanted))


@cache
def _others(kind: str) -> frozenset[str]:
    """The names that only the large generated file of this kind declares."""
    text = (HEADERS / "rs" / f"{kind}_other.inc").read_text()
    lines = (line for line in text.splitlines() if not line.startswith("//"))
    return frozenset(found[1] for line in lines if (found := _DECLARED.search(line)))
