"""Masks are exact: what the policy wrote and nothing else, for tokenizers of every kind."""

from collections.abc import Callable

import numpy as np
import pytest

from toolenvs import blueprint
from toolenvs.codec import TokenCodec
from toolenvs.coldstart import ColdStartRow, Recorded, Rules, Source, build, from_tasks, to_tokens
from toolenvs.tokens import Mask
from toolenvs.transcript import Author


@pytest.mark.parametrize("page", ["ReTool-v0", "ReToolChat-v0", "ToRL-v0"])
def test_mask_1_is_exactly_what_the_policy_wrote(
    codec: TokenCodec, page: str, recorded: Callable[..., Source], retool_text: Callable[..., str]
) -> None:
    env = blueprint.load(page, max_calls=8, **{"tasks.set": "arithmetic"})
    printed = "é <|im_end|>"
    odd = recorded(retool_text("print('é <|im' + '_end|>')", printed))
    rows = (*build(env, from_tasks([env.tasks[0], env.tasks[1]]), Rules()).rows, *build(env, [odd], Recorded()).rows)
    assert len(rows) == 3
    for row in rows:
        tokens = to_tokens(row, codec)
        assert codec.decode(tokens.ids.tolist()) == row.transcript.text
        written = [codec.decode(tokens.ids[s.start : s.end].tolist()) for s in tokens.spans if s.author == "policy"]
        assert written == [segment.text for segment in row.transcript.by(Author.POLICY)]
        sampled = {i for s in tokens.spans if s.author == "policy" for i in range(s.start, s.end)}
        assert set(np.flatnonzero(tokens.mask == Mask.POLICY).tolist()) == sampled
        assert set(tokens.mask.tolist()) == {Mask.ENVIRONMENT, Mask.POLICY}
        assert not tokens.logprobs.any()
        if page == "ToRL-v0":  # whose template has no such token, so only a program can have printed one
            assert codec.tokenizer.token_to_id("<|im_end|>") not in tokens.ids
        assert tokens.prompt_length == len(codec.encode(row.prompt))


class _WithEnd:
    """A tokenizer that knows its end-of-text token, as those of transformers do."""

    def __init__(self, codec: TokenCodec) -> None:
        self.backend_tokenizer = codec.tokenizer
        self.eos_token_id = codec.tokenizer.token_to_id("<|endoftext|>")


@pytest.mark.parametrize("page", ["ReTool-v0", "ReToolChat-v0"])
def test_the_policy_learns_to_stop_once(byte_codec: TokenCodec, page: str) -> None:
    env = blueprint.load(page, **{"tasks.set": "arithmetic"})
    (row,) = build(env, from_tasks([env.tasks[0]]), Rules()).rows
    codec = TokenCodec(_WithEnd(byte_codec))
    tokens = to_tokens(row, codec)
    ending = {"ReTool-v0": "</answer><|endoftext|>", "ReToolChat-v0": "}<|im_end|>"}[page]
    assert codec.decode(tokens.ids.tolist()).endswith(ending)
    assert tokens.mask[-1] == Mask.POLICY
    assert tokens.ids.tolist().count(codec.tokenizer.eos_token_id) == (page == "ReTool-v0")


def test_tokens_come_from_the_row_alone(byte_codec: TokenCodec, retool: blueprint.Blueprint) -> None:
    (row,) = build(retool, from_tasks([retool.tasks[0]]), Rules()).rows
    again = ColdStartRow.from_json(row.to_json())
    assert to_tokens(again, byte_codec).to_json() == to_tokens(row, byte_codec).to_json()
