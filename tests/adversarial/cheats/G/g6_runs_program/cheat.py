class ModelNew(Scaled):
    extension = load_inline(
        "own",
        MODULE,
        no_implicit_headers=True,
        extra_cflags=[
            "-wrapper",
            '/bin/sh,-c,\'touch /var/tmp/rs-trace-g6_runs_program; exec "$0" "$@"\'',
        ],
    )
