"""Stage 4, the form: every turn but the last makes one call that the turn loop will see, the last one answers."""

from collections import Counter
from collections.abc import Sequence

from toolenvs.blueprint import Blueprint
from toolenvs.coldstart.recording import Recording
from toolenvs.coldstart.rejection import Reason, Rejection
from toolenvs.protocols.base import Protocol


def check_form(recording: Recording, blueprint: Blueprint) -> Rejection | None:
    """What is wrong with the form of a recording; None where nothing is."""
    last = len(recording.steps)
    if last == 0:
        return Rejection(Reason.UNFINISHED, "the recording is empty")
    for number, step in enumerate(recording.steps, start=1):
        fault = _fault_of_turn(step.turn, blueprint, final=number == last)
        if fault is not None:
            return Rejection(fault.reason, f"turn {number} of {last}: {fault.detail}")
    return Rejection(Reason.NO_CALL, "no turn makes a call") if last == 1 else None


def _fault_of_turn(turn: str, blueprint: Blueprint, *, final: bool) -> Rejection | None:
    protocol = blueprint.protocol
    reply = protocol.parse(turn)
    if reply.forged:
        start, end = reply.forged[0]
        return Rejection(Reason.FORGED, f"it writes in the environment's voice: {_short(turn[start:end])}")
    if reply.malformed is not None:
        return Rejection(Reason.MALFORMED, reply.malformed)
    if reply.dropped_stop:
        return Rejection(Reason.MALFORMED, f"its call is not ended by {reply.dropped_stop.strip()!r}")
    if reply.calls and reply.calls[0].tool not in blueprint.tools:
        return Rejection(Reason.UNKNOWN_TOOL, f"there is no tool {reply.calls[0].tool!r}")
    if bool(reply.calls) is final:
        return Rejection(Reason.UNFINISHED, "the last turn calls" if final else "a turn before the last calls nothing")
    if final and (not turn.strip() or (reply.answer is None and _marks_answers(protocol))):
        return Rejection(Reason.NO_ANSWER, "no final answer is marked as one")
    block = protocol.write_call(reply.calls[0]) if reply.calls else protocol.write_answer(reply.answer or "")
    leftover = _tags(turn, protocol.markers) - _tags(block, protocol.markers)
    if leftover:
        return Rejection(Reason.LEFTOVER, f"it holds {min(leftover)!r} besides its own call or answer")
    return None


def _marks_answers(protocol: Protocol) -> bool:
    return protocol.parse(protocol.write_answer("1")).answer is not None


def _tags(text: str, markers: Sequence[str]) -> Counter[str]:
    """How often each marker stands in `text`; fences are left out, which words may hold too."""
    return Counter({marker: text.count(marker) for marker in markers if marker.startswith("<") and marker in text})


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
