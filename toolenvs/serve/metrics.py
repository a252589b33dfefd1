"""Counters, gauges and histograms in the text format of Prometheus (exposition format 0.0.4)."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper edges of the buckets of a time."""


class Counter:
    """A number that only grows, one for each set of labels."""

    kind = "counter"

    def __init__(self, name: str, help: str) -> None:
        self.name = name
        self.help = help
        self._values: dict[tuple[tuple[str, str], ...], float] = {}

    def add(self, amount: float = 1.0, **labels: str) -> None:
        """Count `amount` for these labels."""
        key = tuple(sorted(labels.items()))
        self._values[key] = self._values.get(key, 0.0) + amount

    def lines(self) -> list[str]:
        """One sample a line."""
        return [f"{self.name}{_labels(key)} {_number(value)}" for key, value in sorted(self._values.items())]


class Gauge:
    """A number that is read when it is asked for."""

    kind = "gauge"

    def __init__(self, name: str, help: str, read: Callable[[], float]) -> None:
        self.name = name
        self.help = help
        self._read = read

    def lines(self) -> list[str]:
        """One line."""
        return [f"{self.name} {_number(self._read())}"]


class Histogram:
    """How often a value fell into each bucket."""

    kind = "histogram"

    def __init__(self, name: str, help: str, edges: Sequence[float] = SECONDS) -> None:
        self.name = name
        self.help = help
        self._edges = edges
        self._counts = [0] * (len(edges) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._edges, value)] += 1
        self._sum += value

    def lines(self) -> list[str]:
        """Cumulative buckets, sum and count."""
        lines, total = [], 0
        for edge, count in zip((*self._edges, math.inf), self._counts, strict=True):
            total += count
            lines.append(f'{self.name}_bucket{{le="{_number(edge)}"}} {total}')
        return [*lines, f"{self.name}_sum {_number(self._sum)}", f"{self.name}_count {total}"]


Metric = Counter | Gauge | Histogram


def render(metrics: Sequence[Metric]) -> str:
    """The page that a scraper reads."""
    lines: list[str] = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}", *metric.lines()]
    return "\n".join(lines) + "\n"


def _labels(pairs: tuple[tuple[str, str], ...]) -> str:
    if not pairs:
        return ""
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for _, value in pairs)
    return "{" + ",".join(f'{name}="{value}"' for (name, _), value in zip(pairs, quoted, strict=True)) + "}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)
