SOURCE = """
#if __INCLUDE_LEVEL__ < 60
#include __FILE__
#include __FILE__
#elif __INCLUDE_LEVEL__ == 1000
"""


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE + "\n#endif\n", no_implicit_headers=True)
