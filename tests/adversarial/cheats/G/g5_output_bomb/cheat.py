SOURCE = "char filled[64 << 20] = {1};\n"


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
