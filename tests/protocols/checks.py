"""What holds for every protocol, whatever a policy writes."""

import time

from hypothesis import strategies as st

from toolenvs.protocols.base import Protocol


def turns_of(fragments: list[str]) -> st.SearchStrategy[str]:
    """Turns of any text, and such as are put together from what means something to a protocol."""
    return st.one_of(
        st.text(st.characters(exclude_categories=()), max_size=60),
        st.lists(st.sampled_from(fragments), max_size=14).map("".join),
    )


def check_says_one_thing(protocol: Protocol, turn: str) -> None:
    """That a turn is read without failing, as a call, an answer, a malformed call or none of them; its forged parts
    stand in order; and no NUL comes to a tool.
    """
    reply = protocol.parse(turn)
    assert sum([bool(reply.calls), reply.answer is not None, reply.malformed is not None]) <= 1
    ends = [0, *(bound for span in reply.forged for bound in span), len(turn)]
    assert ends == sorted(ends)
    assert not any("\0" in str(value) for call in reply.calls for value in call.arguments.values())
    protocol.prose(turn)


def check_reads_in_step(protocol: Protocol, piece: str) -> None:
    """That a turn of this piece alone takes time in step with its length."""

    def seconds(length: int) -> float:
        turn, taken = piece * (length // len(piece)), []
        for _ in range(3):
            started_s = time.process_time()
            protocol.prose(turn)
            protocol.parse(turn)
            taken.append(time.process_time() - started_s)
        return min(taken)

    assert seconds(160_000) < 40 * max(seconds(20_000), 0.005)  # quadratic would be 64 times
