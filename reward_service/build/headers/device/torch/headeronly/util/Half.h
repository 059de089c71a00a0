#pragma once
#ifdef RS_NEEDS_HALF
#include_next <torch/headeronly/util/Half.h>
#else
namespace c10 {
struct Half;
}
#endif
