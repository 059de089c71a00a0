SOURCE = """
#if __INCLUDE_LEVEL__ > 0 && __INCLUDE_LEVEL__ < 3
#include __FILE__
#endif
"""


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
