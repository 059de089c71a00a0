// The types and tags that signatures and aliases may name; device code alone has fragments.
#pragma once

namespace nvcuda {
namespace wmma {
struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
namespace precision {
struct u4;
struct s4;
struct b1;
struct tf32;
}  // namespace precision
enum layout_t { mem_row_major, mem_col_major };
template <typename Use, int M, int N, int K, typename T, typename Layout = void>
class fragment;
}  // namespace wmma
}  // namespace nvcuda
