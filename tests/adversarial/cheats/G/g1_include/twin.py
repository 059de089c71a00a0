SOURCE = "#include <vector>\n#define ANSWER 1\nint leak = ANSWER;\n"


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
