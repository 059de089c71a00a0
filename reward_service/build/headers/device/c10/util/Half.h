#pragma once
#ifdef RS_NEEDS_HALF
#include_next <c10/util/Half.h>
#else
namespace c10 {
struct Half;
}
#endif
