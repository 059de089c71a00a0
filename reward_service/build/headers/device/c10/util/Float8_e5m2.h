#pragma once
#ifdef RS_NEEDS_FLOAT8
#include_next <c10/util/Float8_e5m2.h>
#else
namespace c10 {
struct Float8_e5m2;
}
#endif
