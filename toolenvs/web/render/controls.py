"""The fields and forms of a page while it is read."""

from dataclasses import replace

from toolenvs.web.document import Field, Form
from toolenvs.web.render.fields import field_mark
from toolenvs.web.render.lines import Lines, escaped, joined
from toolenvs.web.render.tags import Does, Tag, tag_of, unescaped

MAX_FIELDS = 2_000
_MAX_OPTIONS = 1_000
"""Of one select that are kept."""
_INPUTS = frozenset((
    "date", "datetime-local", "email", "month", "number", "range", "search", "tel", "time", "url", "week",
    "color", "password",
))  # fmt: skip
_METHODS = frozenset(("get", "post", "dialog"))
_ENCODINGS = frozenset(("multipart/form-data", "text/plain"))


class Controls(Lines):
    """Adds what a user fills in and pushes."""

    def _form(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        attributes = tag.attributes
        action = attributes.get("action", "").strip()
        method = attributes.get("method", "").strip().lower()
        encoding = attributes.get("enctype", "").strip().lower()
        self.form = len(self.forms)
        self.form_ids.setdefault(attributes.get("id", ""), self.form)
        self.hidden.append([])
        self.forms.append(
            Form(
                (self.join(action) if action else self.join.page) or "",
                method if method in _METHODS else "get",
                encoding if encoding in _ENCODINGS else "application/x-www-form-urlencoded",
            )
        )

    def _form_end(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        self.form = None

    def _owner(self) -> int | None:
        """The open form; else the last one, where the parser could give it no content, as between rows of a table."""
        if self.form is None and self.forms and len(self.forms) - 1 not in self.filled:
            return len(self.forms) - 1
        return self.form

    def _add(self, tag: Tag, kind: str, value: str, **more: object) -> None:
        """A field, with its mark."""
        if len(self.fields) >= MAX_FIELDS:
            self.cut.append("fields")
            return
        attributes = tag.attributes
        owner = self._owner()
        if owner is not None:
            self.filled.add(owner)
        if "form" in attributes:
            self.named_forms[self.number] = attributes["form"]
        label = more.pop("label", None) or attributes.get("placeholder") or attributes.get("aria-label")
        field = Field(
            self.number, len(self.lines), kind, attributes.get("name", ""), value, form=owner,
            disabled="disabled" in attributes, label=" ".join(str(label or attributes.get("title", "")).split()),
            element=attributes.get("data-te-id", ""), **more,  # type: ignore[arg-type]
        )  # fmt: skip
        self.fields.append(field)
        self.number += 1
        self.buffer.append(escaped(field_mark(field)))

    def control(self, tag: Tag) -> None:
        """What only a script makes a button: a mark before its text."""
        self._add(Tag(tag.does, tag.name, {**tag.attributes, "name": ""}), "button", "")
        self.buffer.append(" ")

    def _input(self, tag: Tag, place: int) -> None:
        attributes = tag.attributes
        kind = attributes.get("type", "text").strip().lower()
        if kind == "hidden":
            owner = self.form_ids.get(attributes["form"]) if "form" in attributes else self._owner()
            if owner is not None and attributes.get("name") and "disabled" not in attributes:
                self.filled.add(owner)
                self.hidden[owner].append((attributes["name"], attributes.get("value", "")))
            return
        value = attributes.get("value", "")
        if kind in ("checkbox", "radio"):
            self._add(tag, kind, attributes.get("value", "on"), checked="checked" in attributes)
        elif kind in ("submit", "image", "reset", "button"):
            label = value or attributes.get("alt") or {"reset": "Reset", "button": ""}.get(kind, "Submit")
            self._add(tag, "submit" if kind == "image" else kind, "" if kind == "image" else value, label=label)
        elif kind == "file":
            self._add(tag, kind, "")
        else:
            self._add(tag, kind if kind in _INPUTS else "text", value)

    def _textarea(self, tag: Tag, place: int) -> int:
        self._add(tag, "textarea", unescaped(self.parts[place + 1]))
        return self.end_of("textarea", place)

    def _button(self, tag: Tag, place: int) -> int:
        end = self.end_of("button", place)
        kind = tag.attributes.get("type", "submit").strip().lower()
        if kind not in ("submit", "reset", "button"):
            kind = "submit"
        if kind == "submit" and self._owner() is None and "form" not in tag.attributes:
            kind = "button"
        self._add(tag, kind, tag.attributes.get("value", ""), label=self._inner(place, end))
        return end

    def _select(self, tag: Tag, place: int) -> int:
        end = self.end_of("select", place)
        options: list[tuple[str, str]] = []
        chosen: list[str] = []
        for at in range(place + 2, end, 2):
            written = self.parts[at]
            if len(options) >= _MAX_OPTIONS or not (written == "option" or written.startswith("option ")):
                continue
            option = tag_of(written).attributes
            until = next((to for to in range(at + 2, end, 2) if self.parts[to] in ("/option", "/select")), end)
            shown = joined(option.get("label", "").replace("&", "&amp;") or "".join(self.parts[at + 1 : until : 2]))
            value = option.get("value", shown)
            options.append((value, shown))
            if "selected" in option:
                chosen.append(value)
        several = "multiple" in tag.attributes
        if not several:
            chosen = chosen[-1:] or [value for value, _ in options[:1]]
        self._add(
            tag, "select", chosen[0] if chosen else "", options=tuple(options), chosen=tuple(chosen), multiple=several
        )
        return end

    def _inner(self, place: int, end: int) -> str:
        """The text between two places, for a label; anchors in it lead to its line."""
        text = [self.parts[place + 1]]
        at = place + 2
        while at < end:
            tag = tag_of(self.parts[at])
            if tag.does is Does.SKIP:
                at = self.end_of(tag.name, at)
            elif tag.does is Does.IMAGE:
                text.append(escaped(tag.attributes.get("alt", "")))
            elif tag.does:
                text.append(" ")
            if tag.id:
                self.anchors.setdefault(tag.id, len(self.lines))
            if at < end:
                text.append(self.parts[at + 1])
            at += 2
        return joined("".join(text))

    def filled_in(self, last: int) -> tuple[tuple[Field, ...], tuple[Form, ...]]:
        """All fields and forms, when the page was read up to its line `last`."""
        fields = []
        for field in self.fields:
            named = self.named_forms.get(field.number)
            if named is not None:
                field = replace(field, form=self.form_ids.get(named))
            fields.append(field if field.line <= last else replace(field, line=max(last, 0)))
        pairs = zip(self.forms, self.hidden, strict=True)
        return tuple(fields), tuple(replace(form, hidden=tuple(hidden)) for form, hidden in pairs)
