"""A passage as the JSON object that stands under "document"."""

from json.encoder import encode_basestring as quoted

from toolenvs.retrieval import Hit


def document(hit: Hit) -> str:
    """What Search-R1's servers give of a passage, whichever index they have, and ASearcher's `url`, which is the id.

    `contents` is the title in double quotes, a line break, and the text; title and text are escaped once for both.
    """
    title, text = quoted(hit.title)[1:-1], quoted(hit.text)[1:-1]
    contents = f'\\"{title}\\"\\n{text}' if title else text
    key = quoted(hit.id)
    return f'{{"id": {key}, "url": {key}, "title": "{title}", "text": "{text}", "contents": "{contents}"}}'


def scored(hits: list[Hit]) -> str:
    """A list of {"document", "score"}."""
    return listed([f'{{"document": {document(hit)}, "score": {float(hit.score)!r}}}' for hit in hits])


def bare(hits: list[Hit]) -> str:
    """A list of documents."""
    return listed([document(hit) for hit in hits])


def listed(items: list[str]) -> str:
    """A JSON list of what is JSON already."""
    return f"[{', '.join(items)}]"


def result(items: list[str]) -> bytes:
    """The answer, in UTF-8; half a surrogate pair, which another's retriever may find, becomes a question mark."""
    return f'{{"result": {listed(items)}}}'.encode("utf-8", "replace")
