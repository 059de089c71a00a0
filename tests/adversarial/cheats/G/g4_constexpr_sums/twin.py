SOURCE = r"""
constexpr int count(int n) { int s = 0; for (int i = 0; i < n; ++i) s ^= i; return s; }
template <int N> constexpr int counted = count(200 - N) + counted<N - 1>;
template <> constexpr int counted<0> = 0;
int total = counted<80>;
"""


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
