"""Documents as plain values, for another process or for later."""

from dataclasses import asdict
from typing import Any

from toolenvs.web.document import Document, Field, Form, Link


def written(document: Document) -> dict[str, Any]:
    """A document as JSON can hold it."""
    return {
        "url": document.url,
        "title": document.title,
        "lines": document.lines,
        "links": [(link.number, link.line, link.text, link.url, link.element) for link in document.links],
        "anchors": document.anchors,
        "fields": [asdict(field) for field in document.fields],
        "forms": [asdict(form) for form in document.forms],
        "content_type": document.content_type,
        "truncated": document.truncated,
    }


def read(data: dict[str, Any]) -> Document:
    """The document of `written`, after JSON."""
    lists = {
        "lines": tuple(data["lines"]),
        "truncated": tuple(data["truncated"]),
        "links": tuple(Link(*link) for link in data["links"]),
        "forms": tuple(Form(**{**form, "hidden": _pairs(form["hidden"])}) for form in data["forms"]),
        "fields": tuple(
            Field(**{**field, "options": _pairs(field["options"]), "chosen": tuple(field["chosen"])})
            for field in data["fields"]
        ),
    }
    return Document(**{**data, **lists})


def _pairs(listed: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((one, other) for one, other in listed)
