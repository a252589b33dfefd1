"""A transcript shown: whatever stands in it can be written to a terminal and to a file, and obeys nothing."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from toolenvs import render
from toolenvs.env import ToolEnv
from toolenvs.transcript import Author, Segment, Transcript

_ANYTHING = st.text(st.characters(), min_size=1)  # half surrogate pairs too
_AUTHORS = st.sampled_from([Author.PROMPT, Author.POLICY, Author.TOOL])


class _Text(HTMLParser):
    """What a browser would show."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.shown = ""

    def handle_data(self, data: str) -> None:
        self.shown += data


def _read(html: str) -> str:
    parser = _Text()
    parser.feed(html)
    parser.close()
    return parser.shown


@given(st.lists(st.tuples(_AUTHORS, _ANYTHING), max_size=4))
def test_any_text_can_be_encoded_and_stays_as_long_as_it_was(parts) -> None:
    transcript = Transcript(tuple(Segment(author, text, 0) for author, text in parts))
    text = transcript.text
    for shown in (render.ansi(transcript), render.html(transcript)):
        shown.encode("utf-8")
    visible = _read(render.html(transcript).encode("utf-8").decode("utf-8"))
    assert len(visible) == len(text)
    for before, after in zip(text, visible, strict=True):
        assert after == before or not before.isprintable()


def test_half_a_surrogate_pair_and_control_characters_are_seen() -> None:
    transcript = Transcript((Segment(Author.TOOL, "a\ud800b\x1b[2J<&>\r\n\tz", 1),))
    assert _read(render.html(transcript)) == "a\ufffdb\u241b[2J<&>\u240d\n\tz"


def test_an_environment_renders_what_a_policy_wrote_in_half_a_surrogate_pair() -> None:
    env = ToolEnv("ReTool-v0", render_mode="html")
    env.reset(seed=0)
    env.step("half \ud800 of it")
    shown = env.render()
    env.close()
    assert shown is not None
    assert b"half \xef\xbf\xbd of it" in shown.encode("utf-8")
