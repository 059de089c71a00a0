#include <torch/extension.h>
#include <functional>
#include <unordered_map>

namespace {
template <typename F>
__global__ void apply(const float* x, float* y, int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = f(x[i]);
}
struct Square {
    __device__ float operator()(float v) const { return v * v; }
};
}  // namespace

static __global__ void negate(float* x) { x[threadIdx.x] = -x[threadIdx.x]; }

#define LAUNCH(K, ...) K<<<1, 32>>>(__VA_ARGS__)

void run(at::Tensor x, std::function<void(int)> report) {
    std::unordered_map<int, int> seen;
    seen[1] = 2;
    apply<<<1, 32>>>(x.data_ptr<float>(), x.data_ptr<float>(), 32, Square());
    LAUNCH(negate, x.data_ptr<float>());
    report(seen[1]);
}
