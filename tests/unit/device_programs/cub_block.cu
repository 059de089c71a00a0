#include <torch/extension.h>
#include <cub/cub.cuh>

template <typename T, int B>
__global__ void block_sum(const T* x, T* out, int n) {
    using Reduce = cub::BlockReduce<T, B>;
    __shared__ typename Reduce::TempStorage storage;
    T v = 0;
    for (int i = threadIdx.x; i < n; i += B) v += x[blockIdx.x * n + i];
    T total = Reduce(storage).Sum(v);
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}

torch::Tensor sum_rows(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "sum_rows", [&] {
        block_sum<scalar_t, 128><<<x.size(0), 128>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.size(1));
    });
    return out;
}
