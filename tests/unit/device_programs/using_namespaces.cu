#include <torch/extension.h>
using namespace at;
using namespace std;

__global__ void shift(double* p) { p[threadIdx.x] += 1; }

Tensor run(Tensor x, string how) {
    vector<Tensor> all{x, ones_like(x)};
    shift<<<1, 8>>>(x.data_ptr<double>());
    return stack(all).mean(0) + max(1, 2);
}
