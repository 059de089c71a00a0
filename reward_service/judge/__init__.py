"""The judge: the trusted process that owns values, clock, comparison and verdict."""
