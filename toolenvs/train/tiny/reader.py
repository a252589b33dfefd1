"""The tiny policy that reads: a wider network, the words of the world's language, and texts that teach it to look up.

To answer from a passage takes what plain copying does not teach: to find the place that a question is about, to see
where the answer begins and ends, and to tell it from the other names around. The texts of this base phase are passages
of other worlds with questions and answers, and random words with a name among them that is repeated. They hold no tool
tag and no fact of a world that is trained or tested on: what is learned is the language.
"""

import random
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from toolenvs.tokens import Mask
from toolenvs.train.batching import TokenSequence
from toolenvs.train.tiny.language import SYLLABLE, WORLDS, vocabulary
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import build_tokenizer
from toolenvs.world import World
from toolenvs.world.entities import Key
from toolenvs.world.passages import passage
from toolenvs.world.questions import about

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

WIDTH = 128
LAYERS = 3
HEADS = 4
STEPS = 600
POOL = 8
"""Batches that are drawn at once and sorted by length, so that little of a batch is padding."""
PASSAGES = 5_000
"""Size of each world that is read: so large that hardly a passage is read twice."""
PASSAGE_SHARE = 0.8
"""Texts that are a passage with questions; the rest are lines to pick a name or a number from."""
MAX_QUESTIONS = 4
EXTRACTIONS = 3
"""Lines of one text whose name or number is repeated."""


def build_reader_tokenizer() -> "PreTrainedTokenizerFast":
    """The tokenizer of the policy that reads: words of the language whole, names in syllables."""
    words, syllables = vocabulary()
    return build_tokenizer(words, syllables, syllable=SYLLABLE)


def build_reader(tokenizer: "PreTrainedTokenizerFast", seed: int) -> "Qwen3ForCausalLM":
    """A fresh network of 0.6 M parameters."""
    return build_model(tokenizer, seed, width=WIDTH, layers=LAYERS, heads=HEADS)


def reading_batches(
    tokenizer: "PreTrainedTokenizerFast", rng: random.Random, count: int
) -> Iterator[list[TokenSequence]]:
    """Batches of `count` texts; only answers are trained."""
    while True:
        pool = sorted((reading_text(tokenizer, rng) for _ in range(POOL * count)), key=lambda text: len(text.ids))
        batches = [pool[start : start + count] for start in range(0, len(pool), count)]
        rng.shuffle(batches)
        yield from batches


def reading_text(tokenizer: "PreTrainedTokenizerFast", rng: random.Random) -> TokenSequence:
    """A passage with questions, or lines to pick a name or a number from."""
    return _encode(tokenizer, _passage(rng) if rng.random() < PASSAGE_SHARE else _extractions(rng))


def _passage(rng: random.Random) -> list[tuple[str, bool]]:
    """A question, the passage, the answer, and further questions with answers; parts, and whether they are trained."""
    world = _worlds()[rng.randrange(len(WORLDS))]
    key = rng.choice(_keys())
    questions = about(world, key)
    rng.shuffle(questions)
    parts: list[tuple[str, bool]] = []
    for number, question in enumerate(questions[:MAX_QUESTIONS]):
        text = question.text + "\n"
        text += f" {passage(world, world.entity(key)).text}\n" if number == 0 else ""
        parts += [(text, False), (f" {question.answer}\n", True)]
    return parts


@cache
def _worlds() -> list[World]:
    return [World(PASSAGES, seed=seed) for seed in WORLDS]


@cache
def _keys() -> list[Key]:
    return list(_worlds()[0].keys())


def _extractions(rng: random.Random) -> list[tuple[str, bool]]:
    """Lines of words around a name or a number, each followed by it."""
    parts: list[tuple[str, bool]] = []
    for _ in range(EXTRACTIONS):
        span = _span(rng)
        line = "".join((*_words(rng, 1, 5), span, *_words(rng, 0, 3))) + rng.choice("?.")
        parts += [(line + "\n", False), (span + "\n", True)]
    return parts


def _encode(tokenizer: "PreTrainedTokenizerFast", parts: list[tuple[str, bool]]) -> TokenSequence:
    ids: list[int] = []
    mask: list[int] = []
    for text, trained in parts:
        part = tokenizer.encode(text, add_special_tokens=False)
        ids += part
        mask += [Mask.POLICY if trained else Mask.ENVIRONMENT] * len(part)
    return TokenSequence.of([*ids, tokenizer.eos_token_id], [*mask, Mask.POLICY])


@cache
def _cases() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Words of the language in lower case and with a capital, and syllables likewise."""
    words, syllables = vocabulary()
    lower, upper = ([word for word in words if word.islower() == low] for low in (True, False))
    rest, first = ([syllable for syllable in syllables if syllable.islower() == low] for low in (True, False))
    return tuple(lower), tuple(upper), tuple(rest), tuple(first)


def _words(rng: random.Random, low: int, high: int) -> list[str]:
    return [f" {rng.choice(_cases()[0])}" for _ in range(rng.randint(low, high))]


def _name(rng: random.Random) -> str:
    _, _, rest, first = _cases()
    return " " + rng.choice(first) + "".join(rng.choice(rest) for _ in range(rng.randint(1, 2)))


def _span(rng: random.Random) -> str:
    """What is asked for: a number, or a name of one to four words."""
    capitals = _cases()[1]
    match rng.randrange(10):
        case 0 | 1 | 2 | 3:
            return f" {rng.randrange(10 ** rng.randint(1, 6))}"
        case 4 | 5 | 6:
            return _name(rng) + _name(rng)
        case 7 | 8:
            return _name(rng)
        case _ if rng.random() < 0.5:
            return f"{_name(rng)} {rng.choice(capitals)}"
        case _:
            return f" {rng.choice(capitals)} {rng.choice(capitals)} of{_name(rng)}"
