SOURCE = """
#if __INCLUDE_LEVEL__ < 12
#include __FILE__
#include __FILE__
#else
#warning flood
#endif
#if __INCLUDE_LEVEL__ == 0
"""


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE + "\n#endif\n", no_implicit_headers=True)
