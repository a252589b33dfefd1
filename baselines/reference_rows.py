"""What agents that need no model score on a suite: the best that its tools can give, and what knowing nothing gives.

    python baselines/reference_rows.py                  # toolenvs-lite, to baselines/results/toolenvs-lite.json

A model's score is read between these rows. Prints them as a table in Markdown, a row a page.
"""

import argparse
import json
from pathlib import Path

from toolenvs.evaluation import evaluate
from toolenvs.evaluation.table import figure

AGENTS = ("oracle", "no-tool", "random", "always-call")
KEPT = (
    "tasks", "episodes", "infrastructure", "agent_failures", "success", "success_95", "metrics", "reward", "turns",
    "calls", "failed_calls", "called", "endings",
)  # fmt: skip
"""Measures that do not depend on the machine."""


def main() -> None:
    """Run the scripts over the suite, write what they scored and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="toolenvs-lite", help="a suite's name or file")
    parser.add_argument("--output", type=Path, default=None, help="the JSON file to write")
    arguments = parser.parse_args()
    output = arguments.output or Path(__file__).parent / "results" / f"{Path(arguments.suite).stem}.json"

    results = {agent: evaluate(agent, suite=arguments.suite).to_json() for agent in AGENTS}
    rows = {
        agent: {
            "command": f"toolenvs eval --suite {arguments.suite} --agent {agent}",
            "success": result["measures"]["success"],
            "pages": {name: {key: page[key] for key in KEPT} for name, page in result["pages"].items()},
        }
        for agent, result in results.items()
    }
    setting = {key: value for key, value in results[AGENTS[0]]["setting"].items() if key != "agent"}
    output.write_text(json.dumps({"setting": setting, "agents": rows}, indent=1) + "\n", encoding="utf-8")

    print(f"| page | {' | '.join(AGENTS)} |\n|{'---|' * (len(AGENTS) + 1)}")
    for page in setting["pages"]:
        successes = [figure(rows[agent]["pages"][page["name"]]["success"]) for agent in AGENTS]
        print(f"| {page['name']} ({page['env']}) | {' | '.join(successes)} |")
    print(f"| all | {' | '.join(figure(rows[agent]['success']) for agent in AGENTS)} |")


if __name__ == "__main__":
    main()
