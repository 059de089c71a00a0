SOURCE = '#pragma message("there is no secret")\n'


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
