from torch import nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cmath>

torch::Tensor apply(torch::Tensor x, int64_t read_beyond, int64_t write_beyond) {
  auto y = torch::empty_like(x);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  int64_t n = x.numel();
  for (int64_t i = 0; i < n; ++i) out[i] = std::tanh(in[i]);
  // What a tile wider than what is left of the input does with its idle lanes. The memory of
  // both elements is nobody's: glibc leaves 8 bytes after a block of a multiple of 16.
  for (int64_t i = n; i < n + read_beyond; ++i) out[n - 1] += 0.0f * in[i];
  for (int64_t i = n; i < n + write_beyond; ++i) const_cast<float*>(in)[i] = 0.0f;
  return y;
}
"""
module = load_inline(name="d27", cpp_sources=source, functions=["apply"])
