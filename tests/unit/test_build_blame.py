"""Which errors of a failed pass are the candidate's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_service.build.blame import Fall, Final, judge
from reward_service.build.device_regions import Lines

HEAD = '#define TORCH_EXTENSION_NAME rs_x\n#line 1 "k.cu"\n#include <torch/extension.h>\n'
KERNEL = "__global__ void k(float* p, int n) {\n    int i = threadIdx.x;\n    %s\n}\n"
HOST = "at::Tensor run(at::Tensor x) {\n    %s\n    return x;\n}\n"


def device(body: str, log: str, other: str | None = None) -> Final | Fall:
    return judge("device", log, {"k.cu": HEAD + body}, other)


IN_KERNEL = {
    "an undefined variable": (
        "if (i < n) p[i] = valeu;",
        'k.cu(4): error: identifier "valeu" is undefined\n    if (i < n) p[i] = valeu;\n    ^\n',
    ),
    "a wrong intrinsic": (
        "p[i] = __shfl_downn_sync(0xffffffff, p[i], 1);",
        'k.cu(4): error: identifier "__shfl_downn_sync" is undefined\n',
    ),
    "a wrong type": (
        "p = p[i];",
        'k.cu(4): error: a value of type "float" cannot be assigned to an entity of type '
        '"float *"\n',
    ),
    "a wrong member": (
        "float4 v; p[i] = v.q;",
        'k.cu(4): error: class "float4" has no member "q"\n',
    ),
    "a missing semicolon": ("p[i] = 1.0f", 'k.cu(5): error: expected a ";"\n  }\n  ^\n'),
    "a missing parenthesis": ("p[i] = fmaxf(p[i], 0;", 'k.cu(4): error: expected a ")"\n'),
    "a redefinition": (
        "int i = 2;",
        'k.cu(4): error: "i" has already been declared in the current scope\n\n'
        'k.cu(3): warning #177-D: variable "i" was declared but never referenced\n',
    ),
    "a host function": (
        "p[i] = helper(p[i]);",
        'k.cu(4): error: calling a __host__ function("helper(float)") from a __global__ '
        'function("k") is not allowed\n\n'
        'k.cu(4): error: identifier "helper" is undefined in device code\n',
    ),
    "operators that torch's flags take from __half": (
        "__half* h = 0; h[0] = h[0] + h[1];",
        'k.cu(4): error: no operator "+" matches these operands\n'
        "            operand types are: __half + __half\n"
        "k.cu(4): note #3328-D: built-in operator+(<promoted arithmetic>, <promoted arithmetic>) "
        "does not match because argument #1 does not match parameter\n",
    ),
    "an argument that no overload takes": (
        "atomicAdd((short*)p, (short)1);",
        'k.cu(4): error: no instance of overloaded function "atomicAdd" matches the argument list\n'
        "            argument types are: (short *, short)\n"
        "/usr/local/cuda/include/sm_20_atomic_functions.hpp(82): note #3326-D: function "
        '"atomicAdd(float *, float)" does not match because argument #1 does not match parameter\n',
    ),
    "a failed static_assert": (
        'static_assert(sizeof(int) > 4, "too small");',
        'k.cu(4): error: static assertion failed with "too small"\n',
    ),
}


@pytest.mark.parametrize("name", IN_KERNEL)
def test_an_error_in_a_kernel_body_is_final(name: str) -> None:
    line, log = IN_KERNEL[name]
    told = device(KERNEL % line, log)
    assert isinstance(told, Final)
    assert told.message.startswith("k.cu(")
    assert "warning" not in told.message


DOUBTFUL_IN_KERNEL = {
    "a torch macro": (
        "CUDA_KERNEL_LOOP(j, n) { p[j] = 1; }",
        'k.cu(4): error: identifier "j" is undefined\n\n'
        'k.cu(4): error: identifier "CUDA_KERNEL_LOOP" is undefined\n\n'
        'k.cu(4): error: expected a ";"\n',
    ),
    "an unknown AT_ macro": (
        "p[i] = AT_CEIL(n);",
        'k.cu(4): error: identifier "AT_CEIL" is undefined\n',
    ),
    "a macro of torch's logging": (
        "CHECK(n);",
        'k.cu(4): error: identifier "CHECK" is undefined\n',
    ),
    "a type of torch on the line": (
        "auto v = c10::Half(1).foo; p[i] = v;",
        'k.cu(4): error: expected a ";"\n',
    ),
    "a member of std": (
        "p[i] = std::lerp(p[i], 0, 1);",
        'k.cu(4): error: namespace "std" has no member "lerp"\n',
    ),
    "a half type": (
        "nv_half h = p[i];",
        'k.cu(4): error: identifier "nv_half" is undefined\n',
    ),
    "CUB that is not included": (
        "typedef cub::BlockReduce<float, 32> R;",
        'k.cu(4): error: explicit type is missing ("int" assumed)\n\n'
        'k.cu(4): error: expected a ";"\n',
    ),
    "a namespace that is not named": (
        "auto b = cooperative_groups::this_thread_block();",
        'k.cu(4): error: name followed by "::" must be a class or namespace name\n',
    ),
    "an accessor": (
        "p[i] = 1;",
        "k.cu(4): error: expression must have pointer-to-object type\n"
        '          detected during instantiation of "void k(at::PackedTensorAccessor32<T, 2UL, '
        'torch::headeronly::DefaultPtrTraits>) [with T=float]" at line 3\n',
    ),
    "a tensor used on the device": (
        "p[i] = t.size(0);",
        'k.cu(4): error: calling a __host__ function("at::Tensor::size(long) const") from a '
        '__global__ function("k") is not allowed\n',
    ),
    "an incomplete type": (
        "p[i] = 1;",
        'k.cu(4): error: incomplete type "c10::BFloat16" is not allowed\n',
    ),
    "a header": (
        "p[i] = 1;",
        'k.cu(4): error: identifier "valeu" is undefined\n\n'
        "/usr/local/cuda/include/cub/block/block_load.cuh(80): error: static assertion failed\n",
    ),
    "a stand-in": (
        "p[i] = 1;",
        'device/rs/tensor.h(80): error: identifier "Storage" is undefined\n',
    ),
}


@pytest.mark.parametrize("name", DOUBTFUL_IN_KERNEL)
def test_an_error_in_a_kernel_that_a_missing_name_may_cause_falls(name: str) -> None:
    line, log = DOUBTFUL_IN_KERNEL[name]
    assert isinstance(device(KERNEL % line, log), Fall)


@pytest.mark.parametrize("opened", ["torch", "at", "std"])
def test_an_undefined_name_falls_where_a_namespace_is_opened(opened: str) -> None:
    log = 'k.cu(5): error: identifier "lerp" is undefined\n'
    body = f"using namespace {opened};\n" + KERNEL % "p[i] = lerp(p[i], 0, 1);"
    assert isinstance(device(body, log), Fall)
    assert isinstance(device("\n" + KERNEL % "p[i] = lerp(p[i], 0, 1);", log), Final)


HOST_ALONE = {
    "an unknown torch function": (
        "x = torch::no_such_function(x);",
        'k.cu(3): error: namespace "torch" has no member "no_such_function"\n',
    ),
    "an unknown Tensor method": (
        "x = x.no_such_method();",
        'k.cu(3): error: class "at::Tensor" has no member "no_such_method"\n',
    ),
    "torch::nn": (
        "x = torch::nn::functional::relu(x);",
        'k.cu(3): error: name followed by "::" must be a class or namespace name\n',
    ),
    "an unknown AT_ macro": (
        "AT_NO_SUCH(x);",
        'k.cu(3): error: identifier "AT_NO_SUCH" is undefined\n',
    ),
    "a feature of pybind11": (
        'py::capsule c(nullptr, "x");',
        'k.cu(3): error: namespace "pybind11" has no member "capsule"\n',
    ),
    "a missing header": ("", "k.cu:1:10: fatal error: ATen/no/such.h: No such file or directory\n"),
    "an extended lambda": (
        "k<<<1, 1>>>([] __device__(float v) { return v; });",
        "k.cu(3): error: __host__ or __device__ annotation on lambda requires --extended-lambda "
        "nvcc flag\n",
    ),
    "an undefined variable": (
        "int n = undefined_name;",
        'k.cu(3): error: identifier "undefined_name" is undefined\n',
    ),
    "a syntax error": ("int n = 3", 'k.cu(4): error: expected a ";"\n'),
    "a wrong argument of a kernel": (
        "k<<<1, 32>>>(x);",
        'k.cu(3): error: no suitable conversion function from "at::Tensor" to "float *" exists\n',
    ),
}


@pytest.mark.parametrize("name", HOST_ALONE)
def test_an_error_in_host_code_from_the_device_pass_alone_falls(name: str) -> None:
    line, log = HOST_ALONE[name]
    assert isinstance(device(HOST % line, log), Fall)


@pytest.mark.parametrize("kind", ["device", "host"])
@pytest.mark.parametrize(
    ("line", "of_device", "of_host"),
    [
        (
            "x = x.no_such_method();",
            'k.cu(3): error: class "at::Tensor" has no member "no_such_method"\n',
            "k.cu:3:11: error: no member named 'no_such_method' in 'at::Tensor'\n",
        ),
        (
            "x = x.no_such_method();",
            'k.cu(3): error: class "at::Tensor" has no member "no_such_method"\n',
            "k.cu:3:11: error: ‘class at::Tensor’ has no member named ‘no_such_method’\n",
        ),
        (
            "int n = undefined_name;",
            'k.cu(3): error: identifier "undefined_name" is undefined\n',
            "k.cu:3:13: error: use of undeclared identifier 'undefined_name'\n",
        ),
        (
            "int n = 3",
            'k.cu(4): error: expected a ";"\n    return x;\n    ^\n\n'
            'k.cu(5): warning #940-D: missing return statement at end of non-void function "run"\n',
            "k.cu:3:14: error: expected ';' at end of declaration\n",
        ),
        (
            "int n = 3",
            'k.cu(4): error: expected a ";"\n',
            "k.cu:4:5: error: expected ‘,’ or ‘;’ before ‘return’\n",
        ),
        (
            "float* p = x;",
            'k.cu(3): error: no suitable conversion function from "at::Tensor" to "float *" '
            "exists\n",
            "k.cu:3:12: error: no viable conversion from 'at::Tensor' to 'float *'\n",
        ),
        (
            'AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "k", [&] { scalar_t* p = f(); });',
            'k.cu(3): error: a value of type "int *" cannot be used to initialize an entity of '
            'type "scalar_t *"\n',
            "k.cu:3:70: error: cannot initialize a variable of type 'scalar_t *' (aka 'double *') "
            "with an rvalue of type 'int *'\n"
            "/site-packages/torch/include/ATen/Dispatch.h:197:66: note: expanded from macro "
            "'AT_DISPATCH_FLOATING_TYPES'\n",
        ),
    ],
)
def test_an_error_in_host_code_is_final_where_both_passes_report_it(
    kind: str, line: str, of_device: str, of_host: str
) -> None:
    sources = {"k.cu": HEAD + HOST % line}
    logs = (of_device, of_host) if kind == "device" else (of_host, of_device)
    told = judge(kind, logs[0], sources, logs[1])  # type: ignore[arg-type]
    assert isinstance(told, Final)
    assert told.message.splitlines()[0] == of_device.splitlines()[0]


@pytest.mark.parametrize(
    ("line", "of_device", "of_host"),
    [
        (
            "x = torch::nn::functional::relu(x);",
            'k.cu(3): error: name followed by "::" must be a class or namespace name\n',
            "k.cu:3:16: error: no member named 'nn' in namespace 'torch'\n",
        ),
        (
            "x = torch::fft::fft(x);",
            'k.cu(3): error: namespace "torch" has no member "fft"\n',
            "k.cu:3:16: error: no member named 'fft' in namespace 'torch'\n",
        ),
        (
            "x = torch::no_such(x);",
            'k.cu(3): error: namespace "torch" has no member "no_such"\n',
            "k.cu:3:16: error: 'no_such' is not a member of 'torch'\n",
        ),
        (
            "AT_NO_SUCH(x);",
            'k.cu(3): error: identifier "AT_NO_SUCH" is undefined\n',
            "k.cu:3:5: error: use of undeclared identifier 'AT_NO_SUCH'\n",
        ),
        (
            "Foo f(3);",
            'k.cu(3): error: identifier "Foo" is undefined\n',
            "k.cu:3:5: error: unknown type name 'Foo'\n",
        ),
        (
            "usleep(3);",
            'k.cu(3): error: identifier "usleep" is undefined\n',
            "k.cu:3:5: error: use of undeclared identifier 'usleep'\n",
        ),
        (
            'py::capsule c(nullptr, "x");',
            'k.cu(3): error: namespace "pybind11" has no member "capsule"\n',
            "k.cu:3:9: error: no type named 'capsule' in namespace 'pybind11'\n",
        ),
        (
            "#include <no_such.h>",
            "k.cu:3:10: fatal error: no_such.h: No such file or directory\n",
            "k.cu:3:10: fatal error: 'no_such.h' file not found\n",
        ),
        (
            "int n = undefined_name;",
            'k.cu(3): error: identifier "undefined_name" is undefined\n',
            "k.cu:3:13: error: use of undeclared identifier 'undefined_name'\n"
            "k.cu:4:13: error: no member named 'nn' in namespace 'torch'\n",
        ),
        (
            "int n = undefined_name;",
            'k.cu(3): error: identifier "undefined_name" is undefined\n',
            "k.cu:4:13: error: cannot convert 'int' to 'float'\n",
        ),
    ],
)
def test_what_both_passes_may_lack_falls(line: str, of_device: str, of_host: str) -> None:
    assert isinstance(device(HOST % line, of_device, of_host), Fall)


def test_an_error_of_the_host_pass_alone_falls() -> None:
    log = "k.cu:3:11: error: no member named 'no_such_method' in 'at::Tensor'\n"
    assert isinstance(judge("host", log, {"k.cu": HEAD + HOST % ""}), Fall)


def test_an_error_in_a_kernel_is_final_whatever_the_host_pass_says() -> None:
    log = 'k.cu(4): error: identifier "valeu" is undefined\n'
    host = "k.cu:9:13: error: no member named 'nn' in namespace 'torch'\n"
    assert isinstance(device(KERNEL % "p[i] = valeu;", log, host), Final)


@pytest.mark.parametrize(
    ("line", "log", "final"),
    [
        (
            "__shared__ float s[100000];",
            "ptxas error   : Entry function '_Z1kPfi' uses too much shared data (0x61a80 bytes, "
            "0xc000 max)\n",
            True,
        ),
        (
            'asm volatile("fma.bogus.f32 %0, %0, %0, %0;" : "+f"(p[i]));',
            "ptxas /tmp/tmpxft_00002751_00000000-6_k.ptx, line 35; error   : Unknown modifier "
            "'.bogus'\nptxas fatal   : Ptx assembly aborted due to errors\n",
            True,
        ),
        ("p[i] = other(1);", "ptxas fatal   : Unresolved extern function '_Z5otherf'\n", True),
        (
            "p[i] = 1;",
            "ptxas fatal   : Unresolved extern function '_ZN3c104HalfC1Ef'\n",
            False,
        ),
        ("p[i] = 1;", "ptxas fatal   : Internal error: no idea\n", False),
        ("p[i] = 1;", "ptxas warning : Value of threads per SM is out of range\n", False),
        ("p[i] = 1;", "nvcc fatal   : Unsupported gpu architecture 'compute_70'\n", False),
        ("p[i] = 1;", "", False),
    ],
)
def test_ptxas_is_believed_about_what_the_candidate_wrote(line: str, log: str, final: bool) -> None:
    told = device(KERNEL % line, log)
    assert isinstance(told, Final) is final
    assert not isinstance(told, Final) or "/tmp" not in told.message


def test_a_link_falls() -> None:
    told = judge("link", "ld.lld: error: undefined symbol: f()\n", {"k.cu": HEAD})
    assert told == Fall("link: ld.lld: error: undefined symbol: f()")


def test_a_message_has_at_most_four_lines_and_no_directory() -> None:
    log = "".join(f'/tmp/x/k.cu(4): error: identifier "v{i}" is undefined\n\n' for i in range(9))
    told = device(KERNEL % "p[i] = v0;", log)
    assert isinstance(told, Final)
    assert told.message.splitlines()[0] == 'k.cu(4): error: identifier "v0" is undefined'
    assert len(told.message.splitlines()) == 4


def test_lines_are_counted_as_the_compilers_do() -> None:
    text = (
        '#define A\n#line 1 "k.cu"\n// __device__ in a comment {\n#define HD __host__ __device__\n'
        "HD float f(float x) {\n  return x;\n}\nint host() {\n  return 1;\n}\n"
        '__constant__ int t;\n__device__ int c;\nconst char* s = "__global__ {";\n'
    )
    lines = Lines(text)
    inside = [n for n in range(1, 12) if lines.in_device_code(n)]
    assert inside == [3, 4, 5, 10]
    assert lines.text(3) == "HD float f(float x) {"


@given(st.text(alphabet="{}();\n\"'/*#_ a", max_size=200), st.integers(0, 400))
def test_any_text_has_lines(text: str, line: int) -> None:
    lines = Lines("__global__ void k" + text)
    assert lines.in_device_code(1)
    assert isinstance(lines.in_device_code(line), bool)


@given(st.text(max_size=300))
def test_any_log_is_judged(log: str) -> None:
    assert isinstance(device(KERNEL % "", log), Fall | Final)
