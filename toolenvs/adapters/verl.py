"""verl: an agent loop whose episodes are ours.

A data set names the loop in its column `agent_name`, and the page and the task in `extra_info`; `write_dataset` makes
one. verl finds the class by a file that `actor_rollout_ref.rollout.agent.agent_loop_config_path` names:

    - name: toolenvs
      _target_: toolenvs.adapters.verl.AgentLoop
      page: toolenvs/ReTool-v0
      overrides: {budget.max_turns: 4}

Or, in a process of one's own, by `register()`. The page's reward is handed over with the episode, so that verl asks no
reward function. This module imports verl.
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from toolenvs import blueprint
from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError, EngineError, InfrastructureError, MissingExtraError
from toolenvs.rollout import Action, Request, Trajectory, run_episode
from toolenvs.tokens import Mask

try:
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
    from verl.experimental.agent_loop.agent_loop import register as register_loop
except ImportError as error:
    raise MissingExtraError("verl", "verl", "verl's agent loops") from error

NAME = "toolenvs"
"""What `agent_name` says."""
_blueprints: dict[str, Blueprint] = {}


class AgentLoop(AgentLoopBase):  # type: ignore[misc]
    """One episode a prompt. verl makes an instance of it for each.

    Args:
        page: the environment, where a row's `extra_info` names none.
        overrides: keys of the page.
        max_turn_tokens: tokens of one turn, where the page's budget leaves more; None for `rollout.response_length`.
        retries: how often an episode that infrastructure ended is run again. verl has no place for one that stays
            without a reward, so that one which fails to the last ends the step with an error.
        more: verl's own arguments.
    """

    def __init__(
        self,
        *args: Any,
        page: str = "",
        overrides: Mapping[str, Any] | None = None,
        max_turn_tokens: int | None = None,
        retries: int = 3,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        rollout = self.config.actor_rollout_ref.rollout
        self.page, self.overrides = page, dict(overrides or {})
        self.prompt_length, self.response_length = int(rollout.prompt_length), int(rollout.response_length)
        self.max_turn_tokens = max_turn_tokens or self.response_length
        self.retries = retries

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> Any:
        """Run the episode of a row of the data set.

        Raises:
            ConfigError: the row names no task or no page, or its prompt is longer than `rollout.prompt_length`.
            InfrastructureError: the episode failed as often as it was tried.
        """
        told = row.get("extra_info") or {}
        task, page = told.get("task"), told.get("page") or self.page
        if not isinstance(task, str) or not page:
            raise ConfigError(
                f"verl: extra_info {told!r:.80} names no task or no page: write_dataset() makes such rows"
            )
        env = self._environment(page)
        await env.check()
        agent = _ServedModel(self.server_manager, sampling_params, self.max_turn_tokens, self.tokenizer)
        for attempt in range(self.retries + 1):
            trajectory = await run_episode(env, agent, env.task(task), key=uuid4().hex, seed=attempt)
            if not trajectory.failed:
                return self._output(trajectory, agent)
        raise InfrastructureError(f"{page}, task {task!r}: failed {self.retries + 1} times; {trajectory.fault}")

    def _environment(self, page: str) -> Blueprint:
        """The environment, once a process; its response never exceeds what verl keeps of one."""
        key = json.dumps([page, self.overrides, self.response_length, id(self.tokenizer)], sort_keys=True, default=str)
        if key not in _blueprints:
            env = blueprint.load(page, tokenizer=self.tokenizer, **self.overrides)
            limit = env.page.budget.max_response_tokens
            if limit is None or limit > self.response_length:
                bound = {**self.overrides, "budget.max_response_tokens": self.response_length}
                env = blueprint.load(page, tokenizer=self.tokenizer, **bound)
            _blueprints[key] = env
        return _blueprints[key]

    def _output(self, trajectory: Trajectory, agent: "_ServedModel") -> Any:
        tokens = trajectory.tokens
        if tokens is None or trajectory.earlier:
            raise ConfigError(
                f"{trajectory.env} lets the policy forget, so that an episode is several sequences; verl trains on "
                "one: use a page that keeps what was read"
            )
        start = tokens.prompt_length
        if start > self.prompt_length:
            raise ConfigError(
                f"the prompt of task {trajectory.task!r} has {start} tokens, and verl keeps {self.prompt_length}: "
                "raise data.max_prompt_length, or it would train behind another prompt than the episode had"
            )
        ids, logprobs = tokens.ids.tolist()[start:], tokens.logprobs.tolist()[start:]
        mask = [int(value == Mask.POLICY) for value in tokens.mask.tolist()[start:]]
        return AgentLoopOutput(
            prompt_ids=tokens.ids.tolist()[:start],
            response_ids=ids[: self.response_length],
            response_mask=mask[: self.response_length],
            response_logprobs=logprobs[: self.response_length] if agent.told_logprobs else None,
            reward_score=trajectory.reward,
            num_turns=1 + len(trajectory.turn_rewards) + len(trajectory.calls),
            metrics=AgentLoopMetrics(
                generate_sequences=agent.seconds, tool_calls=sum(call.seconds for call in trajectory.calls)
            ),
            extra_fields={
                "turn_scores": list(trajectory.turn_rewards),
                "tool_rewards": [],
                "reward_extra_info": {"success": trajectory.success, "ending": trajectory.ending},
            },
        )


class _ServedModel:
    """verl's server as an agent."""

    def __init__(self, server: Any, sampling: Mapping[str, Any], max_turn_tokens: int, tokenizer: Any) -> None:
        self._server, self._sampling, self._limit = server, dict(sampling), max_turn_tokens
        self._tokenizer = tokenizer
        self.told_logprobs = True
        self.seconds = 0.0

    async def act(self, request: Request) -> Action:
        limit = self._limit if request.max_new_tokens is None else min(request.max_new_tokens, self._limit)
        sampling = {**self._sampling, "max_tokens": limit}
        if request.stop:
            sampling |= {"stop": list(request.stop), "include_stop_str_in_output": True}
        asked_s = time.perf_counter()
        try:
            output = await self._server.generate(
                request_id=request.key, prompt_ids=list(request.ids or ()), sampling_params=sampling
            )
        except Exception as error:
            raise EngineError(f"verl's server failed: {type(error).__name__}: {error}") from error
        finally:
            self.seconds += time.perf_counter() - asked_s
        if output.stop_reason == "aborted":
            raise EngineError("verl's server took the request back before it was done")
        ids = tuple(output.token_ids)
        logprobs = tuple(min(float(value), 0.0) for value in output.log_probs or ())
        if len(logprobs) != len(ids):  # verl asks for them only where rollout.calculate_log_probs says so
            self.told_logprobs, logprobs = False, (0.0,) * len(ids)
        return Action(ids=ids, logprobs=logprobs, cut_short=len(ids) >= limit and not self._ended(ids, request.stop))

    def _ended(self, ids: Sequence[int], stop: Sequence[str]) -> bool:
        """Whether a turn that is as long as it may be ended by itself, since verl does not tell."""
        text = str(self._tokenizer.decode(ids))
        return ids[-1] == self._tokenizer.eos_token_id or any(marker in text for marker in stop)

    def release(self, key: str) -> None:
        """verl's server keeps nothing by it."""


def register(name: str = NAME) -> type[AgentLoop]:
    """Make the loop known to verl under a name, in this process."""
    found: type[AgentLoop] = register_loop(name)(AgentLoop)
    return found


def write_dataset(path: str | Path, page: str, *, count: int | None = None, name: str = NAME, **overrides: Any) -> int:
    """The page's tasks as a Parquet file in verl's form; gives their number.

    Args:
        path: the file.
        page: the environment.
        count: of the first tasks; None for all.
        name: of the agent loop.
        overrides: keys of the page; give AgentLoop the same ones.
    """
    import pyarrow as pa
    from pyarrow import parquet

    env = blueprint.load(page, **overrides)
    rows = []
    for index in range(len(env.tasks) if count is None else min(count, len(env.tasks))):
        task = env.tasks[index]
        rows.append(
            {
                "data_source": env.page.id,
                "agent_name": name,
                "prompt": [dict(message) for message in env.prompt_messages(task)],
                "ability": "tool_use",
                "reward_model": {"style": "rule", "ground_truth": task.golds[0] if task.golds else ""},
                "extra_info": {"index": index, "task": task.id, "page": page},
            }
        )
    parquet.write_table(pa.Table.from_pylist(rows), path)
    return len(rows)
