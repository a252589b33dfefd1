"""How the next tokens of running rows are drawn from their logits.

Shapes: B rows, V vocabulary, N tokens that a row may have at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from toolenvs.agents.engine import GenerateRequest


@dataclass(slots=True)
class Drawing:
    """Settings and random numbers of each row: a row's draws do not depend on who else is in the batch."""

    temperatures: Tensor
    """1 where the most likely token is taken, [B, 1]."""
    greedy: Tensor | None
    """Whether it is; None where it never is, [B]."""
    top_p: Tensor | None
    """None where no row cuts anything off, [B]."""
    uniforms: Tensor
    """A number in [0, 1) for each token, [B, N]."""
    drawn: int = 0
    """Tokens that each row has."""

    @classmethod
    def of(cls, requests: Sequence[GenerateRequest], device: torch.device) -> "Drawing":
        """That of rows whose first token is next."""
        uniforms = torch.zeros(len(requests), max(request.max_new_tokens for request in requests), dtype=torch.double)
        for row, request in zip(uniforms, requests, strict=True):
            size = request.max_new_tokens
            row[:size] = torch.from_numpy(np.random.default_rng(request.seed).random(size))
        top_p = torch.tensor([request.top_p for request in requests], device=device)
        greedy = torch.tensor([request.temperature == 0 for request in requests], device=device)
        return cls(
            temperatures=torch.tensor([[request.temperature or 1.0] for request in requests], device=device),
            greedy=greedy if bool(greedy.any()) else None,
            top_p=top_p if bool((top_p < 1).any()) else None,
            uniforms=uniforms.to(device),
        )

    def select(self, rows: Tensor) -> None:
        """Go on with these rows only."""
        self.temperatures, self.uniforms = self.temperatures[rows], self.uniforms[rows]
        self.greedy = None if self.greedy is None else self.greedy[rows]
        self.top_p = None if self.top_p is None else self.top_p[rows]

    def draw(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """One more token for each row, from logits [B, V]; the tokens and their log-probabilities, both [B]."""
        logprobs = torch.log_softmax(logits / self.temperatures, dim=-1)  # [B, V]
        probabilities = logprobs.double().exp()
        if self.top_p is not None:
            probabilities = _nucleus(probabilities, self.top_p)
        cumulative = probabilities.cumsum(-1)
        thresholds = self.uniforms[:, self.drawn, None] * cumulative[:, -1:]
        # The first token whose cumulative probability exceeds the draw, which is never one of probability 0.
        tokens = torch.searchsorted(cumulative, thresholds, right=True).squeeze(-1).clamp(max=logits.shape[-1] - 1)
        if self.greedy is not None:
            tokens = torch.where(self.greedy, logits.argmax(-1), tokens)
        self.drawn += 1
        return tokens, logprobs.gather(-1, tokens[:, None]).squeeze(-1)


def _nucleus(probabilities: Tensor, top_p: Tensor) -> Tensor:
    """Probabilities [B, V] with all but the fewest tokens that hold `top_p` [B] of the mass set to 0."""
    ordered, order = probabilities.sort(dim=-1, descending=True)
    before = ordered.cumsum(-1) - ordered
    ordered = torch.where(before < top_p[:, None], ordered, torch.zeros_like(ordered))
    return torch.zeros_like(probabilities).scatter(-1, order, ordered)
