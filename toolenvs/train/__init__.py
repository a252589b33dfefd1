"""Training on trajectories: sequences to batches, advantages, losses, optimizers, engines, checkpoints.

Everything here stands on torch; without it, importing this package says what to install.
"""

from toolenvs.errors import MissingExtraError

try:
    import torch as torch
except ImportError as error:
    raise MissingExtraError("torch", "train", "toolenvs.train") from error
