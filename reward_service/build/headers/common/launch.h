// What a CUDA source needs to be compiled as plain C++, once its kernels are stubs and its
// launches calls (reward_service/build/source). Include it after all CUDA and torch headers: it
// gives CUDA's words the meaning that they have for the host, and nvcc's own headers expect theirs.
//
// A stub is a function of the kernel's name that pops the launch's configuration and starts the
// kernel known by the stub's address. Names are tied to addresses at link time: kernels.py finds
// the stubs by their call of __cudaPopCallConfiguration, so that call must stay in the stub. Hence
// no stub may be inlined, cloned or split.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __grid_constant__
#undef __launch_bounds__
#undef __cluster_dims__
#undef __block_size__
#undef __maxnreg__
#if defined(__clang__)
#define __global__ __attribute__((noinline, optnone))
#else
#define __global__ __attribute__((noipa))
#endif
#define __device__
#define __host__
#define __shared__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __maxnreg__(...)
#if !defined(C10_LAUNCH_BOUNDS_1)
#define C10_LAUNCH_BOUNDS_0
#define C10_LAUNCH_BOUNDS_1(...)
#define C10_LAUNCH_BOUNDS_2(...)
#endif
#if !defined(C10_DEVICE)
#define C10_DEVICE
#define C10_HOST_DEVICE
#define C10_HOST
#endif

// Stands for __CUDACC__ in the candidate's own text.
#define RS_CUDACC 1

// Device variables that host code names; the second where the source gives a value.
#define RS_VARIABLE __attribute__((used, visibility("hidden"), section(".bss.rs_variables")))
#define RS_VARIABLE_SET __attribute__((used, visibility("hidden"), section("rs_variables")))

extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block = 1, size_t shared = 0,
                                                struct CUstream_st* stream = nullptr);
extern "C" cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared,
                                                  void* stream);

// torch has these for nvcc alone, in one of two places by its version.
#if __has_include(<torch/headeronly/core/TensorAccessor.h>)
#include <ATen/core/TensorAccessor.h>
namespace torch::headeronly {
template <typename T>
struct RestrictPtrTraits {
  typedef T* __restrict__ PtrType;
};
}  // namespace torch::headeronly
namespace at {
using torch::headeronly::RestrictPtrTraits;
}
#elif __has_include(<ATen/core/TensorAccessor.h>)
#include <ATen/core/TensorAccessor.h>
namespace at {
template <typename T>
struct RestrictPtrTraits {
  typedef T* __restrict__ PtrType;
};
}  // namespace at
#endif

namespace rs_cuda {

// A parameter's type as it is in the function's: g++ leaves __restrict__ in decltype's.
template <typename T>
struct parameter_of {
  using type = T;
};
template <typename T>
struct parameter_of<T* __restrict__> {
  using type = T*;
};
template <typename T>
struct parameter_of<T* const __restrict__> {
  using type = T*;
};
template <typename T>
using parameter = typename parameter_of<T>::type;

template <typename... P, typename... A>
__attribute__((always_inline)) inline void launch(void (*self)(P...), A&... arguments) {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  // A C cast, for no other takes __restrict off.
  void* addresses[] = {(void*)__builtin_addressof(arguments)..., nullptr};
  if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess)
    (void)::cudaLaunchKernel(reinterpret_cast<const void*>(self), grid, block, addresses, shared,
                             stream);
}

}  // namespace rs_cuda

// cuda_runtime.h gives these to nvcc alone. Without them a variable that is a pointer would be
// passed by its value instead of its address.
template <typename T>
inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t count,
                                      size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return ::cudaMemcpyToSymbol(static_cast<const void*>(&symbol), from, count, offset, kind);
}
template <typename T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t count,
                                           size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                           cudaStream_t stream = nullptr) {
  return ::cudaMemcpyToSymbolAsync(static_cast<const void*>(&symbol), from, count, offset, kind,
                                   stream);
}
template <typename T>
inline cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t count, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return ::cudaMemcpyFromSymbol(to, static_cast<const void*>(&symbol), count, offset, kind);
}
template <typename T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t count,
                                             size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                             cudaStream_t stream = nullptr) {
  return ::cudaMemcpyFromSymbolAsync(to, static_cast<const void*>(&symbol), count, offset, kind,
                                     stream);
}
template <typename T>
inline cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  return ::cudaGetSymbolAddress(address, static_cast<const void*>(&symbol));
}
template <typename T>
inline cudaError_t cudaGetSymbolSize(size_t* size, const T& symbol) {
  return ::cudaGetSymbolSize(size, static_cast<const void*>(&symbol));
}
template <typename T>
inline cudaError_t cudaFuncSetAttribute(T* function, cudaFuncAttribute attribute, int value) {
  return ::cudaFuncSetAttribute(reinterpret_cast<const void*>(function), attribute, value);
}
template <typename T>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* function) {
  return ::cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(function));
}
template <typename T>
inline cudaError_t cudaFuncSetCacheConfig(T* function, cudaFuncCache config) {
  return ::cudaFuncSetCacheConfig(reinterpret_cast<const void*>(function), config);
}

// nvcc's global min and max, overload for overload, and its host versions of rsqrt.
#define RS_PAIR(R, A, B, MIN, MAX)                                              \
  inline R min(A a, B b) { return MIN(static_cast<R>(a), static_cast<R>(b)); }  \
  inline R max(A a, B b) { return MAX(static_cast<R>(a), static_cast<R>(b)); }
#define RS_PAIRS(U, S)                  \
  RS_PAIR(S, S, S, std::min, std::max)  \
  RS_PAIR(U, U, U, std::min, std::max)  \
  RS_PAIR(U, S, U, std::min, std::max)  \
  RS_PAIR(U, U, S, std::min, std::max)
RS_PAIRS(unsigned int, int)
RS_PAIRS(unsigned long, long)
RS_PAIRS(unsigned long long, long long)
RS_PAIR(float, float, float, std::fmin, std::fmax)
RS_PAIR(double, double, double, std::fmin, std::fmax)
RS_PAIR(double, float, double, std::fmin, std::fmax)
RS_PAIR(double, double, float, std::fmin, std::fmax)
#undef RS_PAIRS
#undef RS_PAIR
inline double rsqrt(double a) { return 1.0 / std::sqrt(a); }
inline float rsqrtf(float a) { return static_cast<float>(rsqrt(static_cast<double>(a))); }
inline float rsqrt(float a) { return rsqrtf(a); }

// Members for both sides may call these in text that the host never runs; nvcc's own host pass
// has them end the process.
#define RS_DEVICE_ONLY(R, name, ...) \
  inline R name(__VA_ARGS__) { __builtin_trap(); }
RS_DEVICE_ONLY(float, __expf, float)
RS_DEVICE_ONLY(float, __exp10f, float)
RS_DEVICE_ONLY(float, __logf, float)
RS_DEVICE_ONLY(float, __log2f, float)
RS_DEVICE_ONLY(float, __log10f, float)
RS_DEVICE_ONLY(float, __sinf, float)
RS_DEVICE_ONLY(float, __cosf, float)
RS_DEVICE_ONLY(float, __tanf, float)
RS_DEVICE_ONLY(float, __powf, float, float)
RS_DEVICE_ONLY(float, __fdividef, float, float)
RS_DEVICE_ONLY(float, __saturatef, float)
RS_DEVICE_ONLY(float, __frcp_rn, float)
RS_DEVICE_ONLY(float, __fsqrt_rn, float)
RS_DEVICE_ONLY(float, __frsqrt_rn, float)
RS_DEVICE_ONLY(float, __fmul_rn, float, float)
RS_DEVICE_ONLY(float, __fadd_rn, float, float)
RS_DEVICE_ONLY(float, __fmaf_rn, float, float, float)
RS_DEVICE_ONLY(void, __syncthreads)
template <typename T>
RS_DEVICE_ONLY(T, __ldg, const T*)
#undef RS_DEVICE_ONLY
