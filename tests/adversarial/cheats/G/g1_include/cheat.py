SOURCE = '#include "/var/tmp/rs-secret-g1_include"\nint leak = ANSWER;\n'


class ModelNew(Scaled):
    extension = load_inline("own", SOURCE + MODULE, no_implicit_headers=True)
