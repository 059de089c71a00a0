"""Splitting one CUDA source: tokens, and each rule of the device and the host text."""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_service.build.source import UnsuitableError, transform
from reward_service.build.source.tokens import Kind, joined, tokenise

PIECES = [
    "a",
    "foo_1",
    " ",
    "\n",
    "\\\n",
    "// it's\n",
    '/* " { */',
    '"a\\"<<<"',
    "'\\''",
    "1'000.5e-3f",
    'R"x({")x"',
    "<<<",
    ">>>",
    ">>",
    "<",
    "{",
    "}",
    "(",
    ")",
    ";",
    "::",
    "->",
    "\n#define A(x) x \\\n  + 1\n",
    "\n#if 1\n",
    "\n#endif\n",
    "__global__",
    "template",
    'u8"x"',
    ".5",
    "...",
    "é",
    "namespace",
    "static",
    "__device__",
    ",",
    "=",
]


@given(st.lists(st.sampled_from(PIECES)).map(" ".join))
def test_tokens_joined_give_the_text(text: str) -> None:
    assert joined(tokenise(text)) == text


@given(st.text())
def test_any_text_is_tokenised_whole_or_refused(text: str) -> None:
    try:
        tokens = tokenise(text)
    except UnsuitableError:
        return
    assert joined(tokens) == text


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_keeps_its_lines_or_is_refused(text: str) -> None:
    try:
        both = transform(text)
    except UnsuitableError:
        return
    assert both.host.count("\n") == both.device.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("// a launch <<< \\\n goes on", Kind.COMMENT),
        ("/* {\n} */", Kind.COMMENT),
        ('R"d(a)" )d"', Kind.STRING),
        ("'\\x41'", Kind.STRING),
        ("0x1'0000ull", Kind.NUMBER),
        ("1e-5f", Kind.NUMBER),
        ("#define A \\\n  B // it's\\\n more", Kind.DIRECTIVE),
        ('# include "a//b.h"', Kind.DIRECTIVE),
        ("#define A /* two\nlines */ b", Kind.DIRECTIVE),
        ("<<<", Kind.PUNCTUATION),
    ],
)
def test_a_token_is_found_whole(text: str, kind: Kind) -> None:
    assert [(token.kind, token.text) for token in tokenise(text)] == [(kind, text)]


def host(text: str, index: int = 0) -> str:
    """The host text; lines are checked in every case."""
    both = transform(text, index)
    assert both.host.count("\n") == both.device.count("\n") == text.count("\n")
    return both.host


def device(text: str, index: int = 0) -> str:
    return transform(text, index).device


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.mark.parametrize(
    ("frame", "callee", "configuration", "arguments"),
    [
        ("@", "k", "g, b", "x"),
        ("@", "k<int, 3>", "g, b, 0, s", ""),
        ("@", "a::b<c<d>>::k", "1, 1", "x"),
        ("@", "::k", "1, 1", "x"),
        ("return @", "::k", "1, 1", "x"),
        ("@", "k<(a > b)>", "1, 1", "x"),
        ("@", "k", "dim3(a, b), f<c<d>>(e)", "x"),
        ("@", "k", "a >> 1, b << 2", "x"),
        ("@", "k", "a < 5 ? 1 : 2, 3", "x"),
        ("@", "k", "{1, 2}, 1", "x"),
        ("if (c) @", "k", "1, 1", "x"),
        ("if (c) @", "(*k)", "1, 1", "x"),
        ("while (f(c)) @", "(k)", "1, 1", "x"),
        ("if (c) f(); else @", "k", "1, 1", "x"),
        ("@", "ks[i + 1]", "1, 1", "x"),
        ("@", "pick<float>(n)", "1, 1", "x"),
        ("@", "o.t->k", "1, 1", "x"),
        ("@", "o.template k<3>", "1, 1", "x"),
        ("@", "k", "1, 1", '"<<<", f(y)'),
        ("D(t, [&] { @; })", "k<s, 2>", "1, 1", "x"),
        ("@; @", "k", "1, 1", "x"),
    ],
)
def test_a_launch_becomes_a_call(
    frame: str, callee: str, configuration: str, arguments: str
) -> None:
    launch = f"{callee}<<<{configuration}>>>({arguments})"
    call = f"(__cudaPushCallConfiguration({configuration}) ? (void)0 : {callee}({arguments}))"
    text = f"void f() {{\n{frame};\n}}\n"
    assert host(text.replace("@", launch)) == text.replace("@", call)
    assert device(text.replace("@", launch)) == text.replace("@", launch)


def test_what_looks_like_a_launch_in_strings_and_comments_is_text() -> None:
    text = 'void f() { g("k<<<1, 1>>>(x)"); /* k<<<1, 1>>>(x) */ } // k<<<1, 1>>>(x)\n'
    assert host(text) == text


def test_a_launch_over_several_lines_keeps_what_follows_in_its_line() -> None:
    text = "void f() {\n  k<a,\n    b>\n  <<<g, // grid\n     b>>>(\n    x);\n  after();\n}\n"
    assert host(text).splitlines()[6] == "  after();"


def test_a_launch_in_a_macro_becomes_a_call() -> None:
    text = "#define GO(k, n) do { k<n> \\\n <<<g, b>>>(x); } while (0)\nvoid f() { GO(a, 2); }\n"
    assert flat(host(text).splitlines()[0]).startswith(
        "#define GO(k, n) do { (__cudaPushCallConfiguration(g, b) ? (void)0 : k<n>"
    )
    assert host(text).splitlines()[2] == "void f() { GO(a, 2); }"


STUB = "::rs_cuda::launch(static_cast<void (*)({types})>(&{name}){values});"


def stub(name: str, *values: str) -> str:
    types = [
        f"::rs_cuda::parameter<decltype({v.removesuffix('...')})>" + ("..." * v.endswith("..."))
        for v in values
    ]
    return STUB.format(
        types=", ".join(types), name=name, values="".join(f", {value}" for value in values)
    )


@pytest.mark.parametrize(
    ("head", "name", "values"),
    [
        ("__global__ void k()", "k", []),
        ("__global__ void k(void)", "k", []),
        ("__global__ void k(const float* __restrict__ x, int n)", "k", ["x", "n"]),
        ("void __global__ k(float x[], int y[3][4])", "k", ["x", "y"]),
        (
            "inline __global__ void __launch_bounds__(256, 2) k(int n = f(1, 2), int m = 2)",
            "k",
            ["n", "m"],
        ),
        (
            "__launch_bounds__(256) __global__ void k(std::array<float, 4> a, unsigned int b)",
            "k",
            ["a", "b"],
        ),
        ('extern "C" __global__ void k(float (*f)(int), float (*g)[4])', "k", ["f", "g"]),
        ("__global__ __attribute__((used)) void k(const __grid_constant__ P p)", "k", ["p"]),
        ("template <typename T> __global__ void k(T* x)", "k<T>", ["x"]),
        (
            "template <typename T, int N = (3 > 2), bool B = true> __global__ void k(T* x)",
            "k<T, N, B>",
            ["x"],
        ),
        (
            "template <class T, typename enable<A<T>::v, int>::type E = 0> __global__ void k(T* x)",
            "k<T, E>",
            ["x"],
        ),
        (
            "template <template <typename, int> class C, typename T> __global__ void k(C<T, 1> x)",
            "k<C, T>",
            ["x"],
        ),
        (
            "template <typename... Ts> __global__ void k(int n, Ts... ts)",
            "k<Ts...>",
            ["n", "ts..."],
        ),
        ("template <float (*F)(float)> __global__ void k(float* x)", "k<F>", ["x"]),
        ("template <> __global__ void k<float, 3>(float* x)", "k<float, 3>", ["x"]),
        ("template <> __global__ void k(float* x)", "k", ["x"]),
        ("__global__ void ns::k(float* x)", "ns::k", ["x"]),
        (
            "__global__ void\nk(\n  float* x, // it's in\n  /* n */ long long int n)",
            "k",
            ["x", "n"],
        ),
    ],
)
def test_a_kernel_becomes_a_stub_of_its_own_address(
    head: str, name: str, values: list[str]
) -> None:
    text = f"{head} {{\n  int i = threadIdx.x;\n  if (i) {{ x[i] = 0; }}\n}}\nint after;\n"
    assert host(text) == f"{head} {{ {stub(name, *values)} }}\n\n\n\nint after;\n"
    assert device(text) == text


def test_what_has_no_name_in_a_kernel_gets_one() -> None:
    text = "template <typename, int, class... > __global__ void k(float*, const int, Foo) {}\n"
    made = host(text)
    assert "template <typename rs_t0, int rs_t1, class... rs_t2 >" in made
    assert "(float* rs_a0, const int rs_a1, Foo rs_a2)" in made
    assert stub("k<rs_t0, rs_t1, rs_t2...>", "rs_a0", "rs_a1", "rs_a2") in made


def test_a_kernel_in_a_macro_becomes_a_stub() -> None:
    text = (
        "#define KERNEL(name, T) \\\n  __global__ void name##_k(T* x) { \\\n    x[0] = 1; \\\n  }\n"
        "KERNEL(a, float)\nKERNEL(b, int)\nint after;\n"
    )
    made = host(text)
    assert stub("name##_k", "x") in made
    assert "x[0] = 1" not in made
    assert made.endswith("KERNEL(a, float)\nKERNEL(b, int)\nint after;\n")
    assert all(line.endswith("\\") for line in made.splitlines()[:3])


def test_a_kernel_by_an_attribute_macro_becomes_a_stub() -> None:
    text = "#define KERNEL __global__ void\nKERNEL k(int n) { f(); }\n"
    assert stub("k", "n") in host(text)


def test_a_static_kernel_moves_to_a_namespace_of_its_source() -> None:
    text = "static __global__ void k(int n);\nstatic __global__ void k(int n) { f(); }\n"
    assert flat(device(text, 3)) == (
        "inline namespace rs_local_3 { __global__ void k(int n); } "
        "inline namespace rs_local_3 { __global__ void k(int n) { f(); } }"
    )
    assert flat(host(text, 3)).count("inline namespace rs_local_3 { __global__ void k(int n)") == 2


def test_an_anonymous_namespace_gets_the_name_of_its_source() -> None:
    text = "namespace a { namespace {\nint x;\n} }\n"
    assert device(text, 2) == host(text, 2) == text.replace(
        "namespace {", "inline namespace rs_local_2 {"
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "__device__ float f(float x) { return __expf(x); }",
        "static __forceinline__ __device__ float f(float x) { return x; }",
        "template <typename T> __device__ auto f(T x) -> decltype(x) { return x; }",
        "template <> __device__ float f<float>(float x) { return x; }",
        "__device__ float f(float);",
        "__device__ float4 operator+(const float4& a, const float4& b) { return a; }",
        "__device__ S::S(int a) : x{a}, y(a) { z(); }",
        "__device__ void S::f() const { }",
        "inline __device__ bool operator()(int x) { return x; }",
        "__device__ void f() {\n#if __CUDA_ARCH__ >= 800\n a();\n#else\n b();\n#endif\n}",
        "extern __shared__ float s[];",
        "__device__ float unused[4] = {1, 2};",
        "__host__ __device__ float f(float x) { return __expf(x); }",
        "__device__ constexpr int f() { return 3; }",
        "extern __device__ int e;",
    ],
)
def test_what_only_the_device_needs_is_gone(text: str) -> None:
    wrapped = f"int before;\n{text}\nint after;\n"
    left = "\n".join(line for line in host(wrapped).splitlines() if line.strip() and line[0] != "#")
    assert left == "int before;\nint after;"
    assert device(wrapped) == wrapped


def test_members_for_the_device_alone_are_gone_and_others_stay() -> None:
    text = (
        "struct S {\n  float by;\n  __host__ __device__ S(float b) : by{b} {}\n public:\n"
        "  __device__ float operator()(float x) const { return x * by; }\n"
        "  static constexpr __device__ int n = 3;\n  int size() { return 4; }\n};\n"
    )
    assert host(text) == text.replace(
        "  __device__ float operator()(float x) const { return x * by; }", "  "
    )


def test_device_functions_that_host_code_names_keep_their_head() -> None:
    text = (
        "__device__ float f(float x) { return __expf(x); }\n"
        "template <float (*F)(float)> __global__ void k(float* x) { F(1); }\n"
        "void go() { k<f><<<1, 1>>>(0); }\n"
    )
    assert host(text).splitlines()[0] == (
        "inline __device__ float f(float x) { __builtin_trap(); }"
    )


def test_functions_for_both_stay_where_host_code_names_them_or_what_names_them() -> None:
    text = (
        "__host__ __device__ int inner(int x) { return x; }\n"
        "__host__ __device__ int outer(int x) { return inner(x); }\n"
        "__host__ __device__ int other(int x) { return __popc(x); }\n"
        "int go() { return outer(3); }\n"
    )
    lines = host(text).splitlines()
    assert lines[:2] == text.splitlines()[:2]
    assert lines[2] == ""


def test_variables_that_host_code_names_are_shadowed() -> None:
    text = (
        "static __constant__ float c[4];\n__device__ int d = 3;\n__device__ int own;\n"
        "__global__ void k() { own = d; }\n"
        "void go() { cudaMemcpyToSymbol(c, p, 16); cudaMemcpyToSymbol(d, p, 4); }\n"
    )
    lines = host(text).splitlines()
    assert lines[0] == "RS_VARIABLE  __constant__ float c[4];"
    assert lines[1] == "RS_VARIABLE_SET __device__ int d = 3;"
    assert lines[2] == ""
    assert device(text).splitlines()[0] == " __constant__ float c[4];"


def test_nvcc_s_own_macro_is_defined_for_the_candidate_alone() -> None:
    assert host("#ifdef __CUDACC__\nint x;\n#endif\n").startswith("#ifdef RS_CUDACC\n")


def test_macros_that_only_the_device_uses_need_not_be_understood() -> None:
    text = (
        "#define TILE __shared__ float tile[32]\n#define BEGIN(n) __device__ void n() {\n"
        "__global__ void k() { TILE; tile[0] = 1; }\n"
    )
    assert stub("k") in host(text)


@pytest.mark.parametrize(
    "text",
    [
        "void f() { auto g = [=] __device__(int i) { return i; }; }",
        "__managed__ int x;",
        "extern __constant__ float c[4]; void f() { cudaMemcpyToSymbol(c, p, 16); }",
        "__constant__ const float c[4] = {1}; void f() { cudaMemcpyToSymbol(c, p, 16); }",
        "template <typename T> __constant__ T c; void f() { cudaMemcpyToSymbol(c<int>, p, 4); }",
        "struct S { __device__ static int x; };",
        "struct S { friend __device__ void f(S); };",
        "struct S { virtual __device__ void f(); };",
        "__global__ void k(const Foo& x) { f(); }",
        "__global__ void k(int n, ...) { f(); }",
        "__global__ auto k(int n) -> void { f(); }",
        "__global__ void k(int k) { f(); }",
        "#define P int a, int b\n__global__ void k(P) { f(); }",
        "#define BEGIN __global__ void k() {\nBEGIN f(); }",
        "#define S static __global__ void\nS k() { f(); }",
        "static __global__ void k(int); __global__ void k(int n) { f(); }",
        "#if A\n__global__ void k(int a) {\n#else\n__global__ void k() {\n#endif\n}",
        "__global__ void k(int a\n#if A\n, int b\n#endif\n) { f(); }",
        "__global__ void k() { f(); ",
        "void f() { k<<<1, 2>>>; }",
        "void f() { <<<1, 2>>>(x); }",
        "#define CONFIG <<<1, 2>>>\nvoid f() { k CONFIG (x); }",
        '#include "own.cuh"\n',
        "#include <thrust/sort.h>\n",
        "#include <cub/device/device_reduce.cuh>\n",
        "#include <ATen/native/cuda/Loops.cuh>\n",
        "#include HEADER\n",
        "#define __global__\n",
        "#define private public\n",
        'const char* s = "never ends;\n',
        "int x = __CUDACC_VER_MAJOR__;",
        "__device__ void f() {\n#include <cmath>\n}",
        "__device__ struct { int a; } x;",
        "#define F(n) __device__ float n(float x)\nF(f) { return x; }\nvoid g(int) { h(); }",
        "#define BODY { return x; }\n__device__ float f(float x) BODY\nvoid g(int) { h(); }",
        "#define RS_VARIABLE\n__device__ int x;",
        "#define " + "/**/" * 64 + "1\n",
        "#include " + "/**/" * 64 + "X\n",
    ],
)
def test_what_is_not_sure_is_left_to_the_stock_build(text: str) -> None:
    with pytest.raises(UnsuitableError):
        transform(text)


@pytest.mark.parametrize(
    "text",
    [
        '#define A "' + '\\"' * 200_000,
        "#define A " + "/*a" * 100_000,
        "int x = f" + "{}" * 200_000 + ";",
        "/* */ " * 100_000,
        "".join(f"#define A{i} A{i + 1}\n" for i in range(10_000)) + "A0 " * 50_000,
        "".join(f"__device__ int f{i}() {{ return f{i + 1}(); }}\n" for i in range(5000, 0, -1))
        + "int go() { return f1(); }",
    ],
    ids=["quotes", "comments", "brackets", "blanks", "macros", "calls"],
)
def test_no_text_takes_long(text: str) -> None:
    begun = time.monotonic()
    with contextlib.suppress(UnsuitableError):
        transform(text)
    assert time.monotonic() - begun < 20


def test_deep_nesting_is_refused_not_a_crash() -> None:
    with pytest.raises(UnsuitableError):
        transform("namespace a {" * 5000 + "}" * 5000)
