"""The split build of torch-free CUDA programs: what is registered, launched and copied."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
from cuda_split import (
    COMPILERS,
    NVCC,
    Program,
    build_and_run,
    build_units,
    cuda_home,
    fat_binary,
    host_object,
    link,
)

from reward_service.build import kernels
from reward_service.build.precompiled import AS_GCC
from reward_service.build.source import transform

pytestmark = [
    pytest.mark.skipif(NVCC is None, reason="needs nvcc"),
    pytest.mark.skipif(not COMPILERS, reason="needs a C++ compiler"),
]
compilers = pytest.mark.parametrize("compiler", COMPILERS)

KINDS = r"""
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#define KERNEL __global__ void
#define DEFINE(name, T) \
  __global__ void name##_kernel(T* x, int n) { \
    x[0] = n; \
  }
struct Scale { float by; __device__ float operator()(float x) const { return x * by; } };
template <typename T> struct Pair { T a, b; };
__device__ float twice(float x) { return 2 * x; }

__global__ void plain(int n, float* x) { x[threadIdx.x] = twice(n); }
__global__ void overloaded(int n) {}
__global__ void overloaded(int n, float* x) { x[0] = n; }
static __global__ void alone(int n, float* x) { x[0] = n + 1; }
extern "C" __global__ void c_name(int n) {}
namespace { __global__ void hidden(int n, float* x) { x[0] = n + 2; } struct Own { int v; };
template <typename T> __global__ void hidden_template(T t) {} }
namespace outer { namespace inner { __global__ void nested(const int n) {} } }
__global__ void __launch_bounds__(256, 2) bounded(int n, const __half* h, float** rows) {
  rows[0][0] = n;
}
__launch_bounds__(128) __global__ void bounded_first(int n) {}
template <typename T, int N, bool B = (N > 3)>
__global__ void values(int n, T* __restrict__ x) { x[0] = N + B; }
template <typename... Ts> __global__ void packed(int n, Ts... rest) {}
template <typename F> __global__ void functor(int n, F f, float* x) { x[0] = f(n); }
template <typename T> __global__ void by_value(Pair<T> pair, T x[4]) { x[0] = pair.a; }
template <typename T> __global__ void specialised(int n, T* x) { x[0] = 1; }
template <> __global__ void specialised<double>(int n, double* x) { x[0] = 2; }
template <float (*F)(float)> __global__ void applies(int n, float* x) { x[0] = F(n); }
template <typename, int, typename T> __global__ void unnamed(int, float, T*) {}
template <typename T> __global__ void explicitly(int n, T* x) { x[0] = n; }
template __global__ void explicitly<float>(int n, float* x);
template <template <typename> class C, typename T> __global__ void templates(C<T> c) {}
KERNEL by_macro(int n) {}
DEFINE(made, float)
__global__ void callback(int n, float (*f)(float)) {}

extern "C" void run() {
  float* x = nullptr;
  plain<<<1, 2>>>(1, x);
  overloaded<<<dim3(1, 2), dim3(3, 4, 5), 6>>>(2);
  overloaded<<<1, 1>>>(3, x);
  alone<<<1, 1>>>(4, x);
  c_name<<<1, 1>>>(5);
  hidden<<<1, 1>>>(6, x);
  hidden_template<<<1, 1>>>(Own{7});
  outer::inner::nested<<<1, 1>>>(8);
  bounded<<<1, 1>>>(9, nullptr, nullptr);
  bounded_first<<<1, 1, 0, (cudaStream_t)16>>>(10);
  auto generic = [&](auto t) { values<decltype(t), 4><<<1, 1>>>(11, &t); };
  generic(1.0f); generic(1.0);
  packed<float, int><<<1, 1>>>(12, 1.0f, 2);
  packed<<<1, 1>>>(13);
  functor<<<1, 1>>>(14, Scale{2.0f}, x);
  by_value<float><<<1, 1>>>(Pair<float>{1, 2}, x);
  specialised<float><<<1, 1>>>(15, x);
  specialised<double><<<1, 1>>>(16, nullptr);
  applies<twice><<<1, 1>>>(17, x);
  unnamed<int, 3><<<1, 1>>>(18, 1.0f, x);
  explicitly<<<1, 1>>>(19, x);
  templates<<<1, 1>>>(Pair<int>{20, 1});
  by_macro<<<1, 1>>>(21);
  made_kernel<<<1, 1>>>(x, 22);
  callback<<<1, 1>>>(23, nullptr);
  auto pointer = &values<float, 1>;
  void (*table[])(int, float*) = {plain, &specialised<float>};
  pointer<<<1, 1>>>(24, x);
  table[1]<<<1, 1>>>(25, x);
  (*table[0])<<<1, 1>>>(26, x);
}
"""


@pytest.fixture(scope="module", params=COMPILERS)
def kinds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return build_and_run(request.param, tmp_path_factory.mktemp("kinds"), KINDS)


def test_every_kind_of_kernel_is_registered_by_its_device_name_and_launched(
    kinds: Program, tmp_path: Path
) -> None:
    registered = [line.split()[1] for line in kinds.log if line.startswith("kernel ")]
    launched = [line for line in kinds.log if line.startswith("launch ")]
    fatbin = fat_binary(tmp_path, transform(KINDS).device)
    device = kernels.device_side(fatbin.read_bytes()).kernels
    assert set(registered) == set(device)
    assert len(registered) == len(set(registered)) == 26
    names = [line.split()[1] for line in launched]
    assert all(name in registered for name in names)
    first = [int(line.split("| ")[1].split(",")[0]) for line in launched]
    assert [n for n in first if 0 < n < 100] == [*range(1, 12), *range(11, 22), *range(23, 27)]


TYPICAL = r"""
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <algorithm>
#include <functional>
#include <vector>
namespace cg = cooperative_groups;
using namespace nvcuda;
#define BLOCK 256
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define HD __host__ __device__ __forceinline__
#ifdef __CUDA_ARCH__
#define ARCH __CUDA_ARCH__
#else
#define ARCH 0
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#else
__device__ double atomicAdd(double* a, double b) { return *a + b; }
#endif
constexpr int kWarp = 32;
using op_t = float (*)(float);
__device__ __forceinline__ float warp_sum(float v) {
  #pragma unroll
  for (int o = kWarp / 2; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}
__device__ inline float4 operator*(const float4& a, float b) {
  return make_float4(a.x * b, a.y, a.z, a.w);
}
template <typename T> struct Add { HD T operator()(T a, T b) const { return a + b; } };
struct Swish {
  __host__ __device__ float operator()(float x) const { return __fdividef(x, 1.0f + __expf(-x)); }
};
struct __align__(16) Vec {
  float v[4]; __device__ Vec() {} __device__ float sum() const { return v[0]; }
};
__device__ float relu(float x) { return fmaxf(x, 0.f); }
__device__ op_t chosen = relu;
__device__ unsigned int counter = 0;
template <typename F> HD float apply(F f, float x) { return f(x); }
template <typename T, bool Vectorised>
__global__ void __launch_bounds__(BLOCK) scale(int n, T* __restrict__ x, const float by) {
  extern __shared__ unsigned char raw[];
  __shared__ float part[BLOCK / kWarp];
  cg::thread_block block = cg::this_thread_block();
  float4* wide = reinterpret_cast<float4*>(x);
  if constexpr (Vectorised) { wide[0] = wide[0] * by; }
  part[0] = warp_sum(by); Vec v;
  x[0] = static_cast<T>(part[0] + v.sum() + chosen(by) + atomicAdd(&counter, 1u));
  asm volatile("bar.sync 0;");
}
template <int TILE> __global__ void tiles(int n, float* x) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.0f);
  x[0] = c.x[0] + TILE;
}
template <typename F> __global__ void map(int n, F f, float* x) { x[0] = apply(f, x[0]); }
__global__ void seed(int n, double* states) { states[0] = n; }
class Runner {
 public:
  explicit Runner(int n) : n_(n), stream_{nullptr} {}
  template <typename T> void go(T* x) const {
    const dim3 blocks(CEIL_DIV(n_, BLOCK), min(n_, 65535)), threads{BLOCK};
    auto kernel = n_ % 4 == 0 ? scale<T, true> : scale<T, false>;
    kernel<<<blocks, threads, BLOCK * sizeof(float), stream_>>>(n_, x, rsqrtf(4.0f));
    switch (n_) {
      case 8: tiles<8><<<1, max(BLOCK, n_)>>>(n_, x); break;
      default: tiles<16> <<< 1, BLOCK >>> (n_, x);
    }
    auto later = [&](auto f) { map<<<std::max<int>(1, n_ >> 4), BLOCK>>>(n_, f, x); };
    later(Swish{}); later(Add<float>{}.operator()(1, 2) > 2 ? Swish{} : Swish{});
  }
 private:
  int n_;
  cudaStream_t stream_;
};
extern "C" void run() {
  unsigned int zero = 0; op_t from;
  cudaMemcpyToSymbol(counter, &zero, sizeof(zero));
  float* x = nullptr;
  Runner(8).go(x);
  std::function<void()> f = [&] { seed<<<1, 1>>>(48, nullptr); };
  f();
}
"""


@compilers
def test_a_typical_program_is_split(compiler: str, tmp_path: Path) -> None:
    log = build_and_run(compiler, tmp_path, TYPICAL).log
    launches = [line for line in log if line.startswith("launch")]
    assert launches[0].startswith("launch _Z5scaleIfLb1EEviPT_f 1 8 1 256 1 1 1024 0 | 8,")
    assert launches[1].startswith("launch _Z5tilesILi8EEviPf 1 1 1 256 1 1 0 0 | 8,")
    assert [line.split()[1] for line in launches[2:4]] == ["_Z3mapI5SwishEviT_Pf"] * 2
    assert launches[4].startswith("launch _Z4seediPd 1 1 1 1 1 1 0 0 | 48")
    assert "variable counter 4 0" in log


SIZES = """
#include <curand_kernel.h>
static_assert(sizeof(curandState) == 48 && sizeof(curandState_t) == 48, "");
static_assert(sizeof(curandStatePhilox4_32_10_t) == 64, "");
__global__ void k(curandState* a, curandStatePhilox4_32_10_t* b) {}
"""


@compilers
def test_curand_s_states_have_the_same_size_on_both_sides(compiler: str, tmp_path: Path) -> None:
    host_object(compiler, tmp_path, transform(SIZES).host)
    if not (cuda_home() / "include" / "curand_kernel.h").exists():
        pytest.skip("needs curand's headers for the device's side")
    fat_binary(tmp_path, SIZES)


def test_a_launch_passes_its_configuration(kinds: Program) -> None:
    log = kinds.log
    assert "launch _Z10overloadedi 1 2 1 3 4 5 6 0 | 2" in log
    assert "launch _Z13bounded_firsti 1 1 1 1 1 1 0 16 | 10" in log


@compilers
def test_binaries_are_registered_before_kernels_and_ended_after(
    compiler: str, tmp_path: Path
) -> None:
    source = '__global__ void k(int n) {}\nextern "C" void run() { k<<<1, 1>>>(1); }\n'
    other = "__global__ void other(int n) {}\nvoid go() { other<<<1, 1>>>(1); }\n"
    assert build_and_run(compiler, tmp_path, source, other).log == [
        "binary 1", "kernel _Z1ki", "end", "binary 1", "kernel _Z5otheri", "end",
        "launch _Z1ki 1 1 1 1 1 1 0 0 | 1",
    ]  # fmt: skip


def test_every_compiler_mangles_constrained_templates_as_gcc_does(tmp_path: Path) -> None:
    # torch declares such templates and defines them in its libraries, which gcc has made.
    (tmp_path / "abi.cpp").write_text(
        "#include <type_traits>\n"
        "struct T { template <class S, std::enable_if_t<!std::is_const<S>::value, int> = 0>\n"
        "  const S* data() const; };\n"
        "const float* f(T& t) { return t.data<float>(); }\n"
    )
    wanted = set()
    for compiler in COMPILERS:
        flags = AS_GCC if "clang" in compiler else ()
        made = tmp_path / f"{compiler}.o"
        command = [compiler, *flags, "-c", str(tmp_path / "abi.cpp"), "-o", str(made)]
        subprocess.run(command, check=True)
        wanted.add(subprocess.check_output(["nm", "-u", str(made)], text=True))
    assert len(wanted) == 1


@compilers
def test_private_kernels_of_two_sources_do_not_meet(compiler: str, tmp_path: Path) -> None:
    text = """
static __global__ void k(int n) {}
template <typename T> static __global__ void t(T n) {}
namespace { __global__ void a(int n) {} }
"""
    one = text + (
        'void two();\nextern "C" void run() '
        "{ k<<<1, 1>>>(1); t<<<1, 1>>>(2); a<<<1, 1>>>(3); two(); }\n"
    )
    two = text + "void two() { k<<<1, 1>>>(4); t<<<1, 1>>>(5); a<<<1, 1>>>(6); }\n"
    program = build_and_run(compiler, tmp_path, one, two)
    launched = {line.split()[1] for line in program.log if line.startswith("launch ")}
    assert len(launched) == 6


@compilers
def test_device_variables_that_host_code_names_are_registered(
    compiler: str, tmp_path: Path
) -> None:
    source = r"""
__constant__ float weights[4];
static __constant__ int table[2] = {1, 2};
__device__ float* pointer;
__device__ int unnamed = 3;
namespace { __device__ double scale; }
__global__ void k(int n, float* x) { x[0] = weights[0] + table[1] + unnamed + scale + *pointer; }
extern "C" void run() {
  float h[4]; int t[2]; float* p = h; double s = 1;
  cudaMemcpyToSymbol(weights, h, sizeof(h));
  cudaMemcpyToSymbol(table, t, sizeof(t));
  cudaMemcpyToSymbol(pointer, &p, sizeof(p));
  cudaMemcpyToSymbol(scale, &s, sizeof(s));
}
"""
    log = build_and_run(compiler, tmp_path, source).log
    assert {line for line in log if line.startswith("variable ")} == {
        "variable weights 16 1", "variable table 8 1", "variable pointer 8 0",
        "variable _ZN10rs_local_05scaleE 8 0",
    }  # fmt: skip
    assert [line for line in log if line.startswith("copy ")] == [
        "copy weights 16", "copy table 8", "copy pointer 8", "copy _ZN10rs_local_05scaleE 8",
    ]  # fmt: skip


@compilers
def test_a_kernel_is_known_by_its_address_to_the_runtime(compiler: str, tmp_path: Path) -> None:
    source = r"""
template <typename T> __global__ void k(T* x) { extern __shared__ float s[]; x[0] = s[0]; }
extern "C" void run() {
  cudaFuncSetAttribute(k<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  void* arguments[1] = {nullptr};
  cudaLaunchCooperativeKernel((void*)k<float>, dim3(1), dim3(32), arguments, 0, 0);
}
"""
    log = build_and_run(compiler, tmp_path, source).log
    assert log[-2:] == ["attribute _Z1kIfEvPT_ 65536", "cooperative _Z1kIfEvPT_"]


@compilers
def test_a_launch_of_what_the_device_pass_did_not_make_is_found(
    compiler: str, tmp_path: Path
) -> None:
    source = r"""
template <int N> __global__ void k(int* x) { x[0] = N; }
void go() { k<1><<<1, 1>>>(0); k<2><<<1, 1>>>(0); }
"""
    units, _ = build_units(compiler, tmp_path, source)
    assert kernels.missing(units) == []
    fatbin = (tmp_path / "device0.fatbin").read_bytes().replace(b"_Z1kILi2EEvPi", b"_Z1kILi3EEvPi")
    unit = kernels.unit("x.fatbin", fatbin, (tmp_path / "host0.o").read_bytes())
    assert kernels.missing([unit]) == ["_Z1kILi2EEvPi"]
    assert unit.kernels == ("_Z1kILi1EEvPi",)


@compilers
def test_the_module_loads_with_the_real_runtime_without_a_device(
    compiler: str, tmp_path: Path
) -> None:
    libraries = cuda_home() / "lib64"
    if not (libraries / "libcudart.so").exists():
        pytest.skip("needs libcudart")
    source = r"""
#include <cuda_runtime.h>
__constant__ float c[2];
__global__ void k(float* x) { x[0] = c[0]; }
extern "C" int run() { k<<<1, 1>>>(nullptr); return cudaMemcpyToSymbol(c, "12345678", 8); }
"""
    units, objects = build_units(compiler, tmp_path, source)
    module = link(
        compiler, tmp_path, units, *objects, f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lcudart"
    )
    assert isinstance(ctypes.CDLL(str(module)).run(), int)
