"""Our episodes as verl's agent loop, driven by verl's own worker: `make test-adapters` installs verl."""

import asyncio
import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.adapters.conftest import PLAIN
from toolenvs.errors import ConfigError, InfrastructureError, SandboxError

pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("default")]
OVERRIDES = PLAIN
CALL = "<code>\n```python\nprint(6 * 7)\n```\n</code>"
ANSWER = "<answer>\n\\boxed{42}\n</answer><|endoftext|>"
PROMPT, RESPONSE = 40, 120


class Server:
    """Stands where verl's server client does: samples given texts, and keeps what it was asked."""

    def __init__(self, tokenizer: Any, texts: list[str], *, logprobs: bool = True) -> None:
        self.tokenizer, self.texts, self.logprobs = tokenizer, texts, logprobs
        self.asked: list[tuple[list[int], dict[str, Any]]] = []

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        from verl.workers.rollout.replica import TokenOutput

        self.asked.append((prompt_ids, sampling_params))
        text = self.tokenizer.decode(prompt_ids)
        ids = self.tokenizer.encode(self.texts["<interpreter>" in text], add_special_tokens=False)
        ids = ids[: sampling_params["max_tokens"]]
        return TokenOutput(token_ids=ids, log_probs=[-0.5] * len(ids) if self.logprobs else None)


@pytest.fixture
def worker(tokenizer: Any) -> Any:
    """`worker(server, **loop)`: verl's AgentLoopWorker without its Ray actors, with our loop registered."""
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop import agent_loop

    def make(server: Any, *, prompt: int = PROMPT, response: int = RESPONSE, **options: Any) -> Any:
        made = object.__new__(agent_loop.AgentLoopWorker)
        rollout = {"prompt_length": prompt, "response_length": response, "temperature": 1.0, "top_p": 1.0, "top_k": -1}
        made.config = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})
        made.rollout_config = SimpleNamespace(**rollout, calculate_log_probs=True)
        made.llm_client, made.tokenizer, made.processor, made.tools = server, tokenizer, None, []
        made.hf_model_type, made.dataset_cls, made.mm_processor_kwargs = None, None, {}
        made.reward_loop_worker_handles, made.distillation_enabled = None, False
        agent_loop._agent_loop_registry["toolenvs"] = {
            "_target_": "toolenvs.adapters.verl.AgentLoop",
            "page": "toolenvs/ReTool-v0",
            "overrides": OVERRIDES,
            **options,
        }
        return made

    return make


def run(worker: Any, task: str = "arithmetic/train/0/0", **row: Any) -> Any:
    """One row through verl's own path: it instantiates the loop, runs it, pads and stacks."""
    trajectory = {"step": 0, "sample_index": 0, "rollout_n": 0, "validate": False}
    row = {"raw_prompt": [], "extra_info": {"task": task}, **row}
    sampling = {"temperature": 1.0, "top_p": 1.0, "logprobs": True}
    return asyncio.run(worker._run_agent_loop(sampling, trajectory, agent_name="toolenvs", trace=False, **row))


def test_the_interface_is_as_recorded() -> None:
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register

    from toolenvs.adapters.verl import AgentLoop

    assert issubclass(AgentLoop, AgentLoopBase)
    assert list(inspect.signature(AgentLoopBase.run).parameters) == ["self", "sampling_params", "kwargs"]
    assert list(inspect.signature(register).parameters) == ["agent_name"]
    assert {"prompt_ids", "response_ids", "response_mask", "response_logprobs", "num_turns", "reward_score"} <= set(
        AgentLoopOutput.model_fields
    )


def test_verls_worker_gets_our_tokens_mask_and_reward(worker: Any, tokenizer: Any) -> None:
    server = Server(tokenizer, [CALL, ANSWER])
    output = run(worker(server))
    own = tokenizer.encode(CALL, add_special_tokens=False), tokenizer.encode(ANSWER, add_special_tokens=False)
    observation = tokenizer.encode("\n<interpreter>\n42</interpreter>\n\n", add_special_tokens=False)
    expected = [*own[0], *observation, *own[1]]
    length = len(expected)
    assert output.response_ids[0, :length].tolist() == expected
    mask = [1] * len(own[0]) + [0] * len(observation) + [1] * len(own[1])
    assert output.response_mask[0].tolist() == mask + [0] * (RESPONSE - length)
    assert output.response_logprobs[0, :length].tolist() == [-0.5 * value for value in mask]
    assert output.attention_mask.shape == (1, PROMPT + RESPONSE)
    assert output.reward_score == -1.0  # the task is another sum
    assert output.num_turns == 4
    assert output.extra_fields["reward_extra_info"] == {"success": 0.0, "ending": "answer"}
    first, second = server.asked
    assert second[0] == [*first[0], *own[0], *observation]  # token in, token out
    assert first[1]["stop"] == ["</code>"]


def test_without_log_probabilities_none_are_made_up(worker: Any, tokenizer: Any) -> None:
    assert run(worker(Server(tokenizer, [CALL, ANSWER], logprobs=False))).response_logprobs is None


def test_a_response_is_never_longer_than_verl_keeps(worker: Any, tokenizer: Any) -> None:
    output = run(worker(Server(tokenizer, [CALL, "so " * 400]), response=60))
    assert output.response_ids.shape == (1, 60)
    assert int(output.attention_mask[0, PROMPT:].sum()) <= 60
    assert output.extra_fields["reward_extra_info"]["ending"] == "length"


def test_a_prompt_that_verl_would_cut_is_refused(worker: Any, tokenizer: Any) -> None:
    with pytest.raises(ConfigError, match="raise data.max_prompt_length"):
        run(worker(Server(tokenizer, [ANSWER, ANSWER]), prompt=3))


def test_a_row_that_names_no_task_is_refused(worker: Any, tokenizer: Any) -> None:
    with pytest.raises(ConfigError, match="names no task or no page"):
        run(worker(Server(tokenizer, [ANSWER, ANSWER])), extra_info={"index": 3})


def test_a_failure_is_tried_again_and_is_never_a_reward(
    worker: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolenvs.episode import Episode

    calls, ran = {"left": 1}, Episode._run

    async def failing(self: Episode, call: Any) -> Any:
        calls["left"] -= 1
        if calls["left"] >= 0:
            raise SandboxError("the sandbox died")
        return await ran(self, call)

    monkeypatch.setattr(Episode, "_run", failing)
    output = run(worker(Server(tokenizer, [CALL, ANSWER])))
    assert output.extra_fields["reward_extra_info"]["ending"] == "answer"
    calls["left"] = 99
    with pytest.raises(InfrastructureError, match=r"failed 3 times; the sandbox died"):
        run(worker(Server(tokenizer, [CALL, ANSWER]), retries=2))


def test_a_server_that_fails_is_infrastructure(worker: Any, tokenizer: Any) -> None:
    class Dead(Server):
        async def generate(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError("no server")

    with pytest.raises(InfrastructureError, match="ConnectionError: no server"):
        run(worker(Dead(tokenizer, []), retries=0))


def test_the_loop_registers_by_name() -> None:
    from verl.experimental.agent_loop import agent_loop

    from toolenvs.adapters.verl import register

    register("ours")
    assert agent_loop._agent_loop_registry["ours"] == {"_target_": "toolenvs.adapters.verl.AgentLoop"}


def test_the_data_set_is_verls(tmp_path: Path) -> None:
    from pyarrow import parquet

    from toolenvs.adapters.verl import write_dataset

    assert write_dataset(tmp_path / "train.parquet", "toolenvs/ReTool-v0", count=5, **OVERRIDES) == 5
    table = parquet.read_table(tmp_path / "train.parquet").to_pylist()
    assert [row["agent_name"] for row in table] == ["toolenvs"] * 5
    assert table[0]["extra_info"] == {"index": 0, "page": "toolenvs/ReTool-v0", "task": "arithmetic/train/0/0"}
    assert table[0]["prompt"][0]["role"] == "user"
    assert np.all([row["reward_model"]["ground_truth"] for row in table])
