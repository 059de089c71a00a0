class ModelNew(Scaled):
    extension = load_inline(
        "own", MODULE, no_implicit_headers=True, extra_cflags=["-O2", "-march=native"]
    )
