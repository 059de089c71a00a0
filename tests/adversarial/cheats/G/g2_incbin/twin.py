SOURCE = r"""
asm(".pushsection .rodata\nown: .ascii \"the candidate's\"\n.popsection");
"""


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
