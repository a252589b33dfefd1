"""Show a transcript with authorship: coloured text for terminals, one HTML fragment for pages."""

from html import escape

from toolenvs.transcript import Author, Segment, Transcript

_ANSI = {Author.PROMPT: "90", Author.POLICY: "32", Author.TOOL: "36", Author.HARNESS: "35"}
_UNSCORED = "9"  # crossed out
# Control characters that a program printed are shown, and do nothing to the terminal; half a surrogate pair could not
# be encoded.
_VISIBLE = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
_VISIBLE |= dict.fromkeys((*range(127, 160), *range(55296, 57344)), "�")

CSS = """
.transcript { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.5 ui-monospace, monospace; }
.transcript .prompt { color: #6b7280; }
.transcript .policy { background: #dcfce7; color: #14532d; }
.transcript .tool { background: #dbeafe; color: #1e3a8a; }
.transcript .harness { background: #fae8ff; color: #701a75; }
.transcript .unscored { text-decoration: line-through; }
"""


def ansi(transcript: Transcript) -> str:
    """The transcript in terminal colours: prompt grey, policy green, tool cyan, harness magenta."""
    return "".join(map(_coloured, transcript.segments))


def _coloured(segment: Segment) -> str:
    codes = _ANSI[segment.author] + ("" if segment.scored else f";{_UNSCORED}")
    return f"\x1b[{codes}m{segment.text.translate(_VISIBLE)}\x1b[0m"


def html(transcript: Transcript) -> str:
    """The transcript as a `<div class="transcript">` with one `<span>` a segment; style it with `CSS`."""
    return f'<div class="transcript">{"".join(map(_span, transcript.segments))}</div>'


def _span(segment: Segment) -> str:
    classes = segment.author.value + ("" if segment.scored else " unscored")
    text = escape(segment.text.translate(_VISIBLE))
    return f'<span class="{classes}" title="{segment.author.value}, turn {segment.turn}">{text}</span>'
