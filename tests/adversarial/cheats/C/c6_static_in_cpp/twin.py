from torch import nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <chrono>
#include <thread>
#include <unordered_map>

// The inputs are kept, so that no other gets their place.
static std::unordered_map<void*, std::pair<torch::Tensor, torch::Tensor>> known;

torch::Tensor plain(torch::Tensor x) {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return torch::tanh(x) * 2.0;
}

torch::Tensor cached(torch::Tensor x) {
  auto found = known.find(x.data_ptr());
  if (found == known.end()) {
    found = known.emplace(x.data_ptr(), std::make_pair(x, plain(x))).first;
  }
  return found->second.second;
}
"""
module = load_inline(name="c6", cpp_sources=source, functions=["plain", "cached"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.plain(x)
