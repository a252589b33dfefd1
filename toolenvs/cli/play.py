"""`toolenvs play`: a person acts in an episode, in the terminal."""

import os
from typing import Annotated, Any

import typer

from toolenvs import blueprint, loop, render
from toolenvs.agents.human import END, Human
from toolenvs.cli.options import Overrides, PageId, Seed, overrides
from toolenvs.episode import Episode, Turn
from toolenvs.rollout import Request
from toolenvs.transcript import Author, Transcript

_LEFT = "left before the end: no reward"
_INTERRUPTED = 130
"""Exit code of what Ctrl-C ended."""


def play(
    page: PageId,
    task: Annotated[str, typer.Option(help="Id or index of the task.  [default: the seed's]")] = "",
    seed: Seed = 0,
    set_: Overrides = [],  # noqa: B006 - typer copies it
) -> None:
    """Play an episode: type what a policy would write, and read what it would read.

    A line with a single dot ends a turn, and so does a stop string; Ctrl-D leaves.
    """
    env = blueprint.load(page, **overrides(set_))
    chosen = env.task(int(task) if task.isdecimal() else task or seed % len(env.tasks))
    try:
        loop.run(_play(env, Episode(env, chosen, seed=seed)))
    except EOFError:
        typer.echo(f"\n{_LEFT}")
    except KeyboardInterrupt:
        print(f"\n{_LEFT}", flush=True)
        os._exit(_INTERRUPTED)  # a thread still waits for a line, and an ordinary exit would wait for that thread
    finally:
        loop.run(env.close())


async def _play(env: blueprint.Blueprint, episode: Episode) -> None:
    human = Human()
    reward = 0.0
    try:
        await env.check()
        typer.echo(render.ansi(episode.transcript))
        turn = Turn(observation="")
        while episode.ending is None:
            _announce(episode)
            action = await human.act(_request(episode))
            turn = await episode.step(action.text)
            reward += turn.reward
            _show(turn)
        _close(episode, turn, reward)
    finally:
        await episode.close()


def _announce(episode: Episode) -> None:
    binding = {name: usage for name, usage in episode.usage().items() if not name.endswith("_tokens")}  # no tokenizer
    left = ", ".join(f"{usage.left:g} {name}" for name, usage in binding.items() if usage.left is not None)
    stops = "  ".join(map(repr, episode.stop)) or "none"
    typer.secho(f"\n[turn {episode.meter.turns + 1}; left: {left}; stop: {stops}; {END!r} ends the turn]", dim=True)


def _request(episode: Episode) -> Request:
    return Request(
        key="play",
        task=episode.task,
        turn=episode.meter.turns + 1,
        text=episode.transcript.read(episode.meter.turns + 1).text,
        messages=episode.messages,
        last_result="",
        reading=episode.reading,
        ids=None,
        stop=episode.stop,
        max_new_tokens=episode.meter.tokens_left(),
        seed=episode.seed,
    )


def _show(turn: Turn) -> None:
    answered = [segment for segment in turn.segments if segment.author is not Author.POLICY or not segment.scored]
    if answered:
        typer.echo(render.ansi(Transcript(tuple(answered))))
    for call in turn.calls:
        typer.secho(f"[{call.tool}: {call.status}, {call.seconds:.3f} s]", dim=True)


def _close(episode: Episode, turn: Turn, reward: float) -> None:
    facts: dict[str, Any] = {
        "ending": episode.ending,
        "success": episode.success,
        "reward": f"{reward:g}",
        "terms of the last turn": ", ".join(f"{name} {value:g}" for name, value in turn.reward_terms.items()) or "none",
        "gold": " or ".join(episode.task.golds) or "none",
    }
    if turn.fault:
        facts["fault"] = turn.fault
    for name, value in facts.items():
        typer.echo(f"{name}: {value}")
