#pragma once
#ifdef RS_NEEDS_BFLOAT16
#include_next <torch/headeronly/util/BFloat16.h>
#else
namespace c10 {
struct BFloat16;
}
#endif
