SOURCE = "#if !__has_include(<vector>)\n#error there is none\n#endif\n"


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
