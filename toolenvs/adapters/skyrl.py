"""SkyRL: our pages as environments of SkyRL-Gym, and as a generator of whole episodes, token in, token out.

    register("ReTool", "toolenvs/ReTool-v0")            # then "env_class": "ReTool" in the data set
    env = skyrl_gym.make("ReTool", extras={"task": "number_theory/train/0/0"})

`TextEnv` is for SkyRL's own generator, which samples and puts feedback into the conversation; `feedback_form` says how
a page wants that set. With `Generator` the episode is ours from beginning to end, whatever the page's form:

    generator = Generator("toolenvs/ReTool-v0", inference_engine_client, tokenizer)

Both are handed a row's `env_extras` with the task's id in `task`; `rows` makes such rows. An episode that
infrastructure ended is run again, and raises at last: neither form of SkyRL has a place for one without a reward.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from toolenvs import blueprint, loop
from toolenvs.blueprint import Blueprint
from toolenvs.episode import Episode
from toolenvs.errors import ConfigError, EngineError, InfrastructureError, MissingExtraError, TaskError
from toolenvs.rollout import Action, Request, Trajectory, collect
from toolenvs.tokens import Mask

try:
    import skyrl_gym
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
except ImportError as error:
    raise MissingExtraError("skyrl-gym", "skyrl", "environments of SkyRL-Gym") from error

_blueprints: dict[tuple[Any, ...], Blueprint] = {}
_seeds = itertools.count()


class TextEnv(BaseTextEnv):  # type: ignore[misc]
    """A page as an environment of SkyRL-Gym: `init`, `step`, `close`.

    Args:
        env_config: SkyRL's section for this environment; unused.
        extras: `task`, a task's id; of what else a row's extras hold nothing is read.
        page: the environment.
        overrides: keys of the page.
    """

    def __init__(
        self,
        env_config: Any = None,
        extras: Mapping[str, Any] | None = None,
        *,
        page: str = "",
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if not page:
            raise ConfigError(
                "skyrl: an environment without a page; toolenvs.adapters.skyrl.register(id, page) names it"
            )
        self.env = _load(page, overrides or {})
        self._task = (extras or {}).get("task")
        self.max_turns: int = self.env.page.budget.max_turns or 1
        self._episode: Episode | None = None

    def init(self, prompt: Any = None) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Begin the episode.

        Args:
            prompt: unused, as the page has its own.

        Returns:
            The page's chat messages, and `stop`: the strings that a turn must be sampled up to.

        Raises:
            TaskError: the row's extras name no task of the page.
            InfrastructureError: a tool does not work here.
        """
        if not isinstance(self._task, str):
            raise TaskError(
                f"skyrl: extras['task'] is {self._task!r}, and no task's id; rows() makes extras that have one"
            )
        self.close()
        loop.run(self.env.check())
        self._episode = Episode(self.env, self.env.task(self._task), seed=next(_seeds))
        self.turns = 0
        return [dict(m) for m in self._episode.prompt_messages], {"stop": list(self._episode.stop)}

    def step(self, action: str) -> Any:
        """Take a turn of the policy.

        Returns:
            `observations`: the feedback as one message, none at the end; `reward`; `done`; `metadata`: `ending`,
            `success`, `truncated`, `reward_terms`, and `stop` for the next turn.

        Raises:
            InfrastructureError: something under the environment failed, and no reward may be drawn from the episode.
        """
        episode = self._episode
        if episode is None:
            raise TaskError("skyrl: call init before step")
        self.turns += 1
        before = len(episode.messages)
        turn = loop.run_alone(episode.step(action))
        if turn.ending == "infrastructure":
            raise InfrastructureError(f"{self.env.page.id}, task {episode.task.id!r}: {turn.fault}")
        return BaseTextEnvStepOutput(
            observations=[] if turn.ending else [{"role": "user", "content": self._feedback(before, turn.observation)}],
            reward=turn.reward,
            done=turn.ending is not None,
            metadata={
                "ending": turn.ending,
                "success": episode.success,
                "truncated": turn.truncated,
                "reward_terms": dict(turn.reward_terms),
                "stop": list(episode.stop),
            },
        )

    def _feedback(self, before: int, observation: str) -> str:
        """What the chat template is to wrap, or the text as it stands in the policy's own message."""
        assert self._episode is not None
        if not self.env.protocol.turn_end:
            return observation
        told = [m["content"] for m in self._episode.messages[before:] if m["role"] == "tool"]
        return "\n".join(told)

    def get_metrics(self) -> dict[str, Any]:
        """What SkyRL logs of an episode."""
        episode = self._episode
        if episode is None or episode.success is None:
            return {}
        return {"success": float(episode.success), "tool_calls": episode.meter.calls, "turns": episode.meter.turns}

    def close(self) -> None:
        """End the episode. Closing twice is allowed."""
        if self._episode is not None:
            loop.run(self._episode.close())


def register(name: str, page: str, **overrides: Any) -> None:
    """Make a page known to SkyRL-Gym, in this process, as `skyrl_gym.make(name, extras={"task": id})`."""
    _load(page, overrides)  # what is wrong with it is said now
    skyrl_gym.register(
        id=name,
        entry_point="toolenvs.adapters.skyrl:TextEnv",
        kwargs={"page": page, "overrides": dict(overrides)},
    )


def feedback_form(page: str, **overrides: Any) -> dict[str, Any]:
    """What `generator` of SkyRL's configuration must say for `TextEnv` on this page: whether feedback stands in the
    policy's own message, and where its turns stop."""
    env = _load(page, overrides)
    return {
        "use_conversation_multi_turn": bool(env.protocol.turn_end),
        "sampling_params": {"stop": list(env.protocol.stop)},
    }


def rows(page: str, *, name: str, count: int | None = None, **overrides: Any) -> list[dict[str, Any]]:
    """The page's tasks as rows of a data set for SkyRL: `prompt`, `env_class`, and `task` among its extras.

    Args:
        page: the environment.
        name: what it was registered as.
        count: of the first tasks; None for all.
        overrides: keys of the page.
    """
    env = _load(page, overrides)
    tasks = [env.tasks[index] for index in range(len(env.tasks) if count is None else min(count, len(env.tasks)))]
    return [
        {"prompt": [dict(m) for m in env.prompt_messages(task)], "env_class": name, "task": task.id} for task in tasks
    ]


class Generator:
    """SkyRL's `GeneratorInterface`: episodes of ours on its inference engines.

    Args:
        page: the environment.
        client: SkyRL's inference engine client.
        tokenizer: the policy's.
        model: the name that the engines know the policy by; None for their own.
        max_turn_tokens: tokens of one turn, where the page's budget leaves more.
        retries: how often an episode that infrastructure ended is run again.
        concurrency: episodes that run at once.
        overrides: keys of the page.
    """

    def __init__(
        self,
        page: str,
        client: Any,
        tokenizer: Any,
        *,
        model: str | None = None,
        max_turn_tokens: int = 1024,
        retries: int = 3,
        concurrency: int = 256,
        **overrides: Any,
    ) -> None:
        self.env = blueprint.load(page, tokenizer=tokenizer, **overrides)
        self._client, self._model, self._limit = client, model, max_turn_tokens
        self._retries, self._concurrency = retries, concurrency
        self._batches = 0

    async def generate(self, input_batch: Mapping[str, Any], disable_tqdm: bool = False) -> dict[str, Any]:
        """One episode for each row of the batch.

        Returns:
            SkyRL's `GeneratorOutput`; `rewards` stand on the last policy token of each turn.

        Raises:
            ConfigError: a row names no task, or the page lets the policy forget.
            InfrastructureError: an episode failed as often as it was tried.
        """
        extras = input_batch.get("env_extras") or [{}] * len(input_batch["prompts"])
        if missing := [one for one in extras if not isinstance(one.get("task"), str)]:
            raise ConfigError(f"skyrl: env_extras {missing[0]!r:.80} names no task; rows() makes extras that have one")
        tasks = [self.env.task(one["task"]) for one in extras]
        agent = _EngineClient(self._client, self._model, input_batch.get("sampling_params") or {}, self._limit)
        seed, self._batches = self._batches, self._batches + 1
        trajectories = await collect(
            self.env, agent, tasks, seed=seed, retries=self._retries, concurrency=self._concurrency
        )
        if lost := next((one for one in trajectories if one.failed), None):
            raise InfrastructureError(f"{lost.env}, task {lost.task!r}: failed {self._retries + 1} times; {lost.fault}")
        return {**_output(trajectories, agent.told_logprobs), "trajectory_ids": input_batch.get("trajectory_ids")}


def _output(trajectories: Sequence[Trajectory], told_logprobs: bool) -> dict[str, Any]:
    """Episodes as a `GeneratorOutput`."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("prompt_token_ids", "response_ids", "rewards", "loss_masks", "rollout_logprobs")
    }
    for one in trajectories:
        tokens = one.tokens
        if tokens is None or one.earlier:
            raise ConfigError(
                f"{one.env} lets the policy forget, so that an episode is several sequences; SkyRL trains on one here: "
                "use a page that keeps what was read"
            )
        start = tokens.prompt_length
        columns["prompt_token_ids"].append(tokens.ids.tolist()[:start])
        columns["response_ids"].append(tokens.ids.tolist()[start:])
        columns["rewards"].append([float(value) for value in tokens.token_rewards(one.turn_rewards)[start:]])
        columns["loss_masks"].append([int(value == Mask.POLICY) for value in tokens.mask.tolist()[start:]])
        columns["rollout_logprobs"].append(tokens.logprobs.tolist()[start:])
    solved = [float(one.success or 0.0) for one in trajectories]
    return {
        **columns,
        "rollout_logprobs": columns["rollout_logprobs"] if told_logprobs else None,
        "stop_reasons": ["length" if one.ending == "length" else "stop" for one in trajectories],
        "rollout_metrics": {
            "environment/success": sum(solved) / max(len(solved), 1),
            "environment/tool_calls": sum(len(one.calls) for one in trajectories) / max(len(trajectories), 1),
        },
        "trajectory_generation_times": [one.seconds for one in trajectories],
        "rollout_expert_indices": None,
        "is_last_step": None,
        "env_metrics": [
            {"success": value, "ending": one.ending} for value, one in zip(solved, trajectories, strict=True)
        ],
        "pixel_values": None,
        "image_grid_thw": None,
    }


class _EngineClient:
    """SkyRL's inference engine client as an agent."""

    def __init__(self, client: Any, model: str | None, sampling: Mapping[str, Any], limit: int) -> None:
        self._client, self._model, self._sampling, self._limit = client, model, dict(sampling), limit
        self.told_logprobs = True

    async def act(self, request: Request) -> Action:
        limit = self._limit if request.max_new_tokens is None else min(request.max_new_tokens, self._limit)
        sampling = {**self._sampling, "max_tokens": limit, "stop": list(request.stop) or None}
        if request.stop:
            sampling["include_stop_str_in_output"] = True
        sampling.pop("max_generate_length", None)
        try:
            output = await self._client.generate(
                {
                    "prompts": None,
                    "prompt_token_ids": [list(request.ids or ())],
                    "sampling_params": sampling,
                    "session_ids": [request.key],
                    "mm_features": None,
                    "cache_salt": None,
                },
                **({} if self._model is None else {"model": self._model}),
            )
        except Exception as error:
            raise EngineError(f"SkyRL's engines failed: {type(error).__name__}: {error}") from error
        ids, told = tuple(output["response_ids"][0]), output.get("response_logprobs")
        logprobs = tuple(min(float(value), 0.0) for value in told[0]) if told else ()
        if len(logprobs) != len(ids):
            self.told_logprobs, logprobs = False, (0.0,) * len(ids)
        return Action(ids=ids, logprobs=logprobs, cut_short=output["stop_reasons"][0] == "length")

    def release(self, key: str) -> None:
        """The engines keep nothing that must be given back."""


def _load(page: str, overrides: Mapping[str, Any]) -> Blueprint:
    """The environment, once a process."""
    key = (page, repr(sorted(overrides.items())))
    if key not in _blueprints:
        _blueprints[key] = blueprint.load(page, **overrides)
    return _blueprints[key]
