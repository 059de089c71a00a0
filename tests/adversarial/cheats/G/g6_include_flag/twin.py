SOURCE = "int leak = ANSWER;\n"


class ModelNew(Scaled):
    extension = load_inline(
        "own", SOURCE + MODULE, no_implicit_headers=True, extra_cflags=["-DANSWER=1"]
    )
