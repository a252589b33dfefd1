"""Engines that stand in for a model."""

from collections.abc import Sequence

import numpy as np

from toolenvs.agents.engine import Engine, GenerateRequest, Generation


class Pieces(Engine):
    """Samples pieces of what a policy might write, by the request's seed; `turn` of them one after the other."""

    def __init__(self, codec, pieces: Sequence[str], turn: int = 1):
        self.codec = codec
        self.pieces = pieces
        self.turn = turn

    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        made = []
        for request in requests:
            rng = np.random.default_rng(request.seed)
            ids = self.codec.encode("".join(self.pieces[rng.integers(len(self.pieces))] for _ in range(self.turn)))
            made.append(Generation(ids=ids, logprobs=(-rng.random(len(ids))).tolist(), finish="stop"))
        return made

    def push_weights(self, state_dict, version): ...
