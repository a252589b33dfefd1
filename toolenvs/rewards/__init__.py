"""Rewards: judges of correctness, and the terms that a reward is the sum of."""
