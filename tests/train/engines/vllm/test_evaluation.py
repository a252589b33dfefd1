"""An evaluation whose agent is vLLM, in an interpreter of its own, from the word that names it."""

from toolenvs.evaluation import Running, Sampling, evaluate

_PLAIN = {"prompt.template": "plain", "prompt.user": "{question}"}


def test_vllm_is_started_asked_counted_and_ended(folder, python, options):
    result = evaluate(
        f"vllm:{folder}",
        "ReTool-v0",
        tasks=3,
        overrides=_PLAIN,
        sampling=Sampling(max_turn_tokens=8),
        running=Running(engine_python=python, engine_options=options),
    )
    measured = result.pages["ReTool-v0"]
    assert (measured.infrastructure, measured.agent_failures, measured.episodes) == (0, 0, 3)
    assert measured.completion_tokens == sum((t.tokens.mask == 1).sum() for t in result.trajectories)
    assert measured.prompt_tokens > 0
