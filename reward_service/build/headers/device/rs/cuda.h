// Streams, guards, the allocator and the context.
#pragma once
#include <rs/functions.h>
#ifdef RS_NEEDS_CUBLAS
#include <cublas_v2.h>
#include <cublasLt.h>
#endif

#ifndef RS_NEEDS_CUBLAS
struct cublasContext;
struct cublasLtContext;
typedef struct cublasContext* cublasHandle_t;
typedef struct cublasLtContext* cublasLtHandle_t;
#endif
typedef struct cusparseContext* cusparseHandle_t;
typedef struct cusolverDnContext* cusolverDnHandle_t;

namespace c10 {
struct Stream {
  RS_LAYOUT(8, 16)
  Device device() const noexcept;
  DeviceType device_type() const noexcept;
  DeviceIndex device_index() const noexcept;
  StreamId id() const noexcept;
  void synchronize() const;
};
struct DataPtr {
  RS_LAYOUT(8, 32)
  void* get() const;
  void* operator->() const;
  void clear();
  Device device() const;
  explicit operator bool() const;
};
struct Allocator {
  DataPtr allocate(size_t);
  void* raw_allocate(size_t);
  void raw_deallocate(void*);
};

namespace cuda {
class CUDAStream {
  RS_LAYOUT(8, 16)

 public:
  enum Unchecked { UNCHECKED };
  explicit CUDAStream(Stream);
  explicit CUDAStream(Unchecked, Stream);
  bool operator==(const CUDAStream&) const noexcept;
  bool operator!=(const CUDAStream&) const noexcept;
  operator cudaStream_t() const;
  operator Stream() const;
  DeviceType device_type() const;
  DeviceIndex device_index() const;
  Device device() const;
  StreamId id() const;
  bool query() const;
  void synchronize() const;
  int priority() const;
  cudaStream_t stream() const;
  Stream unwrap() const;
};
CUDAStream getStreamFromPool(const bool = false, DeviceIndex = -1);
CUDAStream getStreamFromPool(const int, DeviceIndex = -1);
CUDAStream getStreamFromExternal(cudaStream_t, DeviceIndex);
CUDAStream getDefaultCUDAStream(DeviceIndex = -1);
CUDAStream getCurrentCUDAStream(DeviceIndex = -1);
void setCurrentCUDAStream(CUDAStream);

struct CUDAEvent {
  CUDAEvent() noexcept;
  explicit CUDAEvent(unsigned int) noexcept;
  CUDAEvent(CUDAEvent&&) noexcept;
  CUDAEvent& operator=(CUDAEvent&&) noexcept;
  ~CUDAEvent();
  operator cudaEvent_t() const;
  std::optional<Device> device() const;
  bool isCreated() const;
  DeviceIndex device_index() const;
  cudaEvent_t event() const;
  bool query() const;
  void record();
  void recordOnce(const CUDAStream&);
  void record(const CUDAStream&);
  void block(const CUDAStream&);
  float elapsed_time(const CUDAEvent&) const;
  void synchronize() const;
};

struct CUDAGuard {
  explicit CUDAGuard(DeviceIndex);
  explicit CUDAGuard(Device);
  CUDAGuard(const CUDAGuard&) = delete;
  ~CUDAGuard();
  void set_device(Device);
  void reset_device(Device);
  void set_index(DeviceIndex);
  Device original_device() const;
  Device current_device() const;
};
struct OptionalCUDAGuard {
  explicit OptionalCUDAGuard();
  explicit OptionalCUDAGuard(std::optional<Device>);
  explicit OptionalCUDAGuard(std::optional<DeviceIndex>);
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  ~OptionalCUDAGuard();
  void set_device(Device);
  void reset_device(Device);
  void set_index(DeviceIndex);
  void reset();
};
struct CUDAStreamGuard {
  explicit CUDAStreamGuard(Stream);
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  ~CUDAStreamGuard();
  void reset_stream(Stream);
  CUDAStream original_stream() const;
  CUDAStream current_stream() const;
};

DeviceIndex device_count() noexcept;
DeviceIndex device_count_ensure_non_zero();
DeviceIndex current_device();
void set_device(DeviceIndex, const bool = false);
void device_synchronize();
cudaError_t GetDevice(DeviceIndex*);
cudaError_t GetDeviceCount(int*);
cudaError_t SetDevice(DeviceIndex, const bool = false);
void c10_cuda_check_implementation(
    const int32_t, const char*, const char*, const uint32_t, const bool);

namespace CUDACachingAllocator {
struct CUDAAllocator : Allocator {
  void* raw_alloc(size_t);
  void* raw_alloc_with_stream(size_t, cudaStream_t);
  void raw_delete(void*);
  void emptyCache();
  void recordStream(const DataPtr&, CUDAStream);
};
CUDAAllocator* get();
void* raw_alloc(size_t);
void* raw_alloc_with_stream(size_t, cudaStream_t);
void raw_delete(void*);
void emptyCache();
void recordStream(const DataPtr&, CUDAStream);
} // namespace CUDACachingAllocator
} // namespace cuda
} // namespace c10

namespace at {
using c10::Allocator;
using c10::DataPtr;
using c10::Stream;
namespace cuda {
int64_t getNumGPUs();
bool is_available();
int warp_size();
cudaDeviceProp* getCurrentDeviceProperties();
cudaDeviceProp* getDeviceProperties(c10::DeviceIndex);
bool canDeviceAccessPeer(c10::DeviceIndex, c10::DeviceIndex);
c10::Allocator* getCUDADeviceAllocator();
cusparseHandle_t getCurrentCUDASparseHandle();
cublasHandle_t getCurrentCUDABlasHandle(bool = true);
cublasLtHandle_t getCurrentCUDABlasLtHandle();
cusolverDnHandle_t getCurrentCUDASolverDnHandle();
size_t getCUDABlasLtWorkspaceSize();
void* getCUDABlasLtWorkspace();
} // namespace cuda
} // namespace at

#define C10_CUDA_CHECK(EXPR) \
  do { \
    const cudaError_t rs_error = EXPR; \
    c10::cuda::c10_cuda_check_implementation( \
        static_cast<int32_t>(rs_error), __FILE__, __func__, static_cast<uint32_t>(__LINE__), true); \
  } while (0)
#define C10_CUDA_CHECK_WARN(EXPR) C10_CUDA_CHECK(EXPR)
#define C10_CUDA_ERROR_HANDLED(EXPR) EXPR
#define C10_CUDA_IGNORE_ERROR(EXPR) \
  do { \
    [[maybe_unused]] const cudaError_t rs_error = EXPR; \
  } while (0)
#define C10_CUDA_CLEAR_ERROR() \
  do { \
    [[maybe_unused]] cudaError_t rs_error = cudaGetLastError(); \
  } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
#define TORCH_CUDABLAS_CHECK(EXPR) \
  do { \
    cublasStatus_t rs_status = EXPR; \
    TORCH_CHECK(rs_status == CUBLAS_STATUS_SUCCESS, "cuBLAS error"); \
  } while (0)
