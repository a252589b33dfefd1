"""One GRPO step, rollout and updates, of `baselines/grpo.py` next to TRL's GRPOTrainer, with the tiny policy on a CPU.

    python benchmarks/trl_step.py --rounds 12 --updates 2 --out trl_step.json

Each trainer runs in a process of its own, from the same weights, on the same prompts: arithmetic, without tools, 32
prompts of 8 samples, as many tokens at most, as many optimizer steps to a rollout. They take turns, one step each, in a
new order each round, so that other load on the machine hits both; ratios are taken within a round. TRL samples through
transformers, in float32, without logging, evaluation, checkpoints or gradient checkpointing, and with the plainest
reward function; ours runs its whole episode loop with the page's judge, and writes its metrics. `rollout_func` is TRL's
trainer with our episodes, through toolenvs/adapters/trl.py: it tells what of the difference is the sampling.

Memory is the peak of each process's resident set, its imports included.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TRAINERS = ("toolenvs", "trl", "rollout_func")
BARS = {"step": 2.0, "memory": 1.0}
"""TRL's median step is at least so many times as long as ours; our peak memory is at most so much of its."""
SAMPLES = 8
PAGE = "toolenvs/ReTool-v0"
ENV = {
    "prompt.template": "plain",
    "prompt.user": "{question}\n",
    "tasks.set": "arithmetic",
    "budget.max_calls": 0,  # and no stop string is set once calls are spent: both trainers sample to the end
    "budget.when_spent": "free_text",
}


class Gate:
    """Lets a step go when a line comes in, and answers with what it took."""

    def __init__(self) -> None:
        self.requests, self.replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        self.tokens = 0

    def begin(self) -> None:
        """Wait for the next turn; the last line ends the process."""
        if self.requests.readline().strip() != "step":
            os._exit(0)
        self.tokens = 0
        self._wall_s, self._cpu_s = time.perf_counter(), time.process_time()

    def end(self) -> None:
        """Tell what the step took."""
        told = {
            "wall_s": time.perf_counter() - self._wall_s,
            "cpu_s": time.process_time() - self._cpu_s,
            "tokens": self.tokens,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(json.dumps(told), file=self.replies, flush=True)


def ours(gate: Gate, policy: str, args: argparse.Namespace, folder: str) -> None:
    """`baselines/grpo.py` as it is, its evaluations left out."""
    sys.path.insert(0, str(HERE.parent / "baselines"))
    import grpo

    from toolenvs.tokens import Mask
    from toolenvs.train.run import Run

    steps, report = Run.steps, Run.report

    def gated(self: Run) -> Iterator[int]:
        for step in steps(self):
            gate.begin()
            yield step
            gate.end()

    def counted(self: Run, step: int, line: Any, trajectories: Any) -> None:
        gate.tokens = sum(int((one.tokens.mask == Mask.POLICY).sum()) for one in trajectories)
        report(self, step, line, trajectories)

    def untested(self: Run) -> dict[str, float]:
        self.tested = {"test_success": 0.0}
        return self.tested

    Run.steps, Run.report, Run._test = gated, counted, untested
    grpo.main(
        grpo.Args(
            output=folder,
            page=PAGE,
            env=ENV,
            model=policy,
            threads=args.threads,
            steps=1_000_000,
            prompts=args.prompts,
            samples=SAMPLES,
            filter="every",
            mini_batches=args.updates,
            max_turn_tokens=args.tokens,
            lr=1e-4,
            test_every=10**9,
            checkpoint_every=10**9,
            trajectories_every=0,
            micro_batch_tokens=args.micro_batch_tokens,
        )
    )


def trl(gate: Gate, policy: str, args: argparse.Namespace, folder: str, *, own_rollout: bool) -> None:
    """TRL's GRPOTrainer."""
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from toolenvs.adapters.trl import Rollout

    torch.set_num_threads(args.threads)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(policy), AutoTokenizer.from_pretrained(policy)
    rollout = Rollout(PAGE, tokenizer, **ENV)

    class Gated(TrainerCallback):
        def on_step_begin(self, config: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step % args.updates == 0:
                gate.begin()

        def on_step_end(self, config: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step % args.updates == 0:
                gate.end()

    class Counted(GRPOTrainer):
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            output = super()._generate_and_score_completions(inputs)
            mask = output["completion_mask"] * output.get("tool_mask", 1)
            gate.tokens = int(mask.sum())
            return output

    def boxed(completions: list[str], gold: list[str], **_: Any) -> list[float]:
        return [float("\\boxed{" + right + "}" in text) for text, right in zip(completions, gold, strict=True)]

    dataset = rollout.dataset()
    if not own_rollout:
        tasks = rollout.env.tasks
        rows = [{"prompt": rollout.env.render_prompt(task), "gold": task.gold} for task in tasks]
        dataset = type(dataset).from_list(rows)
    batch = args.prompts * SAMPLES
    config = GRPOConfig(
        output_dir=folder,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        per_device_train_batch_size=batch // args.updates // args.accumulate,
        gradient_accumulation_steps=args.accumulate,
        steps_per_generation=args.updates * args.accumulate,
        num_generations=SAMPLES,
        max_completion_length=args.tokens,
        max_steps=1_000_000,
        learning_rate=1e-4,
        lr_scheduler_type="constant",
        optim=args.optim,
        beta=0.0,
        loss_type="dapo",
        epsilon=0.2,
        epsilon_high=0.28,
        temperature=1.0,
        top_p=1.0,
        report_to="none",
        logging_strategy="no",
        save_strategy="no",
        eval_strategy="no",
        disable_tqdm=True,
        use_transformers_continuous_batching=args.continuous,
    )
    reward = rollout.reward if own_rollout else boxed
    trainer = Counted(
        model,
        reward,
        config,
        dataset,
        processing_class=tokenizer,
        callbacks=[Gated()],
        **({"rollout_func": rollout} if own_rollout else {}),
    )
    trainer.train()


def work(args: argparse.Namespace) -> None:
    """One trainer, in a process of its own."""
    gate = Gate()
    with tempfile.TemporaryDirectory() as folder:
        if args.worker == "toolenvs":
            ours(gate, args.policy, args, folder)
        else:
            trl(gate, args.policy, args, folder, own_rollout=args.worker == "rollout_func")


class Worker:
    """A trainer, asked for one step after another."""

    def __init__(self, name: str, policy: str, stack: ExitStack) -> None:
        command = [sys.executable, __file__, *sys.argv[1:], "--worker", name, "--policy", policy]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(self.close)

    def step(self) -> dict[str, float]:
        """What one step took."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(self.process.args)} ended with {self.process.wait()}")  # type: ignore[arg-type]
        told: dict[str, float] = json.loads(line)
        return told

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    """Run the rounds and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8, help="that count")
    parser.add_argument("--warm-up", type=int, default=2, help="rounds before them")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--updates", type=int, default=2, help="optimizer steps to a rollout")
    parser.add_argument("--tokens", type=int, default=64, help="most that an answer may have")
    parser.add_argument("--model", default="tiny", help="tiny, after its base phase; or untrained")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--micro-batch-tokens", type=int, default=2048, help="of ours; as baselines/recipes/*_tiny say")
    parser.add_argument("--accumulate", type=int, default=1, help="micro-batches of an optimizer step of TRL")
    parser.add_argument("--optim", default="adamw_torch", help="of TRL")
    parser.add_argument("--continuous", action="store_true", help="TRL samples by transformers' continuous batching")
    parser.add_argument("--trainers", nargs="+", default=list(TRAINERS), choices=TRAINERS)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", choices=TRAINERS, help=argparse.SUPPRESS)
    parser.add_argument("--policy", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args)
        return
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in args.trainers}
    with tempfile.TemporaryDirectory() as policy, ExitStack() as stack:
        make_policy(policy, args.model)
        workers = {name: Worker(name, policy, stack) for name in args.trainers}
        for number in range(args.warm_up + args.rounds):
            for name in random.Random(number).sample(args.trainers, len(args.trainers)):
                told = workers[name].step()
                if number >= args.warm_up:
                    rounds[name].append(told)
    if args.out:
        args.out.write_text(json.dumps({"settings": vars(args) | {"out": str(args.out)}, "rounds": rounds}, indent=1))
    show(rounds, versions())


def make_policy(folder: str, name: str) -> None:
    """The policy that all begin with, on disk."""
    from toolenvs.train.policy import load_policy, save_policy
    from toolenvs.train.tiny.model import build_model
    from toolenvs.train.tiny.tokenizer import build_tokenizer

    if name == "untrained":
        tokenizer = build_tokenizer()
        model = build_model(tokenizer, seed=0)
    else:
        model, tokenizer = load_policy(name)  # type: ignore[assignment]
    save_policy(Path(folder), model, tokenizer)


def versions() -> str:
    """What was compared."""
    from importlib.metadata import version

    return ", ".join(f"{name} {version(name)}" for name in ("toolenvs", "trl", "transformers", "accelerate", "torch"))


def show(rounds: dict[str, list[dict[str, float]]], told: str) -> None:
    """One row a trainer; medians, and ratios to ours within a round."""
    print(told)
    print("\n| trainer | step, s | CPU-s | over ours | CPU over ours | tokens/s | tokens | peak MB |\n|" + "---|" * 8)
    own = rounds.get("toolenvs")
    for name, steps in rounds.items():
        wall, cpu = (statistics.median(step[key] for step in steps) for key in ("wall_s", "cpu_s"))
        rate = statistics.median(step["tokens"] / step["wall_s"] for step in steps)
        tokens, peak = statistics.median(step["tokens"] for step in steps), max(step["peak_mb"] for step in steps)
        ratios = [ratio(steps, own, key) if own else "" for key in ("wall_s", "cpu_s")]
        print(f"| {name} | {wall:.3f} | {cpu:.3f} | {' | '.join(ratios)} | {rate:.0f} | {tokens:.0f} | {peak:.0f} |")
    if own and "trl" in rounds:
        step = statistics.median(a["wall_s"] / b["wall_s"] for a, b in zip(rounds["trl"], own, strict=True))
        memory = max(one["peak_mb"] for one in own) / max(one["peak_mb"] for one in rounds["trl"])
        held = {True: "holds", False: "DOES NOT HOLD"}
        print(
            f"\nBars: {step:.2f} times as fast as TRL, at least {BARS['step']:g}: {held[step >= BARS['step']]}; "
            f"memory {memory:.2f} of TRL's, at most {BARS['memory']:g}: {held[memory <= BARS['memory']]}"
        )


def ratio(steps: list[dict[str, float]], own: list[dict[str, float]], key: str) -> str:
    """Median, lowest and highest ratio of the rounds."""
    found = [one[key] / other[key] for one, other in zip(steps, own, strict=True)]
    return f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})"


if __name__ == "__main__":
    main()
