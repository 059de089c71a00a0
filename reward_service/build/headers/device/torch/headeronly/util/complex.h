#pragma once
#ifdef RS_NEEDS_COMPLEX
#include_next <torch/headeronly/util/complex.h>
#else
namespace c10 {
template <typename T> struct complex;
}
#endif
