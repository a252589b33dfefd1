"""The static token embeddings that the package wordllama ships (MIT): 256 dimensions, no torch, no download.

Its two files are read here directly: the package's own loader looks on the network first.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from toolenvs.errors import MissingExtraError
from toolenvs.retrieval.dense.encoders import Vectors, unit

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_MAX_TOKENS = 512


class Encoder:
    """The mean of a text's token embeddings."""

    name = "wordllama:l2_supercat_256"
    dim = 256

    def __init__(self) -> None:
        spec = importlib.util.find_spec("wordllama")
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError:
            spec = None
        if spec is None or spec.origin is None:
            raise MissingExtraError("wordllama", "dense", "the encoder 'wordllama'")
        folder = Path(spec.origin).parent
        (self._table,) = load_file(folder / _WEIGHTS).values()
        self._table = self._table.astype(np.float32)
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MAX_TOKENS)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """[texts, 256] vectors of length 1; zeros for an empty text."""
        found = np.zeros((len(texts), self.dim), dtype=np.float32)
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        for row, encoding in enumerate(self._tokenizer.encode_batch(clean, add_special_tokens=False)):
            if encoding.ids:
                found[row] = self._table[encoding.ids].mean(axis=0)
        return unit(found)

    passages = queries
