"""A run's progress: a bar with the newest figures on a terminal, a line now and then anywhere else."""

import sys
from collections.abc import Mapping
from typing import Any

from toolenvs.errors import MissingExtraError

_FIGURES = {
    "success": "success {:.2f}",
    "test_success": "test {:.2f}",
    "reward": "reward {:.2f}",
    "entropy": "entropy {:.2f}",
    "policy_tokens": "{:.0f} tokens",
}
_LINES = 20


class StepProgress:
    """Steps of a run, told on standard error.

    Args:
        title: of the run.
        total: its steps.
        done: those that were done before.
    """

    def __init__(self, title: str, total: int, done: int = 0) -> None:
        try:
            from rich import progress
            from rich.console import Console
        except ImportError as error:
            raise MissingExtraError("rich", "train", "showing a run's progress") from error
        self._title, self._total = title, total
        self._every = max(1, total // _LINES)
        self._known: dict[str, float] = {}
        self._console = Console(stderr=True, soft_wrap=True, highlight=False)
        self._bar: Any = None
        if self._console.is_terminal:
            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(bar_width=24),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                progress.TimeRemainingColumn(),
                progress.TextColumn("{task.fields[figures]}"),
                console=self._console,
            )
            self._task = self._bar.add_task(title, total=total, completed=done, figures="")
            self._bar.start()

    def show(self, step: int, line: Mapping[str, float]) -> None:
        """A step is over."""
        self._known.update({name: line[name] for name in _FIGURES if name in line})
        figures = [form.format(self._known[name]) for name, form in _FIGURES.items() if name in self._known]
        if {"rollout_s", "update_s"} <= line.keys():
            figures.append(f"{line['rollout_s']:.1f} + {line['update_s']:.1f} s")
        if self._bar is not None:
            self._bar.update(self._task, completed=step, figures="  ".join(figures))
        elif step % self._every == 0 or step == self._total or "test_success" in line:
            print(f"{self._title} {step}/{self._total}  {'  '.join(figures)}", file=sys.stderr, flush=True)

    def warn(self, step: int, text: str) -> None:
        """Say something that stays."""
        if self._bar is not None:
            self._console.print(f"step {step}: {text}", style="yellow", markup=False)
        else:
            print(f"{self._title} step {step}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was. A second call does nothing."""
        if self._bar is not None:
            self._bar.stop()
