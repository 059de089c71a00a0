from torch import nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void work(float* x, float* y, int n, int read_beyond, int write_beyond) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float value = tanhf(x[i]);
    // What a tile wider than what is left of the input does with its idle lanes.
    if (i == n - 1)
      for (int j = n; j < n + read_beyond; ++j) value += 0.0f * x[j];
    y[i] = value;
  } else if (i < n + write_beyond) {
    x[i] = 0.0f;
  }
}

torch::Tensor apply(torch::Tensor x, int64_t read_beyond, int64_t write_beyond) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  work<<<n / 256 + 1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), n, read_beyond, write_beyond);
  return y;
}
"""
module = load_inline(
    name="d27",
    cpp_sources="torch::Tensor apply(torch::Tensor x, int64_t read_beyond, int64_t write_beyond);",
    cuda_sources=source,
    functions=["apply"],
)
