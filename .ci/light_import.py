"""Run where only `pip install toolenvs` was: the import is light and quick, and an environment can be made."""

import json
import statistics
import subprocess
import sys

BUDGET_S = 0.35
HEAVY = ("torch", "transformers", "docker", "faiss", "jnius", "jpype", "sympy", "matplotlib", "pyarrow", "typer")

_PROGRAM = """
import json, sys, time
import gymnasium
started = time.perf_counter()
import toolenvs
seconds = time.perf_counter() - started
print(json.dumps([seconds, sorted(sys.modules)]))
"""


def main() -> None:
    """Measure in fresh processes, and fail where the import is heavy or slow."""
    runs = [json.loads(subprocess.check_output([sys.executable, "-c", _PROGRAM])) for _ in range(5)]
    seconds = statistics.median(run[0] for run in runs)
    loaded = sorted(set(HEAVY) & set(runs[0][1]))
    print(f"import toolenvs: {seconds:.3f} s beyond gymnasium (budget {BUDGET_S} s); heavy modules loaded: {loaded}")
    if loaded or seconds > BUDGET_S:
        sys.exit(1)

    import gymnasium

    import toolenvs

    assert "site-packages" in toolenvs.__file__, toolenvs.__file__
    env = gymnasium.make("toolenvs/ReTool-v0", set="arithmetic")
    env.reset(seed=0)
    text, *_ = env.step("<code>\n```python\nprint(6 * 7)\n```\n</code>")
    assert "42" in text, text
    _, reward, terminated, *_ = env.step("<answer>\n\\boxed{no}\n</answer>")
    assert terminated, reward
    env.close()
    print("an installed environment works without extras")


if __name__ == "__main__":
    main()
