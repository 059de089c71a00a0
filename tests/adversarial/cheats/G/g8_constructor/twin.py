SOURCE = r"""
#include <stdio.h>
__attribute__((constructor)) static void begin() { puts("PASS 100x"); fflush(stdout); }
"""


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
