// The number types: torch's own definition where the source needs it, else only the name.
#pragma once
#include <c10/macros/Macros.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e4m3fnuz.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Float8_e5m2fnuz.h>
#include <c10/util/Float8_e8m0fnu.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>

namespace c10 {
struct qint8;
struct quint8;
struct qint32;
struct quint4x2;
struct quint2x4;
struct bits1x8;
struct bits2x4;
struct bits4x2;
struct bits8;
struct bits16;
struct Float4_e2m1fn_x2;
} // namespace c10
