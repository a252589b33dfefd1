"""How a field of a form stands in its line."""

from toolenvs.web.document import Field

MAX_SHOWN_OPTIONS = 50
"""Of a select; the others are told by their number."""
PUSHED = frozenset(("submit", "button", "reset"))


def field_mark(field: Field) -> str:
    """The text of a field in its line, such as `[3‡text q: python]`, `[4‡checkbox all=1: on]`, `[5‡submit Search]`."""
    kind = field.kind
    if kind in PUSHED:
        said = field.label or field.value or field.name
        text = f"{kind} {said}" if said else kind
    elif kind in ("checkbox", "radio"):
        named = f"{kind} {field.name}={field.value}" if field.name else kind
        text = f"{named}: {'on' if field.checked else 'off'}"
    elif kind == "select":
        shown = [text or value for value, text in field.options]
        on = [text or value for value, text in field.options if value in field.chosen]
        of = ", ".join(shown[:MAX_SHOWN_OPTIONS])
        left = len(shown) - MAX_SHOWN_OPTIONS
        more = f" and {left} more" if left > 0 else ""
        text = f"select {field.name}: {', '.join(on[:MAX_SHOWN_OPTIONS])} (of {of}{more})"
    elif kind == "file":
        text = f"file {field.name}"
    else:
        value = "*" * len(field.value) if kind == "password" else field.value
        named = f"{kind} {field.name}" if field.name else kind
        text = f"{named} ({field.label}): {value}" if field.label and not value else f"{named}: {value}"
    if field.disabled:
        text += ", disabled"
    return f"[{field.number}‡{' '.join(text.split())}]"
