"""Run every probe on a page, and hold what they find against what the page says is known."""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from toolenvs import blueprint, loop, plugins
from toolenvs.audit.again import Other
from toolenvs.audit.finding import Finding, Report
from toolenvs.audit.subject import Subject
from toolenvs.errors import ConfigError, PageError, did_you_mean

TASKS = 3
"""Tasks that are tried where nobody says how many."""
_PACKAGE = "toolenvs.audit.probes"


@dataclass(frozen=True, slots=True)
class Probe:
    """One way to cheat."""

    name: str
    what: str
    """What it tries, in a sentence."""
    faults: Mapping[str, str]
    """Names of its findings, and what to do about each."""
    run: Callable[..., Iterator[Finding]]


def probes() -> list[Probe]:
    """All of them, by name."""
    found = []
    for name in plugins.names(_PACKAGE, "probe"):
        module = importlib.import_module(f"{_PACKAGE}.{name}")
        faults = {f"{name}.{key}": remedy for key, remedy in module.FAULTS.items()}
        found.append(Probe(name, (module.__doc__ or "").partition("\n")[0], faults, module.probe))
    return found


def audit(
    page: str,
    *,
    tasks: int = TASKS,
    other: Other | None = None,
    only: Sequence[str] = (),
    **overrides: Any,
) -> Report:
    """Try to cheat an environment.

    Args:
        page: a bundled page's id, or a TOML file.
        tasks: how many of its first tasks are tried.
        other: a process that plays again, shared by several audits; else one is started.
        only: names of probes; () for all.
        overrides: keys of the page; see `toolenvs.page.load`.

    Raises:
        ConfigError: no task is to be tried.
        PageError: no such page, a key or value is wrong, or `[audit.known]` names no finding.
        InfrastructureError: a tool does not work here.
    """
    if tasks < 1:
        raise ConfigError(f"tasks = {tasks}: give at least 1")
    known = probes()
    env = blueprint.load(page, **overrides)
    names = {name: remedy for probe in known for name, remedy in probe.faults.items()}
    for name in env.page.audit.known:
        if name not in names:
            raise PageError(f"{env.page.id}: audit.known: no finding is called {name!r}; {did_you_mean(name, names)}")
    for name in only:
        if name not in [probe.name for probe in known]:
            raise PageError(f"no probe is called {name!r}; {did_you_mean(name, [probe.name for probe in known])}")
    with ExitStack() as stack:
        stack.callback(lambda: loop.run(env.close()))
        loop.run(env.check())
        subject = Subject(page, env, overrides, tasks)
        other = other or stack.enter_context(Other())
        findings: list[Finding] = []
        for probe in known:
            if not only or probe.name in only:
                own = _merged(probe.run(subject, other), names, env.page.audit.known)
                findings += own or [Finding(level="ok", name=probe.name, what=probe.what)]
    return Report(page=env.page.id, tasks=len(subject.tasks), findings=tuple(findings))


def _merged(found: Iterator[Finding], remedies: Mapping[str, str], known: Mapping[str, str]) -> list[Finding]:
    """Each name once, with how often it was found; a fault that the page says is known is a note."""
    kept: dict[str, Finding] = {}
    for finding in found:
        if finding.level == "fault" and finding.name in known:
            finding = replace(finding, level="note", what=f"{finding.what} Known: {known[finding.name]}")
        first = kept.get(finding.name)
        if first is None or (first.level, finding.level) == ("note", "fault"):
            times = 1 if first is None else first.times + 1
            kept[finding.name] = replace(finding, remedy=remedies[finding.name], times=times)
        else:
            kept[finding.name] = replace(first, times=first.times + 1)
    return list(kept.values())
