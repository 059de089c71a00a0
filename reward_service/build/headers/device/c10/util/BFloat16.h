#pragma once
#ifdef RS_NEEDS_BFLOAT16
#include_next <c10/util/BFloat16.h>
#else
namespace c10 {
struct BFloat16;
}
#endif
