"""Inspect AI runs our pages with its mock model; its log holds our verdicts. `make test-inspect` installs it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import toolenvs
from toolenvs.errors import SandboxError

pytestmark = pytest.mark.inspect


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mock model estimates its tokens with a vocabulary that it would download; words do as well."""
    import tiktoken

    words = SimpleNamespace(encode=lambda text, **_: text.split())
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: words)


_CALL = "Let me see. <code>\n```python\nprint(6 * 7)\n```\n"  # as an engine gives it, the stop string left out


def _model(write: Any) -> tuple[Any, list[Any]]:
    """A model that writes what `write(messages)` gives, and the (messages, configuration) that it was asked with."""
    from inspect_ai.model import ModelOutput, get_model

    asked: list[Any] = []

    def answer(messages: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        asked.append((messages, config))
        return ModelOutput.from_content("mockllm/model", write(messages))

    return get_model("mockllm/model", custom_outputs=answer), asked


def _page(page: str, **given: Any) -> Any:
    from toolenvs.adapters.inspect import page_task

    return page_task(page, **given)


def _run(task: Any, model: Any, folder: Path, **options: Any) -> Any:
    import inspect_ai

    (log,) = inspect_ai.eval(task, model=model, log_dir=str(folder), display="none", **options)
    return log


def test_an_episode_with_a_call_and_its_verdict(tmp_path: Path) -> None:
    golds = {task.question: task.gold for task in (toolenvs.load("ReTool-v0", split="test").tasks[i] for i in range(3))}

    def write(messages: Any) -> str:
        if messages[-1].role != "assistant":
            return _CALL
        gold = next(gold for question, gold in golds.items() if question in messages[-2].text)
        return f"\\boxed{{{gold}}}" if gold != list(golds.values())[1] else "\\boxed{none}"

    model, asked = _model(write)
    log = _run(_page("ReTool-v0", tasks=3), model, tmp_path, epochs=2)
    assert log.status == "success"
    assert len(log.samples) == 6
    right = [list(golds.values()).index(sample.target[0] if isinstance(sample.target, list) else sample.target) != 1
             for sample in log.samples]  # fmt: skip
    scores = [sample.scores["toolenvs_verdict"] for sample in log.samples]
    assert [score.value == 1 for score in scores] == right
    assert {score.metadata["ending"] for score in scores} == {"answer"}
    assert scores[0].metadata["calls"] == {"python": {"ok": 1}}
    assert scores[0].metadata["reward"] == sum(scores[0].metadata["reward_terms"].values())
    (metric,) = (m.value for m in log.results.scores[0].metrics.values() if m.name == "mean")
    assert metric == pytest.approx(sum(right) / 6)
    messages, config = asked[0]
    assert config.stop_seqs == ["</code>"]
    assert [message.role for message in messages] == ["user"]
    assert any("42" in message.text for message in log.samples[0].messages)


def test_a_page_whose_turns_are_messages(tmp_path: Path) -> None:
    call = '<tool_call>\n{"name": "code_interpreter", "arguments": {"code": "print(6 * 7)"}}\n</tool_call>'
    model, asked = _model(lambda messages: "\\boxed{1}" if "<tool_response>\n42" in messages[-1].text else call)
    log = _run(_page("ReToolChat-v0", tasks=1, max_turns=3), model, tmp_path)
    assert log.status == "success"
    last = asked[-1][0]
    assert [message.role for message in last][-2:] == ["assistant", "user"]
    assert last[-1].text == "<tool_response>\n42\n</tool_response>"


def test_infrastructure_is_an_error_and_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = _page("ReTool-v0", tasks=1)

    async def gone(*_: Any, **__: Any) -> None:
        raise SandboxError("the sandbox is gone")

    monkeypatch.setattr("toolenvs.tools.python.Tool.open", gone)
    model, _ = _model(lambda messages: _CALL)
    log = _run(task, model, tmp_path)
    assert log.status == "error"
    assert "the sandbox is gone" in log.error.message


def test_a_limit_of_inspects_is_a_wrong_answer(tmp_path: Path) -> None:
    model, _ = _model(lambda messages: _CALL)
    log = _run(_page("ReTool-v0", tasks=1), model, tmp_path, message_limit=2)
    (sample,) = log.samples
    assert sample.limit is not None
    assert sample.scores["toolenvs_verdict"].value == 0
