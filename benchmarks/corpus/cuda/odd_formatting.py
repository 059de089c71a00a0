"""Comments inside launches, launches over many lines, `<<<` in strings and comments, raw strings."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("odd_formatting",)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>

/* not a launch: kernel<<<1, 1>>>(x); */
// nor is this: kernel<<<grid, block>>>(x, y);
__global__
void
odd_kernel(
    const float *x ,   // the input
    float       *y ,   /* the output, <<<here>>> */
    int          n
)
{
    const char quote = '"'; const char brace = '{';
    int i = blockIdx . x * blockDim . x + threadIdx . x ;
    if ( i < n ) { y [ i ] = x [ i ] + float ( quote - brace ) ; }
}

template<typename T>__global__ void tight(T*x,int n){int i=threadIdx.x+blockIdx.x*blockDim.x;if(i<n)x[i]=-x[i];}

static const char* raw = R"cuda(
    odd_kernel<<<1, 1>>>(nullptr, nullptr, 0);  // "only text" }}}
)cuda";

torch::Tensor odd(torch::Tensor x) {
    auto y = torch::empty_like(x); int n = x.numel();
    const char* text = "odd_kernel<<<1, 2>>>(\"x\"); // }";
    TORCH_CHECK(text[0] == 'o' && raw[0] == '\n', "strings <<<changed>>>");
    odd_kernel
        <<<
            dim3( ( n + 255 ) / 256 , 1 , 1 ) ,  // blocks
            dim3( 256 ) /* threads, in
                           one dimension */
        >>>
        (
            x.data_ptr<float>() ,
            y.data_ptr<float>() , /* n: */ n
        ) ;
    tight<float><<<(n+255)/256,256>>>(y.data_ptr<float>(),n);tight<<<(n + 255) >> 8, 1 << 8>>>(y.data_ptr<float>(), n);
	if (n > 1'000'000) { tight<float> <<< 1, 1 >>> (y.data_ptr<float>(), n); } else
	tight < float > <<<(n+255)/256, 256, 0 , ( cudaStream_t ) 0>>> ( y.data_ptr < float > ( ) , n );
    return y;
}
"""

cpp_source = "torch::Tensor odd(torch::Tensor x);"

ext = load_inline(
    name="odd_formatting", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["odd"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.odd(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
