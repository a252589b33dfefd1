"""The scripted policy in the real environment: sandbox, judge and tokens."""

from toolenvs import blueprint
from toolenvs.rollout import collect
from toolenvs.train.tiny.demos import Demonstration, Demonstrator


async def test_demonstrations_are_run_judged_and_masked(tokenizer):
    env = blueprint.load(
        "toolenvs/ReTool-v0",
        tokenizer=tokenizer,
        **{"prompt.template": "plain", "prompt.user": "{question}\n", "tasks.set": "arithmetic"},
    )
    tasks = [env.tasks[index] for index in range(12)]
    trajectories = await collect(env, Demonstrator(env, seed=0), tasks)
    assert {bool(trajectory.calls) for trajectory in trajectories} == {True, False}
    for task, trajectory in zip(tasks, trajectories, strict=True):
        demonstration = Demonstration.of(task, seed=0)
        sound = demonstration.program == task.extra["program"].replace(" ", "")
        assert trajectory.ending == "answer"
        assert trajectory.success == float(sound and demonstration.believes)
        if sound:
            assert trajectory.calls[0].result == task.gold
        tokens = trajectory.tokens
        assert tokens.ids[-1] == tokenizer.eos_token_id
        assert tokens.mask[-1] == 1
        assert tokenizer.decode(tokens.ids[tokens.mask == 0]).startswith(f"{task.question}\n")
