"""The demo: a policy that learns to use its interpreter, from nothing, on a laptop's CPU.

    python baselines/demo.py --output runs/demo

Makes a tiny transformer and its tokenizer, cold-starts it on scripted episodes of ReTool-v0, trains it with GRPO
against the real interpreter, and compares it before and after on held-out tasks. Writes to the output folder: the
learning curve, every metric, the trajectories, and one HTML file of episodes with authorship in colour.
"""

import argparse
import re
import shutil
import time
from pathlib import Path
from typing import Any

import grpo
import numpy as np
import sft
import torch
import transformers
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from toolenvs import assets, blueprint, view
from toolenvs.attended import Attended
from toolenvs.codec import TokenCodec
from toolenvs.rollout import Trajectory, TrajectoryWriter
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.evaluate import evaluate
from toolenvs.train.policy import TINY, load_policy
from toolenvs.train.recipe import parse

_BOX = re.compile(r"\\boxed\{([^{}]*)\}")
SHOWN_EPISODES = 40


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/demo"), help="folder of the run; emptied first")
    parser.add_argument("--seed", type=int, default=0, help="seed of the cold start and of GRPO")
    parser.add_argument("--tasks", type=int, default=512, help="held-out tasks")
    args = parser.parse_args()
    started_s = time.perf_counter()
    shutil.rmtree(args.output, ignore_errors=True)
    console = Console()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)  # at this size a second thread gains little alone, and loses much beside anything else

    console.rule("1. A tiny transformer learns to copy text (no tool, no tags)")
    with tqdm(desc="base phase", unit="step") as bar:
        load_policy(TINY, progress=lambda step, loss: bar.update())

    console.rule("2. Cold start: it imitates scripted episodes, a third of which guess")
    recipes = assets.folder("baselines") / "recipes"
    common = ["--seed", str(args.seed), "--test_tasks", str(args.tasks), "--output"]
    sft.main(parse(sft.Args, ["--recipe", f"{recipes}/retool_tiny_sft.toml", *common, f"{args.output}/sft"]))

    console.rule("3. GRPO on ReTool-v0, programs run for real")
    settings = parse(
        grpo.Args,
        [
            "--recipe",
            f"{recipes}/retool_tiny.toml",
            "--model",
            f"{args.output}/sft/model",
            *common,
            f"{args.output}/grpo",
        ],
    )
    grpo.main(settings)

    console.rule("4. Before and after, on held-out tasks")
    table = Table("policy", "success", "calls per episode", "answers that came from the tool")
    shown: list[Trajectory] = []
    for label, folder in (("after the cold start", "sft"), ("after GRPO", "grpo")):
        episodes = held_out_episodes(args.output / folder / "model", settings, args.tasks)
        with TrajectoryWriter(args.output / "held_out" / f"{folder}.jsonl") as writer:
            for episode in episodes:
                writer.write(episode)
        shown += episodes[: SHOWN_EPISODES // 2]
        success = np.mean([episode.success or 0.0 for episode in episodes])
        calls = np.mean([len(episode.calls) for episode in episodes])
        table.add_row(label, f"{success:.3f}", f"{calls:.2f}", f"{np.mean([*map(from_tool, episodes)]):.3f}")
    console.print(table)
    codec = TokenCodec(load_policy(f"{args.output}/grpo/model")[1])
    view.write(args.output / "episodes.html", shown, title="ReTool-v0, before and after GRPO", codec=codec)
    shutil.copy(args.output / "grpo" / "curve.png", args.output / "curve.png")
    console.print(f"learning curve   {args.output}/curve.png")
    console.print(f"episodes         {args.output}/episodes.html (open it in a browser)")
    console.print(f"trajectories     {args.output}/held_out/, {args.output}/grpo/trajectories/")
    console.print(f"{time.perf_counter() - started_s:.0f} s in all")


def held_out_episodes(folder: Path, settings: Any, tasks: int) -> list[Trajectory]:
    """One episode of each held-out task, sampled at the training temperature."""
    model, tokenizer = load_policy(str(folder))
    env = blueprint.load(settings.page, tokenizer=tokenizer, **{**settings.env, **settings.test_env})
    chosen = [env.tasks[index] for index in range(tasks)]
    with Attended() as runner:
        engine = TransformersEngine(model, tokenizer)
        _, episodes = evaluate(env, engine, chosen, runner, max_turn_tokens=settings.max_turn_tokens)
    return episodes


def from_tool(episode: Trajectory) -> bool:
    """Whether the final answer is what the last tool call gave."""
    boxes = _BOX.findall(episode.transcript.policy_text(episode.transcript.turn))
    return bool(boxes and episode.calls and boxes[-1].strip() == episode.calls[-1].result.strip())


if __name__ == "__main__":
    main()
