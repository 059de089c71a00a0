"""The only code that shares a process with foreign code.

Nothing here decides anything: a candidate can change every object in its own process, this
package included. It imports nothing of `judge/`.
"""
