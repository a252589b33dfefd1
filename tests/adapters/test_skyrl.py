"""Our pages as environments of SkyRL-Gym, and as SkyRL's generator: `make test-adapters` installs skyrl-gym.

`skyrl` itself does not import beside our pydantic on Python 3.11: `GENERATOR_OUTPUT` records what its 0.3.0 says a
generator gives.
"""

import asyncio
from typing import Any

import pytest

from tests.adapters.conftest import PLAIN
from toolenvs.errors import ConfigError, InfrastructureError, SandboxError, TaskError

pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("default")]
CALL = "<code>\n```python\nprint(6 * 7)\n```\n</code>"
ANSWER = "<answer>\n\\boxed{42}\n</answer><|endoftext|>"
TASK = "arithmetic/train/0/0"
GENERATOR_OUTPUT = {
    "prompt_token_ids",
    "response_ids",
    "rewards",
    "loss_masks",
    "stop_reasons",
    "rollout_metrics",
    "rollout_logprobs",
    "trajectory_ids",
    "trajectory_generation_times",
    "rollout_expert_indices",
    "is_last_step",
    "env_metrics",
    "pixel_values",
    "image_grid_thw",
}
"""Recorded, not imported: the keys of skyrl.train.generators.base.GeneratorOutput, skyrl 0.3.0."""


@pytest.fixture
def made() -> Any:
    """`made(**extras)`: an environment by SkyRL-Gym's own registry."""
    import skyrl_gym

    from toolenvs.adapters.skyrl import register

    skyrl_gym.registry.pop("ReTool", None) if hasattr(skyrl_gym, "registry") else None
    register("ReTool", "toolenvs/ReTool-v0", **PLAIN)
    return lambda **extras: skyrl_gym.make("ReTool", env_config={}, extras={"task": TASK, **extras})


def test_an_episode_through_skyrl_gyms_own_make(made: Any) -> None:
    from skyrl_gym.envs.base_text_env import BaseTextEnv

    env = made(max_turns=3)
    assert isinstance(env.unwrapped if hasattr(env, "unwrapped") else env, BaseTextEnv)
    prompt, told = env.init([{"role": "user", "content": "passed over"}])
    assert prompt[0]["role"] == "user"
    assert told["stop"] == ["</code>"]
    output = env.step(CALL)
    assert output["observations"] == [{"role": "user", "content": "\n<interpreter>\n42</interpreter>\n\n"}]
    assert (output["reward"], output["done"]) == (0.0, False)
    output = env.step(ANSWER)
    assert (output["observations"], output["reward"], output["done"]) == ([], -1.0, True)
    assert output["metadata"]["ending"] == "answer"
    assert output["metadata"]["success"] is False
    assert env.get_metrics() == {"success": 0.0, "tool_calls": 1, "turns": 2}
    env.close()


def test_feedback_of_a_chat_page_is_a_message_of_its_own() -> None:
    from toolenvs.adapters.skyrl import TextEnv, feedback_form

    page = {"page": "toolenvs/ReToolChat-v0", "overrides": {}}
    env = TextEnv({}, {"task": "number_theory/train/0/0"}, **page)
    env.init([])
    text = '<tool_call>\n{"name": "code_interpreter", "arguments": {"code": "print(6 * 7)"}}\n</tool_call>'
    assert env.step(text)["observations"] == [{"role": "user", "content": "42"}]
    env.close()
    assert feedback_form("toolenvs/ReToolChat-v0")["use_conversation_multi_turn"] is True
    assert feedback_form("toolenvs/ReTool-v0") == {
        "use_conversation_multi_turn": False,
        "sampling_params": {"stop": ["</code>"]},
    }


def test_a_failure_is_never_a_reward(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolenvs.episode import Episode

    async def dead(self: Episode, call: Any) -> Any:
        raise SandboxError("the sandbox died")

    monkeypatch.setattr(Episode, "_run", dead)
    env = made()
    env.init([])
    with pytest.raises(InfrastructureError, match="the sandbox died"):
        env.step(CALL)


def test_what_names_no_task_is_refused(made: Any) -> None:
    with pytest.raises(TaskError, match=r"extras\['task'\] is None"):
        made(task=None).init([])
    with pytest.raises(TaskError, match="before step"):
        made().step("x")


class Client:
    """Stands where SkyRL's inference engine client does."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer, self.asked = tokenizer, []

    async def generate(self, batch: Any, model: str | None = None) -> Any:
        self.asked.append(batch)
        (ids,) = batch["prompt_token_ids"]
        text = ANSWER if "<interpreter>" in self.tokenizer.decode(ids) else CALL
        sampled = self.tokenizer.encode(text, add_special_tokens=False)
        return {
            "responses": [text],
            "response_ids": [sampled],
            "stop_reasons": ["stop"],
            "response_logprobs": [[-0.25] * len(sampled)],
        }


def test_the_generator_gives_what_skyrl_trains_on(tokenizer: Any) -> None:
    from toolenvs.adapters.skyrl import Generator, rows

    client = Client(tokenizer)
    generator = Generator("toolenvs/ReTool-v0", client, tokenizer, **PLAIN)
    made = rows("toolenvs/ReTool-v0", name="ReTool", count=2, **PLAIN)
    batch = {
        "prompts": [row["prompt"] for row in made],
        "env_classes": ["ReTool"] * 2,
        "env_extras": [{"task": row["task"]} for row in made],
        "sampling_params": {"temperature": 1.0, "max_generate_length": 64},
        "trajectory_ids": None,
    }
    output = asyncio.run(generator.generate(batch))
    assert set(output) == GENERATOR_OUTPUT
    for prompt, response, rewards, mask, logprobs in zip(
        *(output[name] for name in ("prompt_token_ids", "response_ids", "rewards", "loss_masks", "rollout_logprobs")),
        strict=True,
    ):
        assert prompt
        assert len(response) == len(rewards) == len(mask) == len(logprobs)
        assert [value == -0.25 for value in logprobs] == [bool(value) for value in mask]
        assert mask[-1] == 1
        assert rewards[-1] == sum(rewards) == -1.0
        shown = tokenizer.decode([token for token, own in zip(response, mask, strict=True) if not own])
        assert shown == "\n<interpreter>\n42</interpreter>\n\n"
    assert output["stop_reasons"] == ["stop", "stop"]
    assert output["rollout_metrics"] == {"environment/success": 0.0, "environment/tool_calls": 1.0}
    assert "max_generate_length" not in client.asked[0]["sampling_params"]
    with pytest.raises(ConfigError, match="names no task"):
        asyncio.run(generator.generate({**batch, "env_extras": None}))
