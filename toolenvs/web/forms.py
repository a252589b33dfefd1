"""Forms without a browser: a typed value makes a new document, and sending one makes a request.

Documents are immutable, so the state of a form is the document that shows it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlencode

from toolenvs.web.document import Document, Field, Form, Link
from toolenvs.web.faults import Fault
from toolenvs.web.fetch import Request
from toolenvs.web.render.fields import field_mark
from toolenvs.web.urls import canonical

_NOT_TYPED = {"checkbox", "radio", "select", "submit", "button", "file", "reset", "image", "range", "color"}
_NEWLINE = re.compile(r"\r\n|\r|\n")


def field(document: Document, number: int) -> Field:
    """A field that can be used.

    Raises:
        Fault: no_such_link, there is none with this number, it is a link, or it is disabled.
    """
    item = item_of(document, number)
    if isinstance(item, Link):
        raise Fault("no_such_link", f"{number} is a link, not a field: click it, or take the number after '['")
    if item.disabled:
        raise Fault("no_such_link", f"the field {number} is disabled on this page: use another one")
    return item


def item_of(document: Document, number: int) -> Link | Field:
    """A link or field by its number.

    Raises:
        Fault: no_such_link, there is none.
    """
    item = None if isinstance(number, bool) or not isinstance(number, int) else document.item(number)
    if item is None:
        total = len(document.links) + len(document.fields)
        told = f"its links and fields are 0 to {total - 1}" if total else "it has no links or fields"
        raise Fault("no_such_link", f"this page has no link or field {number!r:.20}: {told}")
    return item


def typed(document: Document, number: int, text: str, *, max_bytes: int) -> Document:
    """The page with `text` in a field.

    Raises:
        Fault: no_such_link, nothing can be typed there; too_large.
    """
    into = field(document, number)
    if into.kind in _NOT_TYPED:
        told = {"select": "select one of its options", "file": "files are not sent"}.get(into.kind, "click it")
        raise Fault("no_such_link", f"nothing can be typed into {number}, a {into.kind}: {told}")
    if not isinstance(text, str) or "\0" in text:
        raise Fault("no_such_link", "what is typed must be a text without NUL characters")
    if len(text.encode("utf-8", "replace")) > max_bytes:
        raise Fault("too_large", f"at most {max_bytes:,} bytes are typed into a field: shorten the text")
    text = text.encode("utf-8", "replace").decode()
    if into.kind != "textarea":
        text = _NEWLINE.sub("", text)
    return _with(document, [replace(into, value=text)])


def selected(document: Document, number: int, wanted: str | Sequence[str]) -> Document:
    """The page with options of a select chosen, each given by its value or by what is shown for it.

    Raises:
        Fault: no_such_link, it is no select or has no such option.
    """
    into = field(document, number)
    if into.kind != "select":
        raise Fault("no_such_link", f"{number} is a {into.kind}, not a select: {_use(into)}")
    asked = [wanted] if isinstance(wanted, str) else list(wanted)
    if len(asked) != 1 and not into.multiple:
        raise Fault("no_such_link", f"one option of the select {number} can be chosen, not {len(asked)}")
    values = [_option(into, one) for one in asked]
    chosen = tuple(value for value, _ in into.options if value in values)
    return _with(document, [replace(into, value=chosen[0] if chosen else "", chosen=chosen)])


def clicked(document: Document, number: int) -> Document:
    """The page with a checkbox turned over, or a radio button on and the others of its name off.

    Raises:
        Fault: no_such_link, it is neither.
    """
    on = field(document, number)
    if on.kind == "checkbox":
        return _with(document, [replace(on, checked=not on.checked)])
    if on.kind != "radio":
        raise Fault("no_such_link", f"{number} is a {on.kind}: {_use(on)}")
    group = [
        replace(other, checked=other.number == number)
        for other in document.fields
        if other.kind == "radio" and other.name == on.name and other.form == on.form
    ]
    return _with(document, group)


def submission(document: Document, number: int | None, *, max_bytes: int) -> Request:
    """The request that a form makes.

    Args:
        document: the page with what was typed.
        number: a button or any other field of the form; None where the page has one form only.
        max_bytes: of the fields, encoded.

    Raises:
        Fault: no_such_link, there is no such form; bad_url, it leads nowhere; needs_browser; too_large.
    """
    pressed = None
    if number is None:
        if len(document.forms) != 1:
            told = f"this page has {len(document.forms) or 'no'} forms: give the number of a button or field of one"
            raise Fault("no_such_link", told)
        index: int | None = 0
    else:
        pressed = field(document, number)
        index = pressed.form
        if pressed.kind in ("button", "reset"):
            raise Fault(
                "needs_browser", f"the button {number} runs a script of the page: use a link or a submit button"
            )
    if index is None or index >= len(document.forms):
        raise Fault("needs_browser", f"the field {number} belongs to no form: only a script could send it")
    form = document.forms[index]
    if not form.url:
        raise Fault("bad_url", "this form leads to an address that is neither http nor https: use another one")
    if form.method == "post" and form.encoding != "application/x-www-form-urlencoded":
        raise Fault("needs_browser", f"this form is sent as {form.encoding}: only a real browser sends that here")
    data = urlencode(_pairs(document, index, form, pressed)).encode()
    if len(data) > max_bytes:
        raise Fault("too_large", f"the form has {len(data):,} bytes, at most {max_bytes:,} are sent: type less")
    if form.method == "post":
        return Request(canonical(form.url), "POST", data, form.encoding)
    address = form.url.partition("#")[0].partition("?")[0]
    return Request(canonical(f"{address}?{data.decode()}"))


def _pairs(document: Document, index: int, form: Form, pressed: Field | None) -> list[tuple[str, str]]:
    pairs = list(form.hidden)
    for one in document.fields:
        if one.form != index or one.disabled or not one.name:
            continue
        if one.kind in ("submit", "image"):
            if one is pressed:
                pairs.append((one.name, one.value))
        elif one.kind in ("checkbox", "radio"):
            if one.checked:
                pairs.append((one.name, one.value))
        elif one.kind == "select":
            pairs.extend((one.name, value) for value in one.chosen)
        elif one.kind not in ("button", "reset", "file"):
            pairs.append((one.name, one.value))
    return [(_NEWLINE.sub("\r\n", name), _NEWLINE.sub("\r\n", value)) for name, value in pairs]


def _option(select: Field, wanted: str) -> str:
    plain = " ".join(str(wanted).casefold().split())
    by_value = [value for value, _ in select.options if value == wanted]
    by_text = [value for value, shown in select.options if shown == wanted]
    nearly = [value for value, shown in select.options if " ".join(shown.casefold().split()) == plain]
    for values in (by_value, by_text, nearly):
        if values:
            return values[0]
    known = ", ".join(repr(shown or value) for value, shown in select.options[:20])
    raise Fault("no_such_link", f"the select {select.number} has no option {wanted!r:.80}: its options are {known}")


def _use(one: Field) -> str:
    if one.kind == "select":
        return "select one of its options"
    if one.kind in ("submit", "button", "checkbox", "radio"):
        return "click it"
    return "type into it"


def _with(document: Document, changed: Sequence[Field]) -> Document:
    """The page with some fields in another state, in their lines too."""
    by_number = {one.number: one for one in changed}
    lines = list(document.lines)
    fields = []
    for old in document.fields:
        new = by_number.get(old.number, old)
        if new is not old:
            lines[new.line] = lines[new.line].replace(field_mark(old), field_mark(new), 1)
        fields.append(new)
    return replace(document, lines=tuple(lines), fields=tuple(fields))
