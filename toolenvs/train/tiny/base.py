"""A tiny policy's base phase: 600 steps on plain text in which no tool tag occurs; by default, copying and respelling.

Tool use is carrying things over: operands from the question into the program, the interpreter's output into the
answer. A network learns to look back and copy slowly, and from tool transcripts alone it hardly does; plain text
teaches it once, for every tool.
"""

import hashlib
import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolenvs.tokens import Mask
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.losses import Denominator, aggregate
from toolenvs.train.optim import Optimizers
from toolenvs.train.scoring import score
from toolenvs.train.tiny import reader
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import SYLLABLES, WORDS, build_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

STEPS = 600
BATCH = 64
MUON_LR = 0.02
ADAMW_LR = 6e-3
WARMUP_STEPS = 20
PAIRS_PER_TEXT = 2
MAX_WORDS = 4
_SYMBOLS = "+-*/()=,.:;?'\"_"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of tiny policy: what is built, and what it reads in its base phase."""

    tokenizer: "Callable[[], PreTrainedTokenizerFast]"
    model: "Callable[[PreTrainedTokenizerFast, int], Qwen3ForCausalLM]"
    batches: "Callable[[PreTrainedTokenizerFast, random.Random, int], Iterator[list[TokenSequence]]]"
    """The texts of step after step, without end; of the tokenizer, a source of randomness and their number."""
    steps: int
    sources: tuple[str, ...]
    """Files beside this one that decide what the base phase gives."""


def copy_batches(
    tokenizer: "PreTrainedTokenizerFast", rng: random.Random, count: int
) -> "Iterator[list[TokenSequence]]":
    """That many of `copy_text`, again and again."""
    while True:
        yield [copy_text(tokenizer, rng) for _ in range(count)]


def train_base(
    folder: Path,
    *,
    kind: str = "tiny",
    seed: int = 0,
    steps: int | None = None,
    progress: "Callable[[int, float], None] | None" = None,
) -> Path:
    """Train a base policy and write it to `folder`, which `AutoModelForCausalLM` and `AutoTokenizer` then load.

    Args:
        folder: where the model and its tokenizer go.
        kind: a key of `KINDS`.
        seed: of the weights and of the texts.
        steps: optimizer steps, of 64 texts each; by default the kind's own.
        progress: called after each step with the number of steps done and the loss in nats per token.
    """
    made = KINDS[kind]
    steps = made.steps if steps is None else steps
    tokenizer = made.tokenizer()
    model = made.model(tokenizer, seed)
    optimizers = Optimizers(model, lr=ADAMW_LR, muon_lr=MUON_LR, warmup_steps=WARMUP_STEPS, decay_steps=steps)
    batches = made.batches(tokenizer, random.Random(seed), BATCH)
    for step, texts in enumerate(itertools.islice(batches, steps)):
        batch = pad(texts)
        loss = aggregate(-score(model, batch).logprobs, batch.mask, "token-mean", Denominator.of(batch.mask))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizers.step()
        if progress is not None:
            progress(step + 1, float(loss.detach()))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def fingerprint(kind: str = "tiny") -> str:
    """Twelve hexadecimal digits that change with the source of anything that decides what the base phase gives."""
    names = ("tokenizer.py", "model.py", "base.py", *KINDS[kind].sources)
    sources = [Path(__file__).with_name(name).read_bytes() for name in names]
    return hashlib.sha256(b"".join(sources)).hexdigest()[:12]


def copy_text(tokenizer: "PreTrainedTokenizerFast", rng: random.Random) -> TokenSequence:
    """Two lines, each followed by itself, as it is or, both times, without its spaces; only repetitions are trained."""
    ids: list[int] = []
    mask: list[int] = []
    respelt = rng.random() < 0.5
    for _ in range(PAIRS_PER_TEXT):
        line = " ".join(_word(rng) for _ in range(rng.randint(1, MAX_WORDS)))
        again = line.replace(" ", "") if respelt else line
        for text, author in ((line + "\n", Mask.ENVIRONMENT), (again + "\n", Mask.POLICY)):
            part = tokenizer.encode(text, add_special_tokens=False)
            ids += part
            mask += [author] * len(part)
    return TokenSequence.of([*ids, tokenizer.eos_token_id], [*mask, Mask.POLICY])


def _word(rng: random.Random) -> str:
    """A number, a made-up word, a symbol, a few letters or a known word."""
    match rng.randrange(8):
        case 0 | 1 | 2:
            return str(rng.randrange(10 ** rng.randint(1, 6)))
        case 3 | 4:
            return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 3)))
        case 5 | 6:
            return "".join(rng.choice(_SYMBOLS) for _ in range(rng.randint(1, 2)))
        case _:
            return rng.choice((*WORDS, "".join(rng.choice(_LETTERS) for _ in range(rng.randint(1, 4)))))


KINDS: "Mapping[str, Kind]" = {
    "tiny": Kind(tokenizer=build_tokenizer, model=build_model, batches=copy_batches, steps=STEPS, sources=()),
    "tiny-reader": Kind(
        tokenizer=reader.build_reader_tokenizer,
        model=reader.build_reader,
        batches=reader.reading_batches,
        steps=reader.STEPS,
        sources=("reader.py", "language.py"),
    ),
}
"""Copies in general ("tiny"), or finds things in passages ("tiny-reader")."""
