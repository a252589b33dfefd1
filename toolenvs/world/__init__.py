"""One fictional world, fixed by a seed and a size: people, places, companies, works, events and how they hang together.

    made = World(1000, seed=0)
    next(made.passages()).title
    made.question(Draws("mine", 1), hops=2).text

Every name is invented and every fact is drawn, so that no model has read about it: an answer found without the tool is
chance, which `toolenvs.world.chance` computes. Nothing is stored; entity `i` of a kind is a function of the seed, and a
million passages need no memory.
"""

from toolenvs.world.entities import KINDS, Entity, Key
from toolenvs.world.named import named, size_and_seed
from toolenvs.world.passages import Passage
from toolenvs.world.questions import UNKNOWN, Question
from toolenvs.world.world import World

__all__ = ["KINDS", "UNKNOWN", "Entity", "Key", "Passage", "Question", "World", "named", "size_and_seed"]
