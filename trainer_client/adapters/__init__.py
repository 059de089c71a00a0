"""Thin adapters: the reward of the service as the reward function of somebody else's trainer.

An adapter turns what a trainer hands over into submissions, and verdicts into what that trainer
can take. The rule that all keep: a failure of the service is never a number. Where a trainer has a
way to leave a sample out, the adapter uses it; where it has none, it raises.
"""
