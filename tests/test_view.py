"""The viewer: one self-contained page, in which nothing that a policy or a program wrote can act."""

import base64
import dataclasses
import hashlib
import html.parser
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import view
from toolenvs.codec import TokenCodec
from toolenvs.rollout import Trajectory
from toolenvs.rollout.trajectory import CallRecord
from toolenvs.tokens import TokenTranscript
from toolenvs.transcript import Author, Segment, Transcript

EVIL = (
    "</script><script>alert(1)</script><img src=x onerror=\"alert('2')\"> {{script}} <!-- <script> &amp; "
    "\x00\x1b[31m\u202eend\ud800\u2028"
)


def _episode(text: str = "6 * 7", **changes: Any) -> Trajectory:
    segments = [
        Segment(Author.PROMPT, f"Q: {text}"),
        Segment(Author.POLICY, f"call {text}", 1),
        Segment(Author.POLICY, f"forged {text}", 1, scored=False),
        Segment(Author.TOOL, f"result {text}", 1, verbatim=True),
        Segment(Author.HARNESS, f"note {text}", 1),
        Segment(Author.POLICY, "42", 2),
    ]
    call = CallRecord(turn=1, tool="python", arguments={"code": text, "n": 2}, result=text, status="ok", seconds=0.5)
    episode = Trajectory(
        key="0.0",
        group="0",
        env="E-v0",
        task="t/0",
        question=text,
        golds=("42",),
        seed=2**63,
        transcript=Transcript(tuple(segments)),
        tokens=None,
        turn_rewards=(0.0, 1.0),
        reward_terms={"outcome": 1.0},
        ending="answer",
        success=1.0,
        calls=(call,),
        usage={"turns": 2.0},
        seconds=1.5,
    )
    return dataclasses.replace(episode, **changes)


class _Page(html.parser.HTMLParser):
    """What a browser would find: every element, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script":
            self.scripts[-1] += data

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.scripts[0])


def _page(*episodes: Trajectory, **options: Any) -> _Page:
    return _Page(view.html(episodes, **options))


def test_an_episode_is_all_there() -> None:
    (episode,) = _page(_episode()).data["episodes"]
    assert episode["transcript"].startswith('<div class="transcript"><span class="prompt" title="prompt, turn 0">Q: 6')
    assert '<span class="policy unscored" title="policy, turn 1">forged 6 * 7</span>' in episode["transcript"]
    assert episode["turns"] == [0, 1, 1, 1, 1, 2]
    assert episode["seed"] == "9223372036854775808", "digits that a number of JavaScript would lose"
    assert episode["calls"][0]["arguments"] == {"code": "6 * 7", "n": "2"}
    assert (episode["reward"], episode["terms"], episode["usage"]) == (1.0, {"outcome": 1.0}, {"turns": 2.0})


def test_the_page_reaches_for_nothing_outside_itself() -> None:
    text = view.html([_episode()])
    for tag, attributes in _Page(text).elements:
        assert tag not in ("link", "img", "iframe", "base", "object")
        assert not attributes.keys() & {"src", "href", "style", "action", "srcset"}
        assert not [name for name in attributes if name.startswith("on")]
    assert "url(" not in text
    assert "http:" not in text
    assert "https:" not in text


_CALL = CallRecord(turn=1, tool=EVIL, arguments={EVIL: EVIL, "m": [EVIL]}, result=EVIL, status=EVIL, seconds=0.0)
_PLACES: list[dict[str, Any]] = [
    {"calls": (_CALL,)},
    {"golds": (EVIL,), "task": EVIL, "env": EVIL, "key": EVIL, "group": EVIL, "ending": EVIL},
    {"fault": EVIL, "reward_terms": {EVIL: 1.0}, "usage": {EVIL: 1.0}},
]


@pytest.mark.parametrize("changes", _PLACES)
def test_what_was_written_cannot_leave_its_place(changes: dict[str, Any]) -> None:
    plain, evil = _page(_episode()), _page(_episode(EVIL, **changes), title=EVIL)
    assert [tag for tag, _ in evil.elements] == [tag for tag, _ in plain.elements]
    assert len(evil.scripts) == 2
    assert evil.scripts[1] == plain.scripts[1]
    (episode,) = evil.data["episodes"]
    inner = _Page(episode["transcript"])
    assert [tag for tag, _ in inner.elements] == ["div"] + ["span"] * 6
    assert {name for _, attributes in inner.elements for name in attributes} == {"class", "title"}


def test_what_a_browser_would_obey_or_drop_is_shown() -> None:
    text = view.html([_episode(EVIL)], title=EVIL)
    for character in "\x00\x1b\u202e\ud800":
        assert character not in text
    (episode,) = _Page(text).data["episodes"]
    assert "\u2400\u241b[31m[U+202E]end" in episode["question"]
    assert "\u2400\u241b[31m[U+202E]end" in episode["transcript"]


@given(st.text(st.characters(), min_size=1))
def test_any_text_is_one_text_in_the_page(text: str) -> None:
    page = _page(_episode(text))
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert page.data["episodes"][0]["question"] == text.translate(view._VISIBLE)


def test_only_the_pages_own_script_and_style_may_run() -> None:
    text = view.html([_episode()])
    (policy,) = [a["content"] for tag, a in _Page(text).elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (inline,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        assert base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode() in policy


def test_no_episodes_and_more_than_the_limit() -> None:
    empty = _page().data
    assert empty["episodes"] == []
    assert empty["totals"] == {"episodes": 0, "failed": 0, "success": None, "reward": None}
    many = (_episode(success=float(index < 50), turn_rewards=(float(index < 50),)) for index in range(1000))
    data = _Page(view.html(many, limit=3)).data
    assert len(data["episodes"]) == 3
    assert data["totals"] == {"episodes": 1000, "failed": 0, "success": 0.05, "reward": 0.05}


def test_infrastructure_failures_are_in_no_mean() -> None:
    failed = _episode(ending="infrastructure", success=None, fault="the sandbox died", turn_rewards=(0.0,))
    data = _page(_episode(), failed).data
    assert data["totals"] == {"episodes": 2, "failed": 1, "success": 1.0, "reward": 1.0}
    assert data["episodes"][1]["failed"] is True


def test_numbers_that_json_cannot_hold_become_null() -> None:
    (episode,) = _page(_episode(turn_rewards=(float("nan"),), usage={"seconds": float("inf")})).data["episodes"]
    assert (episode["rewards"], episode["reward"], episode["usage"]) == ([None], None, {"seconds": None})


def _tokens(codec: TokenCodec) -> TokenTranscript:
    tokens = TokenTranscript()
    tokens.append_environment(codec.encode("Q"), Author.PROMPT, 0)
    ids = codec.encode("print('é🙂')")
    tokens.append_policy(ids, [-0.25] * len(ids), 1, unscored=[(0, 1)])
    return tokens


def test_tokens_carry_mask_and_log_probability(byte_codec: TokenCodec) -> None:
    tokens = _tokens(byte_codec)
    with_ids = _page(_episode(tokens=tokens)).data
    assert with_ids["decoded"] is False
    shown = with_ids["episodes"][0]["tokens"]
    assert shown["ids"] == tokens.ids.tolist()
    assert shown["text"] is None
    assert shown["mask"] == "02" + "1" * (len(tokens) - 2)
    assert shown["logprobs"] == [0.0] + [-0.25] * (len(tokens) - 1)


def test_tokens_are_decoded_and_a_character_of_several_tokens_stands_once(byte_codec: TokenCodec) -> None:
    data = _page(_episode(tokens=_tokens(byte_codec)), codec=byte_codec).data
    pieces = data["episodes"][0]["tokens"]["text"]
    assert data["decoded"] is True
    assert "".join(pieces) == "Qprint('é🙂')"
    assert "é" in pieces
    assert "🙂" in pieces
    assert len(pieces) == len(data["episodes"][0]["tokens"]["ids"])
