SOURCE = "char filled[64 << 10] = {1};\n"


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
