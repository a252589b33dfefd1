"""A transcript only grows, and every part knows its author."""

import pytest

from toolenvs import render
from toolenvs.errors import TranscriptError
from toolenvs.transcript import Author, Segment, Transcript


def _transcript() -> Transcript:
    return Transcript().append(
        [
            Segment(Author.PROMPT, "Q? "),
            Segment(Author.POLICY, "call ", 1),
            Segment(Author.POLICY, "<fake>", 1, scored=False),
            Segment(Author.TOOL, "4 ", 1, verbatim=True),
            Segment(Author.HARNESS, "note ", 1),
            Segment(Author.POLICY, "4!", 2),
        ]
    )


def test_views() -> None:
    transcript = _transcript()
    assert transcript.text == "Q? call <fake>4 note 4!"
    assert transcript.response == "call <fake>4 note 4!"
    assert transcript.policy_text() == "call 4!"
    assert transcript.policy_text(1) == "call "
    assert transcript.turn == 2
    assert [segment.text for segment in transcript.by(Author.TOOL)] == ["4 "]


def test_what_is_read_once_and_then_kept_in_part() -> None:
    read = [
        Segment(Author.PROMPT, "Q? "),
        Segment(Author.POLICY, "open ", 1),
        Segment(Author.TOOL, "a long page ", 1, verbatim=True, kept="a.. "),
        Segment(Author.POLICY, "noted ", 2),
        Segment(Author.TOOL, "gone ", 2, kept=""),
        Segment(Author.POLICY, "so ", 3),
    ]
    transcript = Transcript().append(read)
    assert transcript.text == "Q? open a long page noted gone so "  # nothing is lost
    assert transcript.read(2).text == transcript.text
    assert transcript.read(3).text == "Q? open a.. noted gone so "
    assert transcript.read(4).text == "Q? open a.. noted so "
    assert transcript.read(4).policy_text() == transcript.policy_text()
    assert transcript.read(4).segments[2].verbatim
    plain = _transcript()
    assert plain.read(9) is plain


def test_append_gives_a_new_one() -> None:
    transcript = _transcript()
    longer = transcript.append([Segment(Author.TOOL, "x", 2)])
    assert len(longer.segments) == len(transcript.segments) + 1
    assert longer.segments[:-1] == transcript.segments


@pytest.mark.parametrize("segment", [Segment(Author.TOOL, "late", 1), Segment(Author.PROMPT, "again", 2)])
def test_what_cannot_follow_is_refused(segment: Segment) -> None:
    with pytest.raises(TranscriptError):
        _transcript().append([segment])


def test_empty_segments_are_refused() -> None:
    with pytest.raises(TranscriptError, match="leave it out"):
        Segment(Author.TOOL, "")


def test_rendering_shows_authors_and_escapes_what_they_wrote() -> None:
    transcript = _transcript().append([Segment(Author.TOOL, "<script>\x1b[31m\x9b2J\r\a\ud800", 2)])
    page = render.html(transcript)
    assert "<script>" not in page
    assert '<span class="policy unscored" title="policy, turn 1">&lt;fake&gt;</span>' in page
    shown = render.ansi(transcript)
    assert "\u241b[31m" in shown
    assert not set("\x9b\r\a\ud800") & set(shown)
    for author in Author:
        assert f'class="{author.value}' in page
