#pragma once
#ifdef RS_NEEDS_FLOAT8
#include_next <torch/headeronly/util/Float8_e8m0fnu.h>
#else
namespace c10 {
struct Float8_e8m0fnu;
}
#endif
