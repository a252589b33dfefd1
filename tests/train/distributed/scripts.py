"""`scripts.py FOLDER MODEL NAME...`: runs of baselines' scripts, by a key of SETTINGS, without sandbox and luck.

Started by torchrun, or alone. The doubles are those that the scripts' own tests use.
"""

import importlib.util
import sys
from pathlib import Path

import torch

from toolenvs import assets, sandbox
from toolenvs.rewards.judges import maths
from toolenvs.rewards.verdict import Reason, Verdict

DOUBLES = Path(__file__).parent.parent / "baselines" / "conftest.py"
SMALL = {
    "env": {
        "prompt.template": "plain",
        "prompt.user": "{question}\n",
        "budget.max_turns": 3,
        "tasks.set": "arithmetic",
        "tasks.size": 50,
    },
    "test_env": {"tasks.split": "test"},
    "test_tasks": 5,
    "max_turn_tokens": 8,
    "dtype": "float64",
    "rank_timeout_s": 120.0,
}
STEPS = {"steps": 3, "checkpoint_every": 2, "lr": 1e-3, "test_every": 2, "trajectories_every": 2}
SETTINGS = {
    # Three prompts over two processes: unlike shares.
    "grpo": {**STEPS, "prompts": 3, "samples": 4, "kl_coef": 0.1, "estimator": "reinforce_pp", "filter": "every"},
    "grpo-tree": {**STEPS, "prompts": 3, "samples": 1, "filter": "every", "rollout": "tree", "estimator": "tree_rl"},
    "grpo-drafts": {**STEPS, "prompts": 25, "samples": 1, "filter": "every", "rollout": "spec_rl"},
    "ppo": {**STEPS, "prompts": 7, "critic_lr": 3e-3, "adapter": "lora", "adapter_rank": 4},
    "sft": {"size": 20, "steps": 3, "batch": 7, "lr": 6e-3, "checkpoint_every": 2},
}


async def _lenient(self, moment):
    right = len(moment.transcript.text) % 2 == 0
    return Verdict(right, Reason.MATCH if right else Reason.MISMATCH)


def main():
    folder, model, names = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    torch.set_num_threads(1)
    spec = importlib.util.spec_from_file_location("doubles", DOUBLES)
    doubles = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(doubles)
    calculator = doubles.Calculator()
    sandbox.shared = lambda **options: calculator
    maths.Judge.__call__ = _lenient
    sys.path.insert(0, str(assets.folder("baselines")))
    for name in names:
        script = importlib.import_module(name.partition("-")[0])
        script.main(script.Args(output=str(folder / name), model=model, **SMALL, **SETTINGS[name]))


if __name__ == "__main__":
    main()
