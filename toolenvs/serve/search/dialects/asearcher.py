"""ASearcher: `/retrieve` as Search-R1's without scores, each document with its `url`; and pages by their urls.

    POST /access {"urls": ["..."]} -> {"result": [{"url", "contents", ...}, null]}

A passage's url is its id in the corpus; null stands for one that the corpus does not have.
"""

from toolenvs.retrieval import Hit
from toolenvs.serve.fields import Fields
from toolenvs.serve.search.dialects import documents
from toolenvs.serve.search.settings import Settings


def read(fields: Fields, settings: Settings) -> list[str]:
    """The urls.

    Raises:
        Refused: there are none, or too many.
    """
    urls = fields.texts("urls", most=settings.max_queries, hint=" (split the request)")
    fields.check()
    return urls


def write(pages: list[Hit | None]) -> bytes:
    """The answer."""
    return documents.result(["null" if page is None else documents.document(page) for page in pages])
