#include <torch/types.h>

template <typename scalar_t, typename index_t>
__global__ void gather(const scalar_t* x, const index_t* index, scalar_t* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[index[i]];
}

torch::Tensor take(const torch::Tensor& x, const torch::Tensor& index) {
    auto out = torch::empty(index.sizes(), x.options());
    AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Bool, x.scalar_type(), "take", [&] {
        AT_DISPATCH_INDEX_TYPES(index.scalar_type(), "take_index", [&] {
            gather<scalar_t, index_t><<<1, 64>>>(x.data_ptr<scalar_t>(), index.data_ptr<index_t>(),
                                                 out.data_ptr<scalar_t>(), index.numel());
        });
    });
    AT_DISPATCH_SWITCH(x.scalar_type(), "more",
        AT_DISPATCH_CASE_FLOATING_TYPES([&] {
            gather<scalar_t, int16_t><<<1, 1>>>(nullptr, nullptr, out.data_ptr<scalar_t>(), 0);
        })
        AT_DISPATCH_CASE(at::kByte, [&] {
            gather<scalar_t, int8_t><<<1, 1>>>(nullptr, nullptr, out.data_ptr<scalar_t>(), 0);
        }));
    return out;
}
