"""Questions over a relational database, each with a gold query: what the generators of such questions share.

A `Book` says how the tables and columns of one database are spoken of; `templates` draw questions from any book, and
an `Asker` keeps those whose answer can be judged by.
"""

from toolenvs.tasks.sql.asking import Asker, SqlQuestion, problem_of
from toolenvs.tasks.sql.book import Book, Figure, Link, Noun, Word
from toolenvs.tasks.sql.templates import Drawn, Template

__all__ = ["Asker", "Book", "Drawn", "Figure", "Link", "Noun", "SqlQuestion", "Template", "Word", "problem_of"]
