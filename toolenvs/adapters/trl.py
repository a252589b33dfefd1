"""TRL: its GRPOTrainer trains in our environments, through either of its entry points.

`Rollout` is a `rollout_func`. Episodes are ours from beginning to end: the page's prompt, protocol, budgets and reward,
tokens kept as they were sampled, and the mask that was written as they were appended.

    rollout = Rollout("toolenvs/ReTool-v0", tokenizer)
    GRPOTrainer(model, rollout.reward, args, rollout.dataset(), rollout_func=rollout).train()

`environment_factory` is for a model whose chat template knows tools. TRL samples, reads the calls and writes their
results by that template; the tools, the budgets and the reward are the page's.

    environment = environment_factory("toolenvs/ReToolChat-v0")
    GRPOTrainer(model, environment.reward, args, environment.dataset(), environment_factory=environment).train()

An episode that infrastructure ended has no reward: TRL is told None for it, which leaves it out of its group's mean.
"""

import functools
import itertools
import json
import logging
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, ClassVar

import numpy as np

from toolenvs import blueprint, loop
from toolenvs.agents.engine import Engine, EngineAgent, Sampling
from toolenvs.attended import Attended
from toolenvs.blueprint import Blueprint
from toolenvs.episode import Episode
from toolenvs.errors import ConfigError, InfrastructureError, MissingExtraError, TaskError
from toolenvs.page import Page
from toolenvs.protocols.base import Call
from toolenvs.rollout import Trajectory, collect
from toolenvs.tokens import Mask

TASK = "task"
"""Where a row of our data sets, and each message of its prompt, keeps the task's id."""
_UNSHARDED = ("NO", "MULTI_CPU", "MULTI_GPU")
_NEUTRAL = {"top_k": (0, None), "min_p": (0, None), "repetition_penalty": (1,), "generation_kwargs": (None,)}
"""Settings of TRL's sampling that our engines do not have, and the values that leave them out."""
_log = logging.getLogger(__name__)


class Rollout:
    """A `rollout_func`: one episode of the page for each prompt.

    Args:
        page: as of `toolenvs.blueprint.load`.
        tokenizer: the policy's, a fast one.
        engine: what samples; it is given the trainer's weights after each step. None samples from the very model that
            is trained.
        max_turn_tokens: tokens of one turn, where the page's budget leaves more; None for TRL's
            `max_completion_length`, which has no other meaning here: the page's `max_response_tokens` bounds a whole
            response.
        train_cut_short: False leaves episodes that a limit on length cut out of the loss.
        retries: how often an episode that infrastructure ended is run again.
        concurrency: episodes that run at once.
        on_trajectory: told of each episode as it ends, such as `TrajectoryWriter(path).write`.
        overrides: keys of the page.

    Raises:
        PageError: no such page, or a key or value is wrong.
    """

    def __init__(
        self,
        page: str | Page,
        tokenizer: Any,
        *,
        engine: Engine | None = None,
        max_turn_tokens: int | None = None,
        train_cut_short: bool = True,
        retries: int = 1,
        concurrency: int = 256,
        on_trajectory: Callable[[Trajectory], None] | None = None,
        **overrides: Any,
    ) -> None:
        self.__name__ = "toolenvs"  # TRL and accelerate ask callables for it
        self.env = blueprint.load(page, tokenizer=tokenizer, **overrides)
        self.reward = episode_reward
        """The reward function to hand to the trainer: what the page paid, None after an infrastructure failure."""
        self._tokenizer = tokenizer
        self._engine = engine
        self._own: tuple[Any, Engine] | None = None
        self._pushed: tuple[Engine, int] | None = None
        self._max_turn_tokens = max_turn_tokens
        self._train_cut_short = train_cut_short
        self._options = {"retries": retries, "concurrency": concurrency, "on_trajectory": on_trajectory}
        self._calls = 0
        self._episodes = Attended()
        weakref.finalize(self, self._episodes.close)

    def dataset(self, count: int | None = None) -> Any:
        """The page's tasks as a data set for the trainer: `prompt`, chat messages, and `task`, the id.

        Args:
            count: of the first tasks; None for all.
        """
        return _dataset(self.env, count)

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, list[Any]]:
        """Run the episodes. TRL repeats each prompt as often as its group has members.

        Returns:
            What TRL asks for: `prompt_ids`, `completion_ids`, `logprobs` and `env_mask`, and for the reward function
            `episode_reward`, `success`, `ending`, `calls` and `reward_terms`; one entry a prompt each.

        Raises:
            ConfigError: a prompt is of another data set, a setting of the trainer cannot be followed, or the page lets
                the policy forget, so that an episode is several sequences and TRL has room for one.
            InfrastructureError: every episode failed.
        """
        args, state = trainer.args, trainer.state
        self._refuse(trainer)
        tasks = [self.env.task(_task_of(prompt)) for prompt in prompts]
        sampling = Sampling(
            temperature=args.temperature,
            top_p=args.top_p,
            max_turn_tokens=self._max_turn_tokens or args.max_completion_length,
        )
        agent = EngineAgent(self._ready_engine(trainer), sampling)
        rank = trainer.accelerator.process_index
        seed = int(np.random.SeedSequence([args.seed, state.global_step, self._calls, rank]).generate_state(1)[0])
        self._calls += 1
        progress = min(state.global_step / max(state.max_steps, 1), 1.0)
        trajectories: list[Trajectory] = self._episodes.run(
            collect(self.env, agent, tasks, seed=seed, progress=progress, **self._options)  # type: ignore[arg-type]
        )
        if trajectories and all(trajectory.failed for trajectory in trajectories):
            raise InfrastructureError(
                f"all {len(trajectories)} episodes failed; the first one: {trajectories[0].fault}"
            )
        return output_of(trajectories, filler=self._tokenizer.eos_token_id, train_cut_short=self._train_cut_short)

    def _ready_engine(self, trainer: Any) -> Engine:
        """The engine, with the weights of this step."""
        from toolenvs.train.engines.sync import push
        from toolenvs.train.engines.transformers import TransformersEngine

        model = trainer.accelerator.unwrap_model(trainer.model)
        if self._engine is None and (self._own is None or self._own[0] is not model):
            self._own = model, TransformersEngine(model, self._tokenizer)
        engine = self._engine or self._own[1]  # type: ignore[index]  # one of them is there
        if self._pushed != (engine, trainer.state.global_step) or not engine.alive():
            push(engine, model, trainer.state.global_step)
            self._pushed = engine, trainer.state.global_step
        return engine

    def _refuse(self, trainer: Any) -> None:
        """Settings that would be passed over in silence."""
        args = trainer.args
        for name, neutral in _NEUTRAL.items():
            if (value := getattr(args, name, None)) not in neutral and value is not None:
                raise ConfigError(f"GRPOConfig.{name} = {value!r}: episodes are not sampled by TRL; leave it out")
        if args.use_vllm and self._engine is None:
            raise ConfigError("GRPOConfig.use_vllm: episodes are not sampled by TRL; give Rollout an engine instead")
        if args.mask_truncated_completions:
            raise ConfigError(
                "GRPOConfig.mask_truncated_completions: TRL takes every episode that does not end with the end-of-text "
                "token for cut; leave it out, and give Rollout train_cut_short=False"
            )
        kind = getattr(trainer.accelerator.distributed_type, "name", "NO")
        if kind not in _UNSHARDED:
            raise ConfigError(f"the trainer's weights are sharded ({kind}), and no engine here can gather them")


def output_of(trajectories: Sequence[Trajectory], *, filler: int, train_cut_short: bool = True) -> dict[str, list[Any]]:
    """Episodes in the form of a rollout function's result.

    Args:
        trajectories: with tokens.
        filler: a token that stands, masked, for a response of no tokens, which TRL has no room for.
        train_cut_short: False masks all tokens of episodes that a limit on length cut.

    Raises:
        ConfigError: an episode makes several sequences, or has no tokens.
    """
    columns: dict[str, list[Any]] = {
        name: [] for name in ("prompt_ids", "completion_ids", "logprobs", "env_mask", *_FOR_REWARD)
    }
    for one in trajectories:
        if one.tokens is None:
            raise ConfigError(f"episode {one.key} of {one.env} has no tokens: its agent answered with text")
        if one.earlier:
            raise ConfigError(
                f"{one.env} lets the policy forget, so that episode {one.key} is {len(one.sequences)} sequences; TRL "
                "trains on one: use baselines/grpo.py, or a page that keeps what was read"
            )
        start = one.tokens.prompt_length
        ids, logprobs = one.tokens.ids.tolist(), one.tokens.logprobs.tolist()
        trained = not one.failed and (train_cut_short or one.ending != "length")
        mask = [int(value == Mask.POLICY and trained) for value in one.tokens.mask.tolist()]
        columns["prompt_ids"].append(ids[:start])
        columns["completion_ids"].append(ids[start:] or [filler])
        columns["logprobs"].append(logprobs[start:] or [0.0])
        columns["env_mask"].append(mask[start:] or [0])
        columns["episode_reward"].append(None if one.failed else one.reward)
        columns["success"].append(one.success)
        columns["ending"].append(one.ending)
        columns["calls"].append(len(one.calls))
        columns["reward_terms"].append(dict(one.reward_terms))
    return columns


_FOR_REWARD = ("episode_reward", "success", "ending", "calls", "reward_terms")


def episode_reward(
    episode_reward: Sequence[float | None],
    success: Sequence[float | None] = (),
    ending: Sequence[str] = (),
    calls: Sequence[int] = (),
    log_metric: Callable[[str, float], None] | None = None,
    **_: Any,
) -> list[float | None]:
    """What the environment paid for each episode; None where it failed."""
    if log_metric is not None and ending:
        whole = [index for index, name in enumerate(ending) if name != "infrastructure"]
        log_metric("infrastructure", 1 - len(whole) / len(ending))
        if whole:
            log_metric("success", float(np.mean([success[index] or 0.0 for index in whole])))
            log_metric("calls", float(np.mean([calls[index] for index in whole])))
    return list(episode_reward)


class Environment:
    """What `environment_factory` makes classes of: an episode whose tools are methods. One instance is used again and
    again, as TRL does."""

    env: ClassVar[Blueprint]
    names: ClassVar[Mapping[str, str]]
    """The page's key of each tool, by the name that the policy calls."""
    dataset: ClassVar[Callable[..., Any]]
    """`dataset(count=None)`: the page's tasks as a data set for the trainer, as of `Rollout.dataset`."""
    reward: ClassVar[Callable[..., list[float | None]]]
    """The reward function to hand to the trainer: what the page paid, None after an infrastructure failure."""
    _seeds: ClassVar[Iterator[int]]

    def __init__(self) -> None:
        self._episode: Episode | None = None
        self._paid = 0.0
        self._fault: str | None = None

    def reset(self, task: str = "", **_: Any) -> None:
        """Begin the episode about a task.

        Raises:
            TaskError: there is no such task.
        """
        if self._episode is not None:
            loop.run(self._episode.close())
        self._episode = Episode(self.env, self.env.task(task), seed=next(self._seeds))
        self._paid, self._fault = 0.0, None

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """One call, as a turn of the episode."""
        episode = self._episode
        if episode is None:
            raise TaskError(f"{name} was called before reset")
        if episode.ending is not None:
            return f"The episode is over ({episode.ending}): nothing can be called any more."
        text = self.env.protocol.write_call(Call(self.names[name], arguments))
        head, closing = text.index("\n"), text.rindex("\n</tool_call>")
        # within JSON a "<" stands in strings only, and escaped it cannot be taken for a tag
        action = text[:head] + text[head:closing].replace("<", "\\u003c") + text[closing:]
        turn = loop.run_alone(episode.step(action))
        self._paid += turn.reward
        self._fault = turn.fault
        return turn.calls[-1].result if turn.calls else turn.observation

    def _finish(self, messages: Sequence[Mapping[str, Any]]) -> float | None:
        episode = self._episode
        if episode is None:
            raise TaskError("a completion is to be rewarded whose environment was never reset")
        if episode.ending is None:
            last = messages[-1] if messages and messages[-1].get("role") == "assistant" else {}
            # a call that TRL did not run means that one of its own limits ended the episode
            cut = not last or bool(last.get("tool_calls"))
            turn = loop.run_alone(episode.step(str(last.get("content") or ""), cut_short=cut))
            self._paid += turn.reward
            self._fault = turn.fault
        if episode.ending == "infrastructure":
            _log.warning("an episode about %r failed and is not learned from: %s", episode.task.id, self._fault)
            return None
        return self._paid


def environment_reward(
    completions: Sequence[Sequence[Mapping[str, Any]]], environments: Sequence[Environment], **_: Any
) -> list[float | None]:
    """End each episode with the last message of its completion.

    Returns:
        What the page paid in all; None where infrastructure failed.

    Raises:
        InfrastructureError: every episode failed.
    """
    paid = [one._finish(messages) for one, messages in zip(environments, completions, strict=True)]
    if paid and all(one is None for one in paid):
        raise InfrastructureError(f"all {len(paid)} episodes failed; the first one: {environments[0]._fault}")
    return paid


def environment_factory(page: str | Page, **overrides: Any) -> type[Environment]:
    """An `environment_factory`: a class whose methods are the page's tools, by the names that the policy calls.

    The policy's text before a call does not reach the environment, since TRL hands over the arguments alone: reward
    terms that read it see the call only.

    Args:
        page: one whose protocol is "tool_calls": its prompt says nothing of how a call is written, as the model's chat
            template does.
        overrides: keys of the page.

    Raises:
        PageError: no such page, or a key or value is wrong.
        ConfigError: the page's calls are written in a form of its own.
        InfrastructureError: a tool does not work here.
    """
    env = blueprint.load(page, **overrides)
    if env.page.protocol.kind != "tool_calls":
        raise ConfigError(
            f"{env.page.id} has the policy write calls in a form of its own (protocol.kind is "
            f"{env.page.protocol.kind!r}), and TRL reads those of the chat template: use Rollout for it"
        )
    loop.run(env.check())
    names = {_called(env, key): key for key in env.tools}
    methods = {
        name: _method(name, env.tools[key].description, env.tools[key].parameters) for name, key in names.items()
    }
    if clash := set(methods) & set(dir(Environment)):
        raise ConfigError(f"{env.page.id}: a tool is called {sorted(clash)[0]!r}, which TRL keeps for the environment")
    # TRL takes every function in the class but two for a tool, and these are none
    beside = {"dataset": functools.partial(_dataset, env), "reward": functools.partial(environment_reward)}
    own = {"env": env, "names": names, "_seeds": itertools.count(), "__module__": __name__}
    own |= {name: staticmethod(made) for name, made in beside.items()}
    return type(env.page.id.rpartition("/")[2].replace("-", "_"), (Environment,), {**own, **methods})


def _called(env: Blueprint, key: str) -> str:
    """The name that the policy calls a tool by."""
    text = env.protocol.write_call(Call(key, {}))
    return str(json.loads(text[text.index("\n") : text.rindex("\n</tool_call>")])["name"])


_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": None,
}


def _method(name: str, description: str, schema: Mapping[str, Any]) -> Callable[..., str]:
    """A method whose signature and docstring say what the schema does, since TRL describes tools by these."""

    def method(self: Environment, **arguments: Any) -> str:
        return self._call(name, {key: value for key, value in arguments.items() if value is not None})

    parameters, told = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)], []
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    required = schema.get("required", list(properties))
    for key in sorted(properties, key=lambda key: key not in required):
        hint = _hint(properties[key])
        default = Parameter.empty if key in required else None
        parameters.append(
            Parameter(key, Parameter.KEYWORD_ONLY, default=default, annotation=hint if key in required else hint | None)
        )
        says = " ".join(str(properties[key].get("description", key)).split())
        choices = properties[key].get("enum")
        told.append(f"    {key}: {says}" + (f" (choices: {json.dumps(choices)})" if choices else ""))
    arguments = "\n\nArgs:\n" + "\n".join(told) if told else ""
    method.__name__ = method.__qualname__ = name
    method.__doc__ = " ".join(description.split()) + arguments
    method.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    method.__annotations__ = {p.name: p.annotation for p in parameters[1:]}
    return method


def _hint(schema: Mapping[str, Any]) -> Any:
    """The type of one argument."""
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        hints = [_TYPES[one] for one in kind]
        hint = hints[0]
        for other in hints[1:]:
            hint = hint | other
        return hint
    if kind == "array" and "items" in schema:
        return list[_hint(schema["items"])]  # type: ignore[misc]
    return _TYPES[kind]


def _dataset(env: Blueprint, count: int | None = None) -> Any:
    try:
        from datasets import Dataset
    except ImportError as error:
        raise MissingExtraError("datasets", "trl", "a data set for TRL") from error
    rows = []
    for index in range(len(env.tasks) if count is None else min(count, len(env.tasks))):
        task = env.tasks[index]
        prompt = [{"role": m["role"], "content": m["content"], TASK: task.id} for m in env.prompt_messages(task)]
        rows.append({"prompt": prompt, TASK: task.id})
    return Dataset.from_list(rows)


def _task_of(prompt: Any) -> str:
    """The id that a prompt of our data set carries."""
    found = prompt[0].get(TASK) if isinstance(prompt, list) and prompt and isinstance(prompt[0], Mapping) else None
    if not isinstance(found, str):
        raise ConfigError(f"prompt {prompt!r:.80} names no task: train on the data set that Rollout.dataset() gives")
    return found
