#include <torch/extension.h>

template <typename T>
__global__ void put(T value, long long* out) { *out = static_cast<long long>(value) + sizeof(T); }

// Kernels are instantiated by the types of what torch returns.
void run(torch::Tensor x, long long* out) {
    put<<<1, 1>>>(x.size(0), out);
    put<<<1, 1>>>(x.dim(), out);
    put<<<1, 1>>>(x.element_size(), out);
    put<<<1, 1>>>(x.itemsize(), out);
    put<<<1, 1>>>(x.get_device(), out);
    put<<<1, 1>>>(x.item<float>(), out);
    put<<<1, 1>>>(x.sizes().size(), out);
    put<<<1, 1>>>(x.strides()[0], out);
    put<<<1, 1>>>(x.is_contiguous(), out);
    put<<<1, 1>>>(x.item().toDouble(), out);
    put<<<1, 1>>>(x.nbytes(), out);
    put<<<1, 1>>>((int)x.scalar_type(), out);
}
