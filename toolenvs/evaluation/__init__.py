"""How good an agent is, with its uncertainty; on any pages, or on a suite that pins them.

    def agent(messages, info):                                  # toolenvs.agents.callable: what else it may be
        return "..."

    result = evaluate(agent, ["ReTool-v0", "Search-v0"], tasks=50, out="runs/mine")
    print(result.table())
    compare("runs/mine", "runs/other").rows                     # the same tasks, in pairs

`toolenvs eval` and `toolenvs compare` do the same; docs/eval.md says what the figures mean.
"""

from toolenvs.evaluation.compare import Comparison, compare
from toolenvs.evaluation.measures import Measures, Prices, measure
from toolenvs.evaluation.opening import Running, Sampling, open_agent
from toolenvs.evaluation.running import Evaluation, evaluate
from toolenvs.evaluation.suites import Suite, load_suite, suite_files

__all__ = [
    "Comparison", "Evaluation", "Measures", "Prices", "Running", "Sampling", "Suite", "compare", "evaluate",
    "load_suite", "measure", "open_agent", "suite_files",
]  # fmt: skip
