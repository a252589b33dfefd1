"""Texts to vectors: one module each, with a class `Encoder`, found by its name or as "module:Class" from elsewhere.

An encoder has `name` (with everything that its vectors depend on), `dim`, and two methods that take a list of texts and
give a float32 array [texts, dim] of vectors of length 1: `queries` and `passages`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from toolenvs import plugins
from toolenvs.errors import ConfigError

Vectors = npt.NDArray[np.float32]


class Encoder(Protocol):
    """What `dense` needs of an encoder."""

    name: str
    dim: int

    def queries(self, texts: Sequence[str]) -> Vectors:
        """[texts, dim] vectors of length 1; zeros for a text without content."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """The same for passages."""


def load(name: str, options: Mapping[str, Any]) -> Encoder:
    """The encoder called `name`.

    Raises:
        PageError: there is none of that name.
        ConfigError: it has no such option.
        MissingExtraError: it needs a package that is not installed.
    """
    kind = plugins.find(__name__, name, "Encoder", "encoder")
    try:
        encoder: Encoder = kind(**options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise ConfigError(f"encoder {name!r}: {error}") from error
    return encoder


def unit(vectors: Vectors) -> Vectors:
    """Each row divided by its length; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors, dtype=np.float32), where=lengths > 0)
    return found
