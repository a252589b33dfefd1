"""Training on trajectories: sequences to batches, advantages, losses, optimizers, engines, checkpoints."""
