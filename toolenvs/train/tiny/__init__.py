"""Policies of 0.3 M to 0.6 M parameters that learn tool use from nothing, on a laptop, in minutes.

Small enough to train in a test, real enough to load with `AutoModelForCausalLM` and in vLLM. Three steps make one:
`tokenizer` and `model` build it, `base` teaches it to copy text (the one skill that tool use cannot do without), and
`demos` writes the transcripts of a cold start. `reader` and `language` make a second policy, whose base phase teaches
it to find things in passages; `search_demos` writes its cold start, `sql_demos` that of a policy that asks a database.
"""

from toolenvs.blueprint import Blueprint
from toolenvs.rollout.agent import Agent
from toolenvs.train.tiny.demos import Demonstrator
from toolenvs.train.tiny.search_demos import SearchDemonstrator
from toolenvs.train.tiny.sql_demos import SqlDemonstrator


def demonstrator(blueprint: Blueprint, seed: int) -> Agent:
    """The script that demonstrates the environment's tasks: arithmetic, or questions about the fictional world."""
    scripts = {"world": SearchDemonstrator, "world_sql": SqlDemonstrator}
    return scripts.get(blueprint.tasks[0].source, Demonstrator)(blueprint, seed)
