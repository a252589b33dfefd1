"""The relational face of the fictional world: the facts of its passages as a SQLite database, and questions over it.

path = world_file(1000, seed=0)                     # a file in the cache, made when first asked for
question = asker(1000, seed=0).draw(Draws("mine", 1))
question.text, question.sql
"""

from toolenvs.world.sql.phrases import THRESHOLDS
from toolenvs.world.sql.tables import NAME, named_file, world_file, write
from toolenvs.world.sql.templates import LEVELS, asker

__all__ = ["LEVELS", "NAME", "THRESHOLDS", "asker", "named_file", "world_file", "write"]
