"""The embedded engine: batched sampling from any transformers decoder, with caches that last from turn to turn.

Shapes: B rows, V vocabulary; a row holds `cached` tokens whose keys and values are known and `fresh` ones without.
Both parts are padded on the left and told apart by the attention mask:

    [ padding | cached ][ padding | fresh ] -> sampled ...

Positions count real tokens only, so a row's numbers do not depend on who else is in the batch, up to the rounding of
matrix products of another size.
"""

import inspect
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from toolenvs.agents.engine import Engine, GenerateRequest, Generation
from toolenvs.codec import TokenCodec
from toolenvs.errors import EngineError
from toolenvs.train.engines.drawing import Drawing
from toolenvs.train.engines.ends import end_tokens
from toolenvs.train.engines.roomy import roomy_cache

MAX_BATCH = 256
"""Rows that are sampled together; more requests are served one batch after another."""
COMPACT_BELOW = 0.75
"""Rows that ended are taken out of the batch once the running ones are less than this share of it."""


@dataclass(slots=True)
class _Cached:
    """Keys and values of the first tokens of one episode."""

    ids: list[int]
    states: Tensor
    """Keys and values of every layer, [2 * layers, heads, tokens, head width]."""


@dataclass(slots=True)
class _Row:
    """One request while it is being sampled."""

    request: GenerateRequest
    context: list[int]
    cached: _Cached | None
    reuse: int
    """How many of the cached tokens stand at the beginning of this context."""
    cached_end: int = 0
    """Column of the batch that its cached tokens end before."""
    fresh_begin: int = 0
    """Column that its other tokens begin at."""
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: Literal["stop", "eos", "length"] | None = None


class _Written:
    """What the rows of a batch drew since it was compacted last."""

    def __init__(self) -> None:
        self._ids: list[list[int]] = []
        self._logprobs: list[Tensor] = []

    def add(self, tokens: Tensor, logprobs: Tensor) -> list[int]:
        """One more token for each row [B]; returns their ids."""
        self._ids.append(tokens.tolist())
        self._logprobs.append(logprobs)
        return self._ids[-1]

    def ids(self, row: int) -> list[int]:
        """Of one row."""
        return [step[row] for step in self._ids]

    def give(self, rows: list[_Row]) -> None:
        """Hand the rows what is theirs, and begin anew; those that ended have their ids already."""
        for index, (row, logprobs) in enumerate(zip(rows, torch.stack(self._logprobs, 1).tolist(), strict=True)):
            if row.finish is None:
                row.ids = row.ids + self.ids(index)
            row.logprobs += logprobs[: len(row.ids) - len(row.logprobs)]
        self._ids, self._logprobs = [], []


class TransformersEngine(Engine):
    """Samples from a causal language model of transformers.

    Args:
        model: any decoder; put into evaluation mode while it samples, and left in the mode it was in.
        tokenizer: its fast tokenizer, which stop strings are read with.
        max_batch: rows that are sampled together.

    The model may be the one being trained: then `push_weights` copies weights onto themselves and forgets the caches.
    """

    def __init__(self, model: nn.Module, tokenizer: Any, *, max_batch: int = MAX_BATCH) -> None:
        self.version = 0
        self._model = model
        self._codec = TokenCodec(tokenizer)
        self._max_batch = max_batch
        self._caches: dict[Hashable, _Cached] = {}
        self._completers: dict[str, frozenset[int]] = {}
        parameters = inspect.signature(model.forward).parameters
        # transformers renamed the argument in 5.2x; the old name warns there, the new one fails before.
        self._cache_argument = "cache" if "cache" in parameters else "past_key_values"
        config: Any = model.config
        self._eos = end_tokens(config, getattr(model, "generation_config", None))
        # Sliding-window and recurrent layers do not keep every token's state, so their caches cannot be cut and joined.
        text = config.get_text_config() if hasattr(config, "get_text_config") else config  # of one that sees, too
        windowed = getattr(text, "sliding_window", None) is not None  # in all layers, where they are not told apart
        kinds = getattr(text, "layer_types", None) or ["sliding_attention" if windowed else "full_attention"]
        self._reusable = all(kind == "full_attention" for kind in kinds)
        # Layers without attention have a state of their own kind, which transformers makes by the configuration.
        self._layered = text if any("attention" not in kind or "linear" in kind for kind in kinds) else None

    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        """Continue every request's context until a stop string, an end-of-text token or its token limit.

        A generation ends with the first token that completes a stop string, that token kept whole, and an end-of-text
        token is kept too. Log-probabilities are those of the distribution at the request's temperature, before `top_p`
        cuts it; at temperature 0 the most likely token is taken and the log-probabilities are the raw ones.

        Raises:
            EngineError: a request has no context or no room to generate, or two of them have one key.
        """
        keys = [request.key for request in requests if request.key is not None]
        if len(set(keys)) < len(keys):
            raise EngineError("two requests of one batch have the same key; an episode has one turn at a time")
        generations: list[Generation] = []
        training = self._model.training
        self._model.eval()
        try:
            with torch.inference_mode():
                for start in range(0, len(requests), self._max_batch):
                    generations += self._batch(requests[start : start + self._max_batch])
        finally:
            self._model.train(training)
        return generations

    def holds(self, model: object) -> bool:
        """Whether it is the model that this engine samples from."""
        return model is self._model

    def push_weights(self, state_dict: Mapping[str, Tensor], version: int) -> None:
        """Take over new weights; keys and values of the old ones are forgotten."""
        self._model.load_state_dict(state_dict)
        self._caches.clear()
        self.version = version

    def release(self, key: Hashable) -> None:
        """Forget the cache of an episode that is over; a key that was never seen is no error."""
        self._caches.pop(key, None)

    def _batch(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        rows = [self._row(request) for request in requests]
        live = list(rows)
        cache, attention, logits = self._prefill(live)
        positions = torch.tensor([len(row.context) for row in live], device=logits.device)  # [B]: of the next token
        drawing = Drawing.of(requests, logits.device)
        stops = {stop for request in requests for stop in request.stop}
        ends = self._eos.union(*map(self._may_complete, stops))
        limits = {request.max_new_tokens for request in requests}
        written = _Written()
        running = list(range(len(live)))
        while True:
            tokens, logprobs = drawing.draw(logits)
            newest = written.add(tokens, logprobs)
            # Most tokens end nothing, and cost nothing more.
            full = drawing.drawn in limits
            if ended := [
                row
                for row in running
                if newest[row] in ends or (full and live[row].request.max_new_tokens == drawing.drawn)
            ]:
                for index in ended:
                    row = live[index]
                    ids = row.ids + written.ids(index)
                    row.finish = self._finish(row.request, ids)
                    row.ids = ids if row.finish else row.ids
                running = [index for index in running if live[index].finish is None]
            if len(running) < COMPACT_BELOW * len(live):
                written.give(live)
                self._keep(live, cache)
                if not running:
                    break
                kept = torch.tensor(running, device=logits.device)
                self._select(cache, kept)
                attention, positions, tokens = attention[kept], positions[kept], tokens[kept]
                drawing.select(kept)
                live = [live[row] for row in running]
                running = list(range(len(live)))
            attention = nn.functional.pad(attention, (0, 1), value=1)
            logits = self._forward(tokens[:, None], attention, positions[:, None], cache)
            positions = positions + 1
        return [Generation(ids=row.ids, logprobs=row.logprobs, finish=row.finish or "length") for row in rows]

    def _row(self, request: GenerateRequest) -> _Row:
        context = [int(token) for token in request.ids]
        if not context or request.max_new_tokens < 1:
            raise EngineError(
                f"cannot generate {request.max_new_tokens} tokens after a context of {len(context)}; both must be at "
                f"least 1 (episode {request.key!r})"
            )
        cached = self._caches.get(request.key)
        reuse = 0
        if cached is not None:
            # The last token of the context must go through the network in any case: its logits are what is sampled.
            reuse = min(len(cached.ids), len(context) - 1)
            if cached.ids[:reuse] != context[:reuse]:
                cached, reuse = None, 0
        return _Row(request, context, cached, reuse)

    def _prefill(self, rows: list[_Row]) -> tuple[DynamicCache, Tensor, Tensor]:
        """Run all rows' fresh tokens; gives the cache, its attention mask and the logits [B, V].

        Rows that are the first turn of one prompt are one row until then.
        """
        places: dict[Hashable, int] = {}
        first: list[_Row] = []
        index: list[int] = []
        cached_width = max(row.reuse for row in rows)
        width = cached_width + max(len(row.context) - row.reuse for row in rows)
        for row in rows:
            row.cached_end, row.fresh_begin = cached_width, width - (len(row.context) - row.reuse)
            place = places.setdefault(id(row) if row.cached is not None else tuple(row.context), len(first))
            if place == len(first):
                first.append(row)
            index.append(place)
        cache, attention, logits = self._run_fresh(first, width)
        if len(first) < len(rows):
            which = torch.tensor(index, device=logits.device)
            self._select(cache, which)
            attention, logits = attention[which], logits[which]
        return cache, attention, logits

    def _run_fresh(self, rows: list[_Row], width: int) -> tuple[DynamicCache, Tensor, Tensor]:
        """Lay out rows and run their fresh tokens; gives the cache, its attention mask and the logits [B, V]."""
        device = next(self._model.parameters()).device
        cached_width = rows[0].cached_end
        ids = torch.zeros(len(rows), width - cached_width, dtype=torch.long)
        positions = torch.zeros(len(rows), width - cached_width, dtype=torch.long)
        attention = torch.zeros(len(rows), width, dtype=torch.long)
        for index, row in enumerate(rows):
            ids[index, row.fresh_begin - cached_width :] = torch.tensor(row.context[row.reuse :])
            positions[index, row.fresh_begin - cached_width :] = torch.arange(row.reuse, len(row.context))
            attention[index, cached_width - row.reuse : cached_width] = 1
            attention[index, row.fresh_begin :] = 1
        attention = attention.to(device)
        cache = self._assemble(rows, cached_width)
        return cache, attention, self._forward(ids.to(device), attention, positions.to(device), cache)

    def _assemble(self, rows: list[_Row], width: int) -> DynamicCache:
        """One cache of `width` tokens from the rows' own, padded on the left."""
        cache = roomy_cache() if self._reusable else DynamicCache(config=self._layered)
        known = next((row.cached.states for row in rows if row.cached is not None), None)
        if known is None or width == 0:
            return cache
        layers, heads, _, head_width = known.shape
        states = known.new_zeros(layers, len(rows), heads, width, head_width)
        for index, row in enumerate(rows):
            if row.cached is not None:
                states[:, index, :, width - row.reuse :] = row.cached.states[:, :, : row.reuse]
        for layer in range(layers // 2):
            cache.update(states[2 * layer], states[2 * layer + 1], layer)
        return cache

    def _select(self, cache: DynamicCache, rows: Tensor) -> None:
        """Go on with these rows, each as often as it is named."""
        if self._layered is None:
            cache.batch_select_indices(rows)
        else:  # the way to choose rows that layers without attention have
            cache.reorder_cache(rows)  # type: ignore[arg-type]  # any tensor of integers

    def _keep(self, rows: list[_Row], cache: DynamicCache) -> None:
        """Store the keys and values of the rows that ended, by the key of their episode."""
        ended = [index for index, row in enumerate(rows) if row.finish is not None and row.request.key is not None]
        if not self._reusable or not ended:
            return
        layers: list[Tensor] = [state for keys, values, _ in cache for state in (keys, values)]
        if any(state.shape != layers[0].shape for state in layers):  # as of latent attention: not in one tensor
            self._reusable = False
            return
        which = torch.tensor(ended, device=layers[0].device)
        # One tensor of all rows that end together, of which each row has a part.
        states = layers[0].new_empty(len(layers), len(ended), *layers[0].shape[1:])
        for place, state in enumerate(layers):
            torch.index_select(state, 0, which, out=states[place])
        for place, row in enumerate(rows[index] for index in ended):
            # A row that ended goes on drawing idle tokens until the batch is compacted: they are cut off here, and so
            # is the last token of all, which never went through the network.
            known = row.context + row.ids[:-1]
            own = states[:, place]  # [2 * layers, heads, columns, head width]
            fresh = own[:, :, row.fresh_begin : row.fresh_begin + len(known) - row.reuse]
            cached = own[:, :, row.cached_end - row.reuse : row.cached_end]
            self._caches[row.request.key] = _Cached(known, torch.cat([cached, fresh], 2) if row.reuse else fresh)

    def _forward(self, ids: Tensor, attention: Tensor, positions: Tensor, cache: DynamicCache) -> Tensor:
        """The logits after the last token of each row, float32 [B, V]; the cache grows."""
        output = self._model(
            input_ids=ids,
            attention_mask=attention,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_argument: cache},
        )
        logits: Tensor = output.logits[:, -1].float()
        return logits

    def _finish(self, request: GenerateRequest, ids: list[int]) -> Literal["stop", "eos", "length"] | None:
        """Why a row ends with its newest token, or None where it goes on."""
        if ids[-1] in self._eos:
            return "eos"
        if any(ids[-1] in self._may_complete(stop) for stop in request.stop):
            text = self._codec.decode(ids)
            if any(stop in text for stop in request.stop):
                return "stop"
        return "length" if len(ids) == request.max_new_tokens else None

    def _may_complete(self, stop: str) -> frozenset[int]:
        """The tokens that hold the stop string's last character; no other token can be the one that completes it."""
        last = stop[-1]
        if last not in self._completers:
            every = range(self._codec.vocab_size)
            # A character beyond ASCII may be spread over tokens, none of which shows it alone.
            held = (token for token in every if not last.isascii() or last in self._codec.decode([token]))
            self._completers[last] = frozenset(held)
        return self._completers[last]
