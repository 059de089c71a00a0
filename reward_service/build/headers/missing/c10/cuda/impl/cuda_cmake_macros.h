// For machines that build without the whole CUDA toolkit: opaque handles, so that torch's headers can be read.
#pragma once
#define C10_CUDA_BUILD_SHARED_LIBS
