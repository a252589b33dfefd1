"""What an action on a page of MiniWoB++ gave."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What is seen after `reset` or an action."""

    goal: str
    """What the page asks for."""
    text: str
    """The page: one element a line, `[number] tag attributes "its own text" @left,top widthxheight`, in pixels."""
    elements: int
    """How many elements are numbered; numbers begin with 0 and hold until the next action."""
    done: bool
    """Whether the page ended the episode: by an answer, or because its time ran out."""
    raw_reward: float
    """What the page gave, -1 to 1, without its discount for time; 0 while the episode runs."""
    reward: float
    """The same, discounted by the page for the time that its clock showed, where the page does so."""
    success: float | None
    """0 to 1: 1 for a full reward; a part of it for tasks that grade (see `GRADED`); None while the episode runs."""
    reason: str | None
    """The page's own word on the reward, where it has one."""
    error: str | None = None
    """Why the action could not be done; the page is as it was."""
    seconds: float = 0.0
    """Wall time of the action."""
