"""Turns a candidate's extension calls into modules: the artifact cache, then the stock rung.

stage      what the rest of the service calls: Submission -> Built | Finding
stock      the sources, flags and commands that torch's own `load_inline` would use
compile    runs the commands in the sandbox and says why they failed
flags      which of a candidate's own flags reach a compiler
toolchain  what this machine compiles with
store      the artifact store; `key` is what an artifact is found by
"""
