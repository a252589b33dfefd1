"""DeepRetrieval's form of a response: a thought, and behind it an answer that is a JSON object.

It is sound where `<think>`, `</think>`, `<answer>` and `</answer>` stand in it once each, in that order. Only what the
policy wrote is read, and a `<think>` that ends a rendered prompt.
"""

import json
from typing import Any

from toolenvs.rewards.moment import Moment

_TAGS = ("<think>", "</think>", "<answer>", "</answer>")


def response(moment: Moment) -> str:
    """What the policy wrote, behind the `<think>` that a rendered prompt may have opened for it."""
    opened = moment.task.rendered and moment.transcript.segments[0].text.rstrip().endswith(_TAGS[0])
    return (_TAGS[0] if opened else "") + moment.transcript.policy_text()


def is_sound(text: str) -> bool:
    """Whether the four tags stand in a response once each, in order."""
    places = [text.find(tag) for tag in _TAGS]
    return places[0] >= 0 and places == sorted(places) and all(text.count(tag) == 1 for tag in _TAGS)


def members(answer: str | None) -> dict[str, Any]:
    """The members of the JSON object that an answer is; none where it is anything else."""
    try:
        read = json.loads(answer or "")
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
