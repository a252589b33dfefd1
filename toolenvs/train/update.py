"""The policy's update: one rollout, cut into mini-batches for the optimizer and micro-batches for memory.

Where several processes train (ranks.py), each has the whole rollout and a share of the micro-batches; sums over them
are over all processes' micro-batches.

Shapes: B sequences, T tokens.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.tokens import Mask
from toolenvs.train import policy_losses, ranks
from toolenvs.train.batching import Batch
from toolenvs.train.corrections import sampling_correction
from toolenvs.train.episodes import EpisodeRows
from toolenvs.train.ewma import Ewma
from toolenvs.train.forward import ForwardSettings, evaluating, micro_batches
from toolenvs.train.kl import kl_per_token
from toolenvs.train.losses import Denominator, aggregate, token_mean
from toolenvs.train.mismatch import mismatch
from toolenvs.train.optim import Optimizers
from toolenvs.train.overlong import overlong_penalty, without_overlong
from toolenvs.train.scoring import score
from toolenvs.train.streams import generator

_KL_FROM = ("initial", "old")
_KL_PLACES = ("loss", "reward")


@dataclass(frozen=True, kw_only=True)
class UpdateSettings(ForwardSettings):
    """How a batch becomes an update of the policy."""

    seed: int = 0
    """Seed of the order of tasks, of sampling and of the mini-batches."""
    temperature: float = 1.0
    """Of sampling; the trainer scores tokens at the same one."""
    policy_loss: str = "clip"
    """The loss of a token: a file in toolenvs/train/policy_losses."""
    aggregation: str = "token-mean"
    """How per-token losses are summed up: a key of losses.AGGREGATIONS."""
    constant_tokens: int | None = None
    """The length that `seq-mean-token-sum-norm` divides by."""
    clip_low: float = 0.2
    """How far the ratio may fall below 1."""
    clip_high: float = 0.28
    """How far the ratio may rise above 1."""
    dual_clip: float = 10.0
    """Bound of the loss where the advantage is negative, in units of it; 0 leaves it out."""
    m2_limit: float = 0.04
    """Of `m2po`: bound of the log-ratio's second moment."""
    ewma_decay: float = 0.9
    """Of `ppo_ewma`: how much of the proximal policy stays at each update."""
    kl_coef: float = 0.0
    """Weight of the divergence from another policy; 0 leaves it out."""
    kl_form: str = "k3"
    """Estimate of that divergence: a key of kl.FORMS."""
    kl_from: str = "initial"
    """What it is the divergence from: the "initial" policy, or the "old" one, which each rollout was sampled with."""
    kl_place: str = "loss"
    """Where it is added: to the "loss", or as a cost to each token's "reward"."""
    entropy_coef: float = 0.0
    """Weight of the entropy bonus, which keeps distributions wide."""
    lm_coef: float = 0.0
    """Weight of VAPO's loss on positive examples: -log p of the tokens of episodes that were right."""
    overlong_cache_tokens: int = 0
    """DAPO's soft overlong penalty: tokens below `overlong_max_tokens` over which the fine grows; 0 leaves it out."""
    overlong_max_tokens: int = 20480
    """The policy's tokens from which on the fine is whole."""
    overlong_factor: float = 1.0
    """The whole fine."""
    overlong_filter: bool = False
    """Whether episodes that a limit on length cut are left out of the loss (DAPO's overlong filtering)."""
    recompute_logprobs: bool = False
    """Whether the trainer scores the rollout before the first update, instead of trusting the engine's numbers."""
    correction: str = "token-cap"
    """Where they are recomputed: how trainer over engine weighs the loss, a key of corrections.FORMS."""
    correction_cap: float = 2.0
    """Where they are recomputed: bound of the importance weight between trainer and engine; 0 for no weights."""
    correction_reject: str = "none"
    """Which sequences are rejected by these weights: none, floor, geometric or product."""
    correction_window: float = 0.001
    """How far from 1 a sequence's weight may be, for `geometric` and `product`."""
    epochs: int = 1
    """Passes over each rollout."""
    mini_batches: int = 2
    """Updates that each pass over a rollout is cut into."""

    @property
    def needs_reference(self) -> bool:
        """Whether the initial policy must be kept."""
        own = "kl_coef" in policy_losses.needs(self.policy_loss)
        return bool(self.kl_coef) and self.kl_from == "initial" and not own


def rescore(settings: UpdateSettings, model: Any, batch: Batch) -> Tensor:
    """Log-probabilities [B, T] of the rollout's tokens under a model, without dropout."""
    rescored = torch.zeros_like(batch.logprobs)
    for part in micro_batches(model, batch, settings):
        found = _anchor(settings, model, part.batch)
        if not part.idle:
            rescored[part.index, : found.shape[1]] = found.to(rescored.dtype)
    return ranks.total(rescored)


def _anchor(settings: UpdateSettings, model: Any, part: Batch) -> Tensor:
    """Log-probabilities of a micro-batch under a model, without dropout and gradient, [b, t]."""
    with evaluating(model):
        return score(model, part, settings, temperature=settings.temperature).logprobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Updater:
    """A policy with all that its update reads: what a run makes once, and a script asks for each step's update.

    Raises:
        ConfigError: the divergence is from, or at, a place that there is not, or would cost nothing.
    """

    settings: UpdateSettings
    """Of the run."""
    model: Any
    """The policy in training."""
    optimizers: Optimizers
    """Of the policy."""
    reference: Any = None
    """The policy that the divergence is from, or None."""
    proximal: Ewma | None = None
    """Of the loss `ppo_ewma`, else None."""

    def __post_init__(self) -> None:
        settings = self.settings
        for name, known in (("kl_from", _KL_FROM), ("kl_place", _KL_PLACES)):
            value = getattr(settings, name)
            if value not in known:
                raise ConfigError(f"unknown {name} {value!r}; {did_you_mean(value, known)}")
        if settings.kl_coef and settings.kl_place == "reward" and settings.kl_from == "old":
            raise ConfigError(
                "kl_place = 'reward' with kl_from = 'old': a rollout is at no distance from what sampled it, "
                "so it would cost nothing; set kl_place to 'loss', or kl_from to 'initial'"
            )

    def rescore(self, batch: Batch) -> Tensor:
        """Log-probabilities [B, T] of a rollout's tokens under the policy as it is."""
        return rescore(self.settings, self.model, batch)

    def shape_rewards(self, batch: Batch, old_logprobs: Tensor) -> tuple[Batch, dict[str, float]]:
        """The batch with what training adds to its rewards: the overlong fine, and the divergence as a cost.

        Returns:
            The batch, and figures of it, by name: means over episodes of `overlong`, over tokens of `kl`; where
            log-probabilities are recomputed also those of mismatch.py.
        """
        settings, rewards = self.settings, batch.rewards
        added: dict[str, float] = {}
        if settings.recompute_logprobs:
            sampled = batch.mask.masked_fill(batch.off_policy[:, None], Mask.ENVIRONMENT)
            added |= mismatch(old_logprobs, batch.logprobs, sampled)
        if settings.overlong_cache_tokens:
            rows = EpisodeRows(batch)  # an episode is as long as its sequences together, and fined once
            fine = overlong_penalty(
                rows.join(batch.mask),
                max_tokens=settings.overlong_max_tokens,
                cache_tokens=settings.overlong_cache_tokens,
                factor=settings.overlong_factor,
            )
            rewards = rewards + rows.split(fine)
            added["overlong"] = float(fine.sum()) / len(fine)
        if self.reference is not None and settings.kl_place == "reward":
            anchor = rescore(settings, self.reference, batch)
            kl = kl_per_token(old_logprobs, anchor, batch.mask, settings.kl_form)
            rewards = rewards - settings.kl_coef * kl
            added["kl"] = float(kl.sum()) / Denominator.of(batch.mask).tokens
        return replace(batch, rewards=rewards), added

    def update(self, batch: Batch, old_logprobs: Tensor, advantages: Tensor, step: int) -> dict[str, float]:
        """All passes over the batch; returns what the updates looked like, token means over the batch.

        Nothing where no token is left to learn from, as where every episode is overlong: the policy stays as it is.

        Args:
            batch: the rollout; its `logprobs` are the engine's.
            old_logprobs: of the policy before the first update, [B, T]; the engine's or `rescore`'s.
            advantages: [B, T].
            step: of the run, for the order of the mini-batches.
        """
        settings = self.settings
        weights: Tensor | None = None
        if settings.recompute_logprobs and settings.correction_cap:
            weights = sampling_correction(
                old_logprobs,
                batch.logprobs,
                batch.mask,
                cap=settings.correction_cap,
                form=settings.correction,
                reject=settings.correction_reject,
                window=settings.correction_window,
            )
        if settings.overlong_filter:
            batch = replace(batch, mask=without_overlong(batch.mask, batch.cut_short))
        sums = dict.fromkeys(("loss", "entropy", "kl", "clipped", "ratio"), 0.0)
        norm = 0.0
        if not (batch.mask == Mask.POLICY).any():
            return {}
        whole = Denominator.of(batch.mask)
        rng = generator("update", settings.seed, step)
        for _ in range(settings.epochs):
            order = torch.from_numpy(rng.permutation(len(batch))).to(batch.ids.device)
            mini_batches = order.chunk(min(settings.mini_batches, len(batch)))
            for mini_batch in mini_batches:
                if not (batch.mask[mini_batch] == Mask.POLICY).any():
                    continue
                loss, passed = self._backward(batch, old_logprobs, advantages, weights, mini_batch)
                for name, value in passed.items():
                    sums[name] += value / whole.tokens / settings.epochs
                sums["loss"] += loss / len(mini_batches) / settings.epochs
                norm += self.optimizers.step() / len(mini_batches) / settings.epochs
                if self.proximal is not None:
                    self.proximal.update(self.model)
        together = ranks.total(torch.tensor(list(sums.values()), dtype=torch.float64, device=batch.ids.device))
        return {**dict(zip(sums, together.tolist(), strict=True)), "gradient_norm": norm}

    def _backward(
        self, batch: Batch, old_logprobs: Tensor, advantages: Tensor, weights: Tensor | None, mini_batch: Tensor
    ) -> tuple[float, dict[str, float]]:
        """Leave a mini-batch's gradient in the model; returns this process's share of its loss, and of sums by name."""
        settings, model = self.settings, self.model
        total, sums = 0.0, dict.fromkeys(("entropy", "kl", "clipped", "ratio"), 0.0)
        mask = batch.mask[mini_batch]
        denominator = Denominator.of(mask)
        positive = _positive(batch)[mini_batch]
        right = Denominator.of(positive) if positive.eq(Mask.POLICY).any() else None
        available: dict[str, Any] = {
            "clip_low": settings.clip_low,
            "clip_high": settings.clip_high,
            "dual_clip": settings.dual_clip or None,
            "m2_limit": settings.m2_limit,
            "kl_coef": settings.kl_coef,
            "kl_form": settings.kl_form,
        }
        wanted = policy_losses.needs(settings.policy_loss)
        if "statistics" in wanted:
            rows = batch.rows(mini_batch)
            width = rows.ids.shape[1]
            tensors = (rescore(settings, model, rows), old_logprobs[mini_batch, :width], advantages[mini_batch, :width])
            available["statistics"] = policy_losses.prepare(settings.policy_loss, *tensors, rows.mask, **available)
        for micro_batch in micro_batches(model, batch, settings, mini_batch):
            index, part = micro_batch.index, micro_batch.batch
            width = part.ids.shape[1]
            scores = score(
                model,
                part,
                settings,
                temperature=settings.temperature,
                entropy_gradient=bool(settings.entropy_coef),
            )
            if "prox_logprobs" in wanted and self.proximal is not None:
                available["prox_logprobs"] = _anchor(settings, self.proximal.model, part)
            surrogate = policy_losses.policy_loss(
                settings.policy_loss,
                scores.logprobs,
                old_logprobs[index, :width],
                advantages[index, :width],
                part.mask,
                **available,
            )
            per_token = surrogate.loss if weights is None else surrogate.loss * weights[index, :width]
            if settings.kl_coef and settings.kl_place == "loss" and "kl_coef" not in wanted:
                anchor = old_logprobs[index, :width]
                if self.reference is not None:
                    anchor = _anchor(settings, self.reference, part)
                kl = kl_per_token(scores.logprobs, anchor, part.mask, settings.kl_form)
                per_token = per_token + settings.kl_coef * kl
                sums["kl"] += float(kl.detach().sum())
            if settings.entropy_coef:
                per_token = per_token - settings.entropy_coef * scores.entropy
            loss = aggregate(per_token, part.mask, settings.aggregation, denominator, settings.constant_tokens)
            if settings.lm_coef and right is not None:
                loss = loss + settings.lm_coef * token_mean(-scores.logprobs, _positive(part), right)
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
            sums["entropy"] += float(scores.entropy.detach().sum())
            sums["clipped"] += float(surrogate.clipped.sum())
            sums["ratio"] += float(surrogate.ratio.sum())
        return total, sums


def _positive(batch: Batch) -> Tensor:
    """The masks with nothing to learn in sequences whose episode was not right, [B, T]."""
    return batch.mask * (batch.success >= 1)[:, None].to(batch.mask.dtype)
