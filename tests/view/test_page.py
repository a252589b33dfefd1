"""The viewer: one self-contained page, in which nothing that a policy or a program wrote can act."""

import base64
import hashlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.view.opening import Parsed, episode
from toolenvs import view
from toolenvs.codec import TokenCodec
from toolenvs.rollout import Trajectory
from toolenvs.rollout.trajectory import CallRecord
from toolenvs.tokens import TokenTranscript
from toolenvs.transcript import Author
from toolenvs.view.plain import VISIBLE

EVIL = (
    "</script><script>alert(1)</script><img src=x onerror=\"alert('2')\"> {{script}} <!-- <script> &amp; "
    "\x00\x1b[31m\u202eend\ud800\u2028"
)


def _page(*episodes: Trajectory, **options: Any) -> Parsed:
    return Parsed(view.html(episodes, **options))


def test_an_episode_is_all_there() -> None:
    (shown,) = _page(episode()).episodes
    assert [(one["author"], one["turn"], one["scored"]) for one in shown["segments"]] == [
        ("prompt", 0, True),
        ("policy", 1, True),
        ("policy", 1, False),
        ("tool", 1, True),
        ("harness", 1, True),
        ("policy", 2, True),
    ]
    assert shown["segments"][2]["text"] == "forged 6 * 7"
    assert shown["seed"] == "9223372036854775808", "digits that a number of JavaScript would lose"
    assert shown["calls"][0]["arguments"] == {"code": "6 * 7", "n": "2"}
    assert (shown["reward"], shown["terms"], shown["usage"]) == (1.0, {"outcome": 1.0}, {"turns": 2.0})


def test_the_page_reaches_for_nothing_outside_itself() -> None:
    text = view.html([episode()])
    for tag, attributes in Parsed(text).elements:
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
    plain, evil = _page(episode()), _page(episode(EVIL, **changes), title=EVIL)
    assert [tag for tag, _ in evil.elements] == [tag for tag, _ in plain.elements]
    assert len(evil.scripts) == 3
    assert evil.scripts[-1] == plain.scripts[-1]
    assert evil.episodes[0]["segments"][3]["text"].startswith("result </script>")


def test_what_a_browser_would_obey_or_drop_is_shown() -> None:
    text = view.html([episode(EVIL)], title=EVIL)
    for character in "\x00\x1b\u202e\ud800":
        assert character not in text
    (shown,) = Parsed(text).episodes
    assert "\u2400\u241b[31m[U+202E]end" in shown["question"]
    assert "\u2400\u241b[31m[U+202E]end" in shown["segments"][0]["text"]


@given(st.text(st.characters(), min_size=1))
def test_any_text_is_one_text_in_the_page(text: str) -> None:
    page = _page(episode(text))
    assert [tag for tag, _ in page.elements].count("script") == 3
    assert page.episodes[0]["question"] == text.translate(VISIBLE)


def test_only_the_pages_own_script_and_style_may_run() -> None:
    text = view.html([episode()])
    (policy,) = [a["content"] for tag, a in Parsed(text).elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (inline,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        assert base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode() in policy


def test_no_episodes_and_more_than_the_limit() -> None:
    assert _page().episodes == []
    assert _page().data["runs"][0]["totals"] == {"episodes": 0, "failed": 0, "success": None, "reward": None}
    many = (episode(success=float(index < 50), turn_rewards=(float(index < 50),)) for index in range(1000))
    page = Parsed(view.html(many, limit=3))
    assert len(page.episodes) == 3
    assert page.data["runs"][0]["totals"] == {"episodes": 1000, "failed": 0, "success": 0.05, "reward": 0.05}


def test_infrastructure_failures_are_in_no_mean() -> None:
    failed = episode(ending="infrastructure", success=None, fault="the sandbox died", turn_rewards=(0.0,))
    page = _page(episode(), failed)
    assert page.data["runs"][0]["totals"] == {"episodes": 2, "failed": 1, "success": 1.0, "reward": 1.0}
    assert page.episodes[1]["failed"] is True


def test_numbers_that_json_cannot_hold_become_null() -> None:
    (shown,) = _page(episode(turn_rewards=(float("nan"),), usage={"seconds": float("inf")})).episodes
    assert (shown["rewards"], shown["reward"], shown["usage"]) == ([None], None, {"seconds": None})


def _tokens(codec: TokenCodec) -> TokenTranscript:
    tokens = TokenTranscript()
    tokens.append_environment(codec.encode("Q"), Author.PROMPT, 0)
    ids = codec.encode("print('é🙂')")
    tokens.append_policy(ids, [-0.25] * len(ids), 1, unscored=[(0, 1)])
    return tokens


def test_tokens_carry_mask_and_log_probability(byte_codec: TokenCodec) -> None:
    tokens = _tokens(byte_codec)
    with_ids = _page(episode(tokens=tokens))
    assert with_ids.data["decoded"] is False
    shown = with_ids.episodes[0]["tokens"]
    assert shown["ids"] == tokens.ids.tolist()
    assert shown["text"] is None
    assert shown["mask"] == "02" + "1" * (len(tokens) - 2)
    assert shown["logprobs"] == [0.0] + [-0.25] * (len(tokens) - 1)


def test_tokens_are_decoded_and_a_character_of_several_tokens_stands_once(byte_codec: TokenCodec) -> None:
    page = _page(episode(tokens=_tokens(byte_codec)), codec=byte_codec)
    pieces = page.episodes[0]["tokens"]["text"]
    assert page.data["decoded"] is True
    assert "".join(pieces) == "Qprint('é🙂')"
    assert "é" in pieces
    assert "🙂" in pieces
    assert len(pieces) == len(page.episodes[0]["tokens"]["ids"])


def test_a_character_that_was_cut_off_is_shown_as_one(byte_codec: TokenCodec) -> None:
    tokens = TokenTranscript()
    tokens.append_environment(byte_codec.encode("Q"), Author.PROMPT, 0)
    ids = byte_codec.encode("a🙂")[:-1]
    tokens.append_policy(ids, [-0.25] * len(ids), 1)
    pieces = _page(episode(tokens=tokens), codec=byte_codec).episodes[0]["tokens"]["text"]
    assert "".join(pieces) == "Qa\ufffd"
