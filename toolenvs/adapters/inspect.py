"""Inspect AI: pages as its tasks. Its models act, its logs show it; prompt, tools, budgets and verdict are ours.

    from inspect_ai import eval
    from toolenvs.adapters.inspect import page_task
    eval(page_task("ReTool-v0", tasks=50), model="openai/MODEL")

or `inspect eval toolenvs/page -T page=ReTool-v0 -T tasks=50 --model openai/MODEL`. A sample is a task of the page, an
epoch a try of it. Where a protocol's feedback stands inside the assistant's own message, the last message is the
assistant's: the model must be able to go on with it (vLLM, Anthropic and others are), or take a page whose turns are
messages, such as ReToolChat-v0. An episode that infrastructure ended is an error of its sample, which Inspect's
`retry_on_error` runs again, and never a wrong answer.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from toolenvs import blueprint as blueprints
from toolenvs.blueprint import Blueprint
from toolenvs.episode import Episode, Turn
from toolenvs.errors import InfrastructureError, MissingExtraError
from toolenvs.page import load
from toolenvs.tasks.seeding import stable_seed
from toolenvs.tasks.task import Task as OwnTask

try:
    import inspect_ai
    from inspect_ai import dataset, model, scorer, solver
except ImportError as error:
    raise MissingExtraError("inspect_ai", "inspect", "toolenvs.adapters.inspect") from error

STORE = "toolenvs"
"""Where a sample's store keeps how its episode ended."""
_CUT_SHORT = ("max_tokens", "model_length")
_SEEDS = 1 << 20


def page_task(page: str, *, tasks: int = 100, split: str = "", seed: int = 0, **overrides: Any) -> Any:
    """A page as an `inspect_ai.Task`.

    Args:
        page: a bundled page's id, or a TOML file.
        tasks: how many tasks, the first ones of its set.
        split: of the task set; "" for the page's own, else "test".
        seed: of the tools.
        overrides: keys of the page.

    Raises:
        PageError: no such page, or a key or value is wrong.
    """
    env = blueprints.load(page, **_held_out(page, split, overrides))
    chosen = [env.tasks[index] for index in range(min(tasks, len(env.tasks)))]
    return inspect_ai.Task(
        dataset=dataset.MemoryDataset([_sample(env, task) for task in chosen], name=env.page.id),
        solver=episode(env, seed=seed),
        scorer=verdict(),
        name=env.page.id,
    )


def _held_out(page: str, split: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    changed = dict(overrides)
    own = load(page, changed).tasks.get("split", "test")
    return {**changed, "tasks.split": split or own} if "split" not in changed else changed


def _sample(env: Blueprint, task: OwnTask) -> Any:
    messages = [_message(message) for message in env.prompt_messages(task)]
    return dataset.Sample(id=task.id, input=messages, target=list(task.golds) or "", metadata={"page": env.page.id})


@inspect_ai.task(name="page")  # type: ignore[untyped-decorator]
def _page(page: str, tasks: int = 100, split: str = "", seed: int = 0) -> Any:
    return page_task(page, tasks=tasks, split=split, seed=seed)


@solver.solver(name="toolenvs_episode")  # type: ignore[untyped-decorator]
def episode(env: Blueprint, *, seed: int = 0) -> Any:
    """A solver that plays the page's episode with the model that is evaluated."""

    async def solve(state: Any, generate: Any) -> Any:
        await env.check()
        task = env.task(str(state.sample_id))
        number = stable_seed("inspect", seed, task.id, state.epoch) % _SEEDS
        running = Episode(env, task, seed=number)
        told: dict[str, Any] = {"reward": 0.0, "reward_terms": {}, "calls": {}}
        try:
            while running.ending is None:
                state.messages = [_message(message) for message in running.messages]
                state.output = await model.get_model().generate(state.messages, config=_config(running))
                cut_short = state.output.stop_reason in _CUT_SHORT
                _add(told, await running.step(state.output.completion, cut_short=cut_short))
        finally:
            await running.close()
        if running.ending == "infrastructure":
            raise InfrastructureError(f"{task.id}: {told['fault']}")
        state.messages = [_message(message) for message in running.messages]
        state.store.set(STORE, told | {
            "ending": running.ending,
            "success": float(running.success or 0.0),
            "metrics": dict(running.metrics),
            "used": {name: usage.used for name, usage in running.usage().items()},
        })  # fmt: skip
        return state

    return solve


def _config(running: Episode) -> Any:
    stop: Sequence[str] = running.stop
    return model.GenerateConfig(
        stop_seqs=list(stop) or None,
        max_tokens=running.meter.tokens_left(),
        seed=stable_seed("inspect turn", running.seed, running.meter.turns) % _SEEDS,
    )


def _add(told: dict[str, Any], turn: Turn) -> None:
    told["reward"] += turn.reward
    told["fault"] = turn.fault
    for name, value in turn.reward_terms.items():
        told["reward_terms"][name] = told["reward_terms"].get(name, 0.0) + value
    for call in turn.calls:
        statuses = told["calls"].setdefault(call.tool, {})
        statuses[call.status] = statuses.get(call.status, 0) + 1


def _message(message: Mapping[str, str]) -> Any:
    """A message of ours as one of Inspect's. A tool's result answers no call that Inspect knows of, so that it becomes
    what chat templates such as Qwen's make of it: a user's message in <tool_response>."""
    role, content = message["role"], message["content"]
    if role == "system":
        return model.ChatMessageSystem(content=content)
    if role == "assistant":
        return model.ChatMessageAssistant(content=content)
    if role == "tool":
        content = f"<tool_response>\n{content}\n</tool_response>"
    return model.ChatMessageUser(content=content)


@scorer.scorer(metrics=[scorer.mean(), scorer.stderr()], name="toolenvs_verdict")  # type: ignore[untyped-decorator]
def verdict() -> Any:
    """A scorer that gives the verdict of the page's own judge; 0 where a limit of Inspect's ended the episode."""

    async def score(state: Any, target: Any) -> Any:
        told = state.store.get(STORE)
        if told is None:
            return scorer.Score(value=0.0, explanation="a limit of Inspect's ended the episode before its own end")
        return scorer.Score(
            value=told["success"],
            answer=state.output.completion,
            explanation=f"ending {told['ending']}, reward {told['reward']:g}",
            metadata=told,
        )

    return score
