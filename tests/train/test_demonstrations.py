"""Right transcripts of single tasks, by a script and out of files."""

import asyncio

import pytest

from toolenvs import blueprint, coldstart
from toolenvs.errors import ConfigError
from toolenvs.rollout import TrajectoryWriter, collect
from toolenvs.train.demonstrations import open_demonstrations
from toolenvs.train.tiny import demonstrator


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as made:
        yield made


@pytest.fixture(scope="module")
def env(tokenizer):
    keys = {"prompt.template": "plain", "prompt.user": "{question}\n", "tasks.set": "arithmetic", "tasks.size": 20}
    return blueprint.load("toolenvs/ReTool-v0", tokenizer=tokenizer, **keys)


def written(sequences, tokenizer):
    [sequence] = sequences
    return tokenizer.decode(sequence.ids[sequence.mask == 1])


def test_the_script_is_tried_until_it_is_right_and_shows_a_task_alike_each_time(env, runner, tokenizer):
    source = open_demonstrations("scripted", env, runner.run, seed=0)
    tasks = [env.tasks[index] for index in range(6)]
    shown = source.of([*tasks, tasks[0]])
    for task, held in zip(tasks, shown, strict=False):
        assert f"\\boxed{{{task.gold}}}" in written(held, tokenizer)
    alone = open_demonstrations("scripted", env, runner.run, seed=0).of(tasks[3:4])
    assert written(alone[0], tokenizer) == written(shown[3], tokenizer)
    assert written(shown[6], tokenizer) == written(shown[0], tokenizer)
    assert source.of([]) == []


def test_a_file_of_trajectories_gives_the_first_right_one_of_each_task(env, runner, tmp_path):
    tasks = [env.tasks[index] for index in range(8)]
    acted = runner.run(collect(env, demonstrator(env, 1), tasks, n=2))
    with TrajectoryWriter(tmp_path / "shown.jsonl") as writer:
        for episode in acted:
            writer.write(episode)
    source = open_demonstrations(str(tmp_path / "shown.jsonl"), env, runner.run, seed=0)
    right = {}
    for episode in acted:
        if episode.success == 1:
            right.setdefault(episode.task, episode.tokens.ids.tolist())
    assert 0 < len(right) < 8
    assert [[each.ids.tolist() for each in held] for held in source.of(tasks)] == [
        [right[task.id]] if task.id in right else [] for task in tasks
    ]


def test_a_file_of_cold_start_rows_is_written_in_the_policy_s_tokens(env, runner, tmp_path, tokenizer):
    tasks = [env.tasks[index] for index in range(3)]
    report = coldstart.build(env, coldstart.from_tasks(tasks[:2]), coldstart.Program())
    coldstart.write_rows(tmp_path / "rows.jsonl", report.rows)
    assert len(report.rows) == 2
    shown = open_demonstrations(str(tmp_path / "rows.jsonl"), env, runner.run, seed=0).of(tasks)
    for task, held in zip(tasks[:2], shown[:2], strict=True):
        assert f"\\boxed{{{task.gold}}}" in written(held, tokenizer)
    assert shown[2] == []


def test_a_file_without_a_right_transcript_is_refused(env, runner, tmp_path):
    with pytest.raises(ConfigError, match="there are no trajectories at"):
        open_demonstrations(str(tmp_path / "missing.jsonl"), env, runner.run, seed=0)
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(ConfigError, match="holds no right transcript with tokens"):
        open_demonstrations(str(tmp_path / "empty.jsonl"), env, runner.run, seed=0)
