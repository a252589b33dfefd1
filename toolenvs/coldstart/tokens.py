"""From a row to the tokens that SFT trains on."""

from toolenvs.codec import TokenCodec
from toolenvs.coldstart.row import ColdStartRow
from toolenvs.tokens import TokenTranscript
from toolenvs.transcript import Author


def to_tokens(row: ColdStartRow, codec: TokenCodec) -> TokenTranscript:
    """Ids and mask of a row, each piece encoded alone as in a rollout.

    The policy's pieces have mask 1 and log-probability 0, since nobody sampled them; all else has mask 0. The
    tokenizer's end-of-text token, where it has one, follows the final reply as part of it, unless the reply ends with
    a special token already: a policy has to learn to stop.

    Raises:
        TranscriptError: the tokenizer cannot spell a piece without loss.
    """
    tokens = TokenTranscript()
    last = len(row.transcript.segments) - 1
    for index, segment in enumerate(row.transcript.segments):
        if segment.author is Author.POLICY:
            ids = codec.encode(segment.text)
            end: int | None = getattr(codec.tokenizer, "eos_token_id", None)
            if index == last and end is not None and not segment.text.endswith(codec.special_texts):
                ids = [*ids, end]
            tokens.append_policy(ids, [0.0] * len(ids), segment.turn)
        else:
            ids = codec.encode(segment.text, verbatim=segment.verbatim)
            tokens.append_environment(ids, segment.author, segment.turn)
    return tokens
