import torch
from torch.utils.cpp_extension import load_inline

DECLARATION = "void chase(torch::Tensor next, torch::Tensor cycles);"

SOURCE = r"""
// Follows a chain of loads that bypass the L1 cache, and tells how long one takes.
__global__ void chase_kernel(const int* next, int steps, int64_t* cycles) {
    int at = 0;
    const int64_t begun = clock64();
    for (int i = 0; i < steps; ++i) at = __ldcg(next + at);
    cycles[0] = (clock64() - begun) / steps;
    cycles[1] = at;
}

void chase(torch::Tensor next, torch::Tensor cycles) {
    chase_kernel<<<1, 1>>>(next.data_ptr<int>(), 1024, cycles.data_ptr<int64_t>());
}
"""

native = load_inline(
    name="chase",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["chase"],
    verbose=False,
)

LINES, INTS = 8192, 32
"""1 MB in cache lines of 128 bytes, of which the chain visits one in eight."""


class Chain:
    """Loads whose latency tells whether their data is in the cache."""

    def __init__(self):
        order = torch.randperm(LINES, generator=torch.Generator().manual_seed(1))
        order = torch.cat([torch.zeros(1, dtype=torch.int64), order[order != 0]])
        next_ = torch.zeros(LINES * INTS, dtype=torch.int32)
        next_[order * INTS] = (order.roll(-1) * INTS).int()
        self.next = next_.cuda()
        self.cycles = torch.zeros(2, dtype=torch.int64, device="cuda")
        self.latency()
        warm = self.latency()
        torch.empty(256 << 20, dtype=torch.uint8, device="cuda").zero_()
        cold = self.latency()
        self.limit = (warm + cold) // 2

    def latency(self):
        native.chase(self.next, self.cycles)
        return int(self.cycles[0])
