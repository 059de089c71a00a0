"""Decides whether a GPU kernel written by a model is correct and fast, and what that is worth."""

__version__ = "0.1.0"
