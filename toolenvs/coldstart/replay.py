"""Stage 5, replay: run every call of a recording in a fresh episode, and judge the final answer."""

from toolenvs.blueprint import Blueprint
from toolenvs.coldstart.recording import Recording, Step
from toolenvs.coldstart.rejection import Reason, Rejection
from toolenvs.coldstart.row import ColdStartRow, Outputs, Provenance
from toolenvs.coldstart.source import Source
from toolenvs.episode import SPENT, Episode, ToolCall, Turn
from toolenvs.errors import InfrastructureError
from toolenvs.protocols.markers import neutralize

_SHOWN_CHARS = 80


async def replay(
    blueprint: Blueprint, source: Source, recording: Recording, *, rewriter: str, outputs: Outputs, seed: int
) -> ColdStartRow | Rejection:
    """The row that a recording of sound form gives, or what the replay found wrong with it.

    Args:
        blueprint: the environment.
        source: what the recording was made from.
        recording: see `toolenvs.coldstart.format.check_form`.
        rewriter: who made it, for the provenance.
        outputs: "require" rejects a recording whose outputs are not the live ones (white space around them apart);
            "replace" puts the live ones in their place. Words that speak of a replaced output are not looked at: the
            judge looks at the answer alone.
        seed: of the tools.

    Raises:
        InfrastructureError: a tool or the judge failed.
    """
    if not source.task.golds:
        return Rejection(Reason.NO_GOLD, "the task has no gold answer")
    *calls, final = recording.steps
    missing = next((number for number, step in enumerate(calls, start=1) if step.output is None), None)
    if outputs == "require" and missing is not None:
        return Rejection(Reason.MISSING_OUTPUT, f"call {missing} of {len(calls)} has no recorded output")
    episode = Episode(blueprint, source.task, seed=seed)
    made: list[ToolCall] = []
    replaced = 0
    try:
        for number, step in enumerate(calls, start=1):
            turn = await _take(episode, step.turn)
            if turn.ending is not None or not turn.calls or turn.calls[0].status == SPENT:
                how = "was past the budget" if turn.ending is None else f"ended the episode ({turn.ending})"
                return Rejection(Reason.ENDED, f"call {number} of {len(calls)} {how}")
            if not _same(step, turn.calls[0].result, blueprint):
                if outputs == "require":
                    return Rejection(Reason.WRONG_OUTPUT, _difference(number, step, turn.calls[0].result))
                replaced += 1
            made += turn.calls
        turn = await _take(episode, final.turn)
    finally:
        await episode.close()
    if turn.ending != "answer" or episode.verdict is None:
        return Rejection(Reason.ENDED, f"the final reply ended the episode as {turn.ending!r}")
    if not episode.verdict.correct:
        verdict = episode.verdict
        return Rejection(
            Reason.WRONG_ANSWER, f"{verdict.extracted!r} for {source.task.gold!r} ({verdict.reason.value})"
        )
    return ColdStartRow(
        env=blueprint.page.id,
        task=source.task,
        seed=seed,
        transcript=episode.transcript,
        messages=tuple(episode.messages),
        provenance=Provenance(
            rewriter=rewriter,
            outputs=outputs,
            replaced=replaced,
            calls=len(made),
            failed_calls=sum(call.status != "ok" for call in made),
            gold=source.gold,
        ),
    )


async def _take(episode: Episode, text: str) -> Turn:
    turn = await episode.step(text, exact=True)
    if turn.ending == "infrastructure":
        raise InfrastructureError(turn.fault or "an episode ended without saying why")
    return turn


def _same(step: Step, live: str, blueprint: Blueprint) -> bool:
    """Whether the recorded output, with markers in it broken up as the environment does, is the live one."""
    return step.output is not None and neutralize(step.output, blueprint.markers).strip() == live.strip()


def _difference(number: int, step: Step, live: str) -> str:
    return f"call {number} gives {_shown(live)}; recorded is {_shown(step.output or '')}"


def _shown(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}...")
