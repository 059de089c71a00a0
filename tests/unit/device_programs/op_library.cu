#include <torch/library.h>
#include <torch/all.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void twice(float* p) { p[threadIdx.x] *= 2; }

at::Tensor apply(const at::Tensor& x) {
    at::Tensor y = x.clone();
    twice<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(y.data_ptr<float>());
    return y;
}

TORCH_LIBRARY(mine, m) { m.def("apply(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(mine, CUDA, m) { m.impl("apply", &apply); }
