"""Engines that sample for rollouts: contexts in, sampled ids and log-probabilities out, new weights between steps."""
