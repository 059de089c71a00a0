SOURCE = """
#if __INCLUDE_LEVEL__ > 0
int x = nonsense;
#endif
"""


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
