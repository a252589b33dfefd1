"""An environment with its tools taken away: what an agent answers then, it knew before."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolenvs.budget import Limits
from toolenvs.errors import PageError
from toolenvs.page import Page, Prompt, ProtocolTable

CONTAINS: Mapping[str, Any] = {"name": "qa", "metric": "sub_em", "reads": "response"}
"""A judge that says yes wherever the response holds a gold, as DeepResearcher's check for contamination does."""

_TAGS = "Think first if you like, then write the answer, in as few words as it takes, between <answer> and </answer>."
_FORMS = {
    "maths": "Think step by step, and put the final answer in \\boxed{}.",
    "unit_tests": "Write the program, whole, in one fenced block.",
}


def without_tools(page: Page, *, prompt: str = "") -> Page:
    """The page as one turn without a tool: the question, an answer from memory, and the page's own judge.

    Args:
        page: the environment.
        prompt: what the policy reads, with `{question}` in it; "" for a few plain words that ask for an answer in the
            form that the page's judge reads.

    Raises:
        PageError: the prompt has no `{question}`.
    """
    form = _FORMS.get(str(page.judge.get("name")), _TAGS)
    user = (
        prompt
        or f"Answer the question below from what you know; there is nothing to look it up in. {form}\n\n{{question}}"
    )
    if "{question}" not in user:
        raise PageError(f"{page.id}: the prompt without tools has no {{question}}, so that no task would be shown")
    limits = page.budget
    return replace(
        page,
        prompt=Prompt(user=user, template=page.prompt.template),
        protocol=ProtocolTable(
            kind="tags",
            malformed="end",
            no_call="answer",
            options={"calls": {}, "observation": "information", "answer_stops": True},
        ),
        tools={},
        budget=Limits(
            max_turns=1,
            max_turn_tokens=limits.max_turn_tokens,
            max_response_tokens=limits.max_response_tokens,
            deadline_s=limits.deadline_s,
        ),
        reward=({"term": "outcome", "graded": True},),
    )
