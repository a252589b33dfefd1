"""E5 models (Wang et al., 2022) through transformers, as Search-R1 uses them: prefixes, the mean of the last layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolenvs.errors import MissingExtraError
from toolenvs.retrieval.dense.encoders import Vectors, unit


class Encoder:
    """An encoder of the E5 family, or any whose vectors are the mean of the last layer.

    Args:
        model: folder or hub name.
        query_prefix: put before a query.
        passage_prefix: put before a passage.
        max_tokens: of a text; the rest is cut.
        batch: texts that go through the model together.
        device: of torch.
    """

    def __init__(
        self,
        model: str = "intfloat/e5-base-v2",
        *,
        query_prefix: str = "query: ",
        passage_prefix: str = "passage: ",
        max_tokens: int = 256,
        batch: int = 32,
        device: str = "cpu",
    ) -> None:
        try:
            import torch
            import transformers
        except ImportError:
            raise MissingExtraError("transformers", "train", "the encoder 'e5'") from None
        self._torch = torch
        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(model)
        self._model: Any = transformers.AutoModel.from_pretrained(model).to(device).eval()
        self._prefixes = (query_prefix, passage_prefix)
        self._max_tokens, self._batch, self._device = max_tokens, batch, device
        self.name = f"e5:{model}:{query_prefix}:{passage_prefix}:{max_tokens}"
        self.dim = int(self._model.config.hidden_size)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """[texts, dim] vectors of length 1."""
        return self._encode([self._prefixes[0] + text for text in texts])

    def passages(self, texts: Sequence[str]) -> Vectors:
        """[texts, dim] vectors of length 1."""
        return self._encode([self._prefixes[1] + text for text in texts])

    def _encode(self, texts: list[str]) -> Vectors:
        found = np.empty((len(texts), self.dim), dtype=np.float32)
        with self._torch.inference_mode():
            for start in range(0, len(texts), self._batch):
                part = [text.encode("utf-8", "replace").decode() for text in texts[start : start + self._batch]]
                inputs = self._tokenizer(
                    part, max_length=self._max_tokens, truncation=True, padding=True, return_tensors="pt"
                ).to(self._device)
                mask = inputs["attention_mask"].unsqueeze(-1)
                hidden = self._model(**inputs).last_hidden_state.float() * mask
                found[start : start + len(part)] = (hidden.sum(1) / mask.sum(1).clamp(min=1)).cpu().numpy()
        return unit(found)
