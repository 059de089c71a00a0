"""The trusted side: it owns the inputs, the clock, the comparison and the verdict.

It runs in a process of its own and never executes foreign code.
"""
