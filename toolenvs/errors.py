"""One tree of exceptions; each message says what was wrong, where, and what to do.

ToolenvsError
├── PageError             a page, or a keyword that overrides one, is wrong         (also ValueError)
├── TaskError             a task row or task file cannot be used                    (also ValueError)
├── TranscriptError       an append would break an invariant of the transcript      (also ValueError)
├── ConfigError           a recipe, a setting or a run folder cannot be used        (also ValueError)
├── MissingExtraError     an optional package is needed and not installed           (also ImportError)
├── RankError             another process of a training run died, or does not answer
├── ForkError             the running episode holds something that cannot be copied
├── ToolError             told to the model as its observation; the episode goes on
├── AgentError            whoever acts gave no turn, by its own fault: the episode ends as `agent`, not solved
└── InfrastructureError   never the model's failure: the episode ends as `infrastructure`
    ├── SandboxError      a code sandbox died, or its server cannot be reached
    │   └── IsolationError    no backend here reaches the configured `min_isolation`
    ├── RetrievalError    an index cannot be used, or a retriever died
    ├── DatabaseError     a database cannot be opened, or its engine died
    ├── WebError          a recorded site cannot be used, or a browser died
    ├── JudgeError        a judge could not come to a verdict
    └── EngineError       a generation engine failed
"""

import difflib
from collections.abc import Iterable, Iterator


class ToolenvsError(Exception):
    """Base of every exception that this package raises on purpose."""


class PageError(ToolenvsError, ValueError):
    """A page, or a keyword that overrides one of its keys, is wrong."""


class TaskError(ToolenvsError, ValueError):
    """A task row or a task file cannot be used."""


class TranscriptError(ToolenvsError, ValueError):
    """An append would break an invariant of the transcript; nothing was appended."""


class ConfigError(ToolenvsError, ValueError):
    """A recipe, a setting or a run folder cannot be used."""


class MissingExtraError(ToolenvsError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str, needed_for: str) -> None:
        super().__init__(f"{needed_for} needs the package {package!r}: pip install 'toolenvs[{extra}]'")
        self.package = package
        self.extra = extra


class RankError(ToolenvsError):
    """Another process of a training run died, or did not come where the others wait for it."""


class ForkError(ToolenvsError):
    """The running episode holds something that cannot be copied (a thread, a socket)."""


class ToolError(ToolenvsError):
    """A tool refuses or fails a call in a way that the model should read and react to."""


class AgentError(ToolenvsError):
    """Whoever acts gave no turn, and it is its own fault: it raised, hung, died, or wrote what is no text."""


class InfrastructureError(ToolenvsError):
    """Something under the environment failed; no reward may be drawn from it."""


class SandboxError(InfrastructureError):
    """A code sandbox died, or its server cannot be reached."""


class IsolationError(SandboxError):
    """No backend on this machine reaches the configured `min_isolation`."""


class RetrievalError(InfrastructureError):
    """An index cannot be used, or a retriever died or cannot be reached."""


class DatabaseError(InfrastructureError):
    """A database cannot be opened, or its engine died."""


class WebError(InfrastructureError):
    """A recorded site cannot be used, or what fetches or shows pages died."""


class JudgeError(InfrastructureError):
    """A judge could not come to a verdict."""


class EngineError(InfrastructureError):
    """A generation engine failed."""


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, and in the groups in it; an error that is no group alone."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause that suggests the nearest of `known`, else lists them; to end an error message with."""
    options = sorted(known)
    close = difflib.get_close_matches(name, options, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(options)}" if options else "none are known"
