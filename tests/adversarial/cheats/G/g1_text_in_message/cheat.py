SOURCE = r"""
#include "/var/tmp/rs-secret-g1_text_in_message"
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
#pragma message("the secret is " TEXT(ANSWER))
"""


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
