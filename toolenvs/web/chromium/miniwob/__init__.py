"""The tasks of MiniWoB++ (Shi et al. 2017, Liu et al. 2018): small pages that state a goal and reward reaching it.

    with MiniWob() as browser:
        seen = browser.reset("click-checkboxes", seed=0)
        seen.goal, seen.text                       # what to do, and the page as numbered lines
        seen = browser.click(1)                    # the element of line 1
        seen.done, seen.success, seen.raw_reward

The pages are those of the package `miniwob` (MIT), of which only the files are used; `pip install --no-deps miniwob`.
One page in one context serves any number of episodes. Time in it stands still but for `step_s` after each action, so
that an episode depends on its seed and actions alone, animations and time limits included.
"""

from toolenvs.web.chromium.miniwob.driver import MiniWob
from toolenvs.web.chromium.miniwob.observation import Observation
from toolenvs.web.chromium.miniwob.tasks import FAULTS, GRADED, tasks

__all__ = ["FAULTS", "GRADED", "MiniWob", "Observation", "tasks"]
