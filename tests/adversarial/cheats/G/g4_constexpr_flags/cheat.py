SOURCE = r"""
constexpr long count(long n) { long s = 0; for (long i = 0; i < n; ++i) s ^= i; return s; }
constexpr long counted = count(1L << 40);
"""


class ModelNew(Scaled):
    extension = load_inline(
        "own",
        SOURCE + MODULE,
        no_implicit_headers=True,
        extra_cflags=[
            "-fconstexpr-ops-limit=9223372036854775807",
            "-fconstexpr-loop-limit=2147483647",
        ],
    )
