"""Boolean search over a `bm25` index, in the language of PubMed: which passages match, the best of them first.

    (statins OR "lipid lowering") AND stroke NOT child[ti]

`AND`, `OR` and `NOT` are operators in capitals; they are applied from left to right, parentheses apart, and words that
stand side by side are joined by AND. Words and phrases are analysed as the index is: stop words are left out, and a
word stands for all of its stem, so that an asterisk behind it adds nothing. `[ti]` looks in titles alone, other fields
everywhere; a clause of dates (`[dp]`) is not read. What is no such expression is read as far as it makes sense: every
query is one.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from toolenvs.retrieval import analysis
from toolenvs.retrieval.bm25 import Bm25

__all__ = ["MAX_CLAUSES", "Boolean"]

MAX_CLAUSES = 256
"""Words and phrases of a query that are read."""
MAX_VERIFIED = 20_000
"""Passages whose text is read for a phrase or a title; of more, those with all of its words count."""
_OPERATORS = ("AND", "OR", "NOT")
_TITLE = ("ti", "title")
_DATES = ("dp", "pdat", "edat", "mhda", "date - publication", "publication date")
_TOKEN = re.compile(r'"([^"]*)"|([()])|\[([^\[\]]{0,64})\]|([^\s()\[\]"]+)')

_Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Clause:
    """Terms that follow one another in a passage, or in its title."""

    terms: tuple[str, ...]
    in_title: bool


@dataclass(slots=True)
class _Group:
    """What stands in one pair of parentheses, as far as it was read."""

    negated: bool
    """Whether it stands behind an odd number of NOTs."""
    rows: _Rows | None = None
    """Rising; None where nothing restricts it yet."""
    operator: str = ""
    """In front of what comes next; "" where none was written."""
    terms: Counter[str] = field(default_factory=Counter)


class Boolean(Bm25):
    """Passages that match an expression, ranked by the BM25 of those of its words that are not negated.

    Args:
        source: the index folder; its part `bm25` is searched.
        kernel: see `Bm25`.

    Raises:
        RetrievalError: the folder holds no such index, or a damaged one.
    """

    backend = "boolean"

    def __init__(self, source: str | Path, *, kernel: str = "auto") -> None:
        super().__init__(source, kernel=kernel)
        identity = json.dumps([self.backend, self.fingerprint])
        self.fingerprint = hashlib.sha256(identity.encode()).hexdigest()

    def rank(self, query: str, k: int) -> tuple[list[int], list[float]]:
        """Rows of the best `k` of the passages that match, and their scores; without words that are not negated, 0."""
        rows, terms = self._matching(query)
        scores = np.zeros(len(rows), dtype=np.float64)
        for term, boost in terms.items():
            number = self._postings.find(term)
            if number is not None and len(rows):
                holders, added, _ = self._postings.of(number, boost)
                place = np.minimum(holders.searchsorted(rows), len(holders) - 1)
                scores += np.where(holders[place] == rows, added[place], 0.0)
        rounded = scores.astype(np.float32)
        order = np.lexsort((self._store.rank[rows], -rounded))[:k]
        return rows[order].tolist(), rounded[order].tolist()

    def _matching(self, query: str) -> tuple[_Rows, Counter[str]]:
        """The rows that match, and the terms that are not negated."""
        groups, found = [_Group(negated=False)], dict[_Clause, _Rows]()
        for token in _read(query):
            group = groups[-1]
            if isinstance(token, _Clause):
                if token not in found:
                    found[token] = self._holding(token)
                if group.negated == (group.operator == "NOT"):
                    group.terms.update(token.terms)
                self._join(group, found[token])
            elif token == "(":
                groups.append(_Group(negated=group.negated != (group.operator == "NOT")))
            elif token != ")":
                group.operator = token
            elif len(groups) > 1:
                self._close(groups)
        while len(groups) > 1:
            self._close(groups)
        rows = groups[0].rows
        return (np.empty(0, dtype=np.int32) if rows is None else rows), groups[0].terms

    def _close(self, groups: list[_Group]) -> None:
        """End the innermost group, and join it to what is around it."""
        inner, outer = groups.pop(), groups[-1]
        outer.terms.update(inner.terms)
        if inner.rows is not None:
            self._join(outer, inner.rows)
        outer.operator = ""

    def _join(self, group: _Group, rows: _Rows) -> None:
        operator, group.operator = group.operator, ""
        if operator == "NOT":
            before = np.arange(self.size, dtype=np.int32) if group.rows is None else group.rows
            group.rows = np.setdiff1d(before, rows, assume_unique=True)
        elif group.rows is None:
            group.rows = rows
        elif operator == "OR":
            group.rows = np.union1d(group.rows, rows)
        else:
            group.rows = np.intersect1d(group.rows, rows, assume_unique=True)

    def _holding(self, clause: _Clause) -> _Rows:
        """The rows that a clause matches, rising."""
        rows: _Rows | None = None
        for term in dict.fromkeys(clause.terms):
            number = self._postings.find(term)
            if number is None:
                return np.empty(0, dtype=np.int32)
            holders = self._postings.of(number, 1)[0]
            rows = holders if rows is None else np.intersect1d(rows, holders, assume_unique=True)
        assert rows is not None  # a clause has a term
        if (len(clause.terms) == 1 and not clause.in_title) or len(rows) > MAX_VERIFIED:
            return rows
        return np.array([row for row in rows.tolist() if self._is_held(clause, row)], dtype=np.int32)

    def _is_held(self, clause: _Clause, row: int) -> bool:
        passage = self._store.passage(row)
        texts = [passage.title] if clause.in_title else [passage.title, passage.text]
        return any(_follow(clause.terms, analysis.terms(text)) for text in texts)


def _follow(wanted: Sequence[str], terms: Sequence[str]) -> bool:
    """Whether `wanted` stands in `terms`, one behind the other."""
    first, length = wanted[0], len(wanted)
    return any(
        term == first and tuple(terms[place : place + length]) == tuple(wanted) for place, term in enumerate(terms)
    )


def _read(query: str) -> list[_Clause | str]:
    """The operators, parentheses and clauses of a query, in order."""
    tokens: list[_Clause | str] = []
    clauses, last = 0, None  # where a field may follow
    for match in _TOKEN.finditer(query):
        phrase, parenthesis, tag, word = match.groups()
        if tag is not None:
            if last is not None:
                _tagged(tokens, last, tag.strip().lower())
            last = None
        elif parenthesis or word in _OPERATORS:
            tokens.append(parenthesis or word)
            last = None
        else:
            terms = tuple(analysis.terms(word if phrase is None else phrase))
            last = len(tokens) if terms else None
            if terms:
                clauses += 1
                if clauses > MAX_CLAUSES:
                    break
                tokens.append(_Clause(terms, in_title=False))
    return tokens


def _tagged(tokens: list[_Clause | str], place: int, tag: str) -> None:
    """Say of the clause at `place` that it has a field."""
    clause = tokens[place]
    assert isinstance(clause, _Clause)
    name = tag.partition(":")[0]
    if name in _TITLE:
        tokens[place] = _Clause(clause.terms, in_title=True)
    elif name in _DATES:  # and the operator in front of it with it
        del tokens[place - 1 if place and tokens[place - 1] in _OPERATORS else place :]
