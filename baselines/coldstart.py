"""Cold-start data: solutions in words become verified demonstrations of tool use (ReTool, section 3.2).

    python baselines/coldstart.py --output runs/coldstart --size 500
    python baselines/coldstart.py --output runs/coldstart --tasks number_theory --rewriter program
    python baselines/coldstart.py --output runs/coldstart --tasks ReTool-SFT.parquet --rewriter recorded --gold recorded

Reads top to bottom: settings, sources, the build, and what is written: `rows.jsonl` for SFT, and `report.json`, which
says how many sources were rejected for which reason, with examples.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from toolenvs import blueprint, tasks
from toolenvs.coldstart import (
    Model,
    Program,
    Recorded,
    Report,
    Rewriter,
    Rules,
    build,
    from_recordings,
    from_tasks,
    write_rows,
)
from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.train.recipe import parse

REWRITERS = ("rules", "program", "recorded", "model")
CHOICES = {"outputs": ("require", "replace"), "gold": ("task", "recorded"), "rewriter": REWRITERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Settings of a build."""

    output: str
    """Folder for the rows and the report."""
    page: str = "toolenvs/ReTool-v0"
    """The environment that the rows are for, and are replayed in."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the page to override, as in `--env.budget.max_turns 16`."""
    tasks: str = "arithmetic"
    """A generator, or a .jsonl, .json or .parquet file: of tasks with solutions, or of ReTool-SFT's rows."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the task set, as in `--options.difficulty 2`."""
    size: int = 500
    """Sources to try, the first ones of the task set."""
    rewriter: str = "rules"
    """Who writes the code: "rules" (each hand calculation becomes a program), "program" (the one that a generated task
    carries), "recorded" (the file's own conversations), "model" (an endpoint)."""
    column: str = ""
    """Column of the solutions in words; by default "solution", "reasoning" or "rationale"."""
    outputs: str = "require"
    """Recorded outputs must be the live ones ("require"), or are replaced by them ("replace", for models)."""
    gold: str = "task"
    """For recorded conversations without a gold answer: "recorded" trusts the answer that they end with."""
    model: str = ""
    """Name of the model at the endpoint."""
    base_url: str = "http://127.0.0.1:8000/v1"
    """An OpenAI-compatible endpoint."""
    max_reply_tokens: int = 8192
    """Tokens of one rewritten solution."""
    seed: int = 0
    """Seed of the tools and of the model's samples."""
    concurrency: int = 16
    """Sources that are worked on at once."""


def main(args: Args) -> Report:
    """Build the rows and write them."""
    for name, choices in CHOICES.items():
        if (value := getattr(args, name)) not in choices:
            raise ConfigError(f"--{name} is {value!r}; {did_you_mean(value, choices)}")
    env = blueprint.load(args.page, **args.env)
    chosen = islice(tasks.load(args.tasks, **args.options), args.size)
    if args.rewriter == "recorded":
        sources = from_recordings(chosen, gold="recorded" if args.gold == "recorded" else "task")
    else:
        sources = from_tasks(chosen, column=args.column or None)

    with tqdm(desc="cold start", unit="source") as bar:
        report = build(
            env,
            sources,
            rewriter_of(args),
            outputs="replace" if args.outputs == "replace" else "require",
            seed=args.seed,
            concurrency=args.concurrency,
            on_outcome=lambda outcome: bar.update(),
        )

    output = Path(args.output)
    write_rows(output / "rows.jsonl", report.rows)
    (output / "report.json").write_text(json.dumps(report.to_json(), indent=2) + "\n", encoding="utf-8")
    print(report)
    return report


def rewriter_of(args: Args) -> Rewriter:
    """The rewriter that the settings name."""
    if args.rewriter == "model":
        from toolenvs.agents.openai import OpenAIChat

        if not args.model:
            raise ConfigError("--rewriter model needs --model, the model's name at the endpoint")
        agent = OpenAIChat(args.model, args.base_url, max_turn_tokens=args.max_reply_tokens)
        return Model(agent, seed=args.seed)
    return {"rules": Rules, "program": Program, "recorded": Recorded}[args.rewriter]()


if __name__ == "__main__":
    main(parse(Args, description=__doc__ or ""))
