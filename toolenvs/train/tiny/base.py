"""The tiny policy's base phase: 600 steps of copying and respelling text in which no tool tag occurs.

Tool use is carrying things over: operands from the question into the program, the interpreter's output into the
answer. A network learns to look back and copy slowly, and from tool transcripts alone it hardly does; plain text
teaches it once, for every tool.
"""

import hashlib
import random
from pathlib import Path
from typing import TYPE_CHECKING

from toolenvs.tokens import Mask
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.losses import Denominator, aggregate
from toolenvs.train.optim import Optimizers
from toolenvs.train.scoring import score
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import SYLLABLES, WORDS, build_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from transformers import PreTrainedTokenizerFast

STEPS = 600
BATCH = 64
MUON_LR = 0.02
ADAMW_LR = 6e-3
WARMUP_STEPS = 20
PAIRS_PER_TEXT = 2
MAX_WORDS = 4
_SYMBOLS = "+-*/()=,.:;?'\"_"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def train_base(
    folder: Path, *, seed: int = 0, steps: int = STEPS, progress: "Callable[[int, float], None] | None" = None
) -> Path:
    """Train a base policy and write it to `folder`, which `AutoModelForCausalLM` and `AutoTokenizer` then load.

    Args:
        folder: where the model and its tokenizer go.
        seed: of the weights and of the texts.
        steps: optimizer steps, of 64 texts each.
        progress: called after each step with the number of steps done and the loss in nats per token.
    """
    tokenizer = build_tokenizer()
    model = build_model(tokenizer, seed)
    optimizers = Optimizers(model, lr=ADAMW_LR, muon_lr=MUON_LR, warmup_steps=WARMUP_STEPS, decay_steps=steps)
    rng = random.Random(seed)
    for step in range(steps):
        batch = pad([copy_text(tokenizer, rng) for _ in range(BATCH)])
        loss = aggregate(-score(model, batch).logprobs, batch.mask, "token-mean", Denominator.of(batch.mask))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizers.step()
        if progress is not None:
            progress(step + 1, float(loss.detach()))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def fingerprint() -> str:
    """Twelve hexadecimal digits that change with the source of anything that decides what the base phase gives."""
    sources = [Path(__file__).with_name(name).read_bytes() for name in ("tokenizer.py", "model.py", "base.py")]
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
