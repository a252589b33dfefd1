"""Which tasks are worth training on: how often an agent solves each, with its tools or from memory alone.

    env = Blueprint(without_tools(load("SearchR1-v0")))          # the contamination check of DeepResearcher
    counts = await measure(env, agent, tasks, n=10)
    chosen = sort(tasks, counts, n=10, rule=Rule(max_rate=0.0))  # kept, dropped, unmeasured

`toolenvs tasks filter` does all of this, and goes on where it was interrupted. `impact` judges tasks by the history of
a run instead; `toolenvs tasks score` writes what it keeps.
"""

from toolenvs.filtering.closed_book import CONTAINS, without_tools
from toolenvs.filtering.measuring import Counts, measure
from toolenvs.filtering.sorting import Rule, Sorted, label, pass_at_k, report, sort

__all__ = [
    "CONTAINS", "Counts", "Rule", "Sorted", "label", "measure", "pass_at_k", "report", "sort", "without_tools",
]  # fmt: skip
