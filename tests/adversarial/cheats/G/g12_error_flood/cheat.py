SOURCE = """
#if __INCLUDE_LEVEL__ < 25
#include __FILE__
#include __FILE__
#endif
int x = nonsense;
#if __INCLUDE_LEVEL__ == 0
"""


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE + "\n#endif\n", no_implicit_headers=True)
