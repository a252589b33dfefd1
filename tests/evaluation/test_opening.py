"""Engines by the word that names them, in this process and in another."""

import sys
from pathlib import Path
from typing import Any

import pytest

from toolenvs.agents.engine import Engine
from toolenvs.errors import ConfigError, EngineError
from toolenvs.evaluation import Running, Sampling, evaluate, open_agent
from toolenvs.train.engines import opening
from toolenvs.train.policy import save_policy
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import build_tokenizer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = build_tokenizer()
    return save_policy(tmp_path_factory.mktemp("model") / "policy", build_model(tokenizer, 0), tokenizer)


_PLAIN = {"prompt.template": "plain", "prompt.user": "{question}"}


def test_a_model_by_its_name_counts_its_tokens(model: Path) -> None:
    result = evaluate(
        f"hf:{model}", "ReTool-v0", tasks=3, overrides=_PLAIN, sampling=Sampling(max_turn_tokens=5), concurrency=2
    )
    measured = result.pages["ReTool-v0"]
    assert measured.completion_tokens is not None
    assert 3 <= measured.completion_tokens <= 5 * 3 * 64
    assert measured.completion_tokens == sum((t.tokens.mask == 1).sum() for t in result.trajectories if t.tokens)
    assert measured.prompt_tokens is not None
    assert "response_tokens" in measured.budgets


@pytest.mark.heavy
def test_an_engine_in_another_interpreter_is_asked_and_ended(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `vllm:` with --engine-python; the engine of transformers stands in for vLLM, which has tests of its own."""
    made: list[Engine] = []
    really = opening.open_for

    def stand_in(name: str, model: str, **options: Any) -> Engine:
        assert name == opening.VLLM
        made.append(really(opening.TRANSFORMERS, model, **options))
        return made[0]

    monkeypatch.setattr(opening, "open_for", stand_in)
    running = Running(engine_python=sys.executable)
    sampling = Sampling(max_turn_tokens=5)
    result = evaluate(f"vllm:{model}", "ReTool-v0", tasks=2, overrides=_PLAIN, sampling=sampling, running=running)
    assert result.measures["completion_tokens"] >= 2
    assert (result.measures["infrastructure"], len(made)) == (0, 1)
    assert not made[0].alive()


@pytest.mark.parametrize("spec", ["hf:/no/such/model", "vllm:/no/such/model"])
def test_no_such_model(spec: str) -> None:
    with pytest.raises((ConfigError, EngineError), match="can be loaded from"):
        open_agent(spec, Sampling())
