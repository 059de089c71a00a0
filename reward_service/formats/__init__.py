"""What candidates look like, and how their extensions are lifted out of them.

`kernelbench` reads the calls of `load_inline` and `load` off the source where all they are given
is literal (`literals`, `scopes`); `record` runs the module level in the sandbox for the rest;
`extension_call` is one such call as data, and the key by which the runner finds the module that
was built for it.
"""
