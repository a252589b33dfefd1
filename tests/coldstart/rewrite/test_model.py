"""The model rewriter, with a function in the model's place."""

from collections.abc import Callable

import pytest

from toolenvs.agents.scripted import FromFunction
from toolenvs.blueprint import Blueprint
from toolenvs.coldstart import Model, Reason, Source, build
from toolenvs.errors import EngineError
from toolenvs.rollout.agent import Action, Request
from toolenvs.tasks.task import Task

_SOURCE = Source(
    task=Task(id="t", question="What is {solution} 12 * 34?", golds=("408",)), solution="It is 408, {question}."
)


def test_an_invented_output_is_replaced_by_the_live_one(env: Blueprint, retool_text: Callable[..., str]) -> None:
    model = Model(FromFunction(lambda request: retool_text(output="four hundred")))
    required = build(env, [_SOURCE], model)
    assert list(required.rejected) == [Reason.WRONG_OUTPUT]
    (row,) = build(env, [_SOURCE], model, outputs="replace").rows
    assert "408" in row.transcript.response
    assert "four hundred" not in row.transcript.response
    assert (row.provenance.rewriter, row.provenance.replaced) == ("model", 1)


def test_the_model_reads_problem_and_solution_as_they_are(retool: Blueprint, retool_text: Callable[..., str]) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return retool_text()

    build(retool, [_SOURCE], Model(FromFunction(answer), seed=7))
    (request,) = asked
    (message,) = request.messages
    assert message["role"] == "user"
    assert _SOURCE.task.question in message["content"]
    assert _SOURCE.solution in message["content"]
    assert r"\boxed{408}" in message["content"]
    assert (request.seed, request.stop) == (7, ())


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Action(text="It is 408."), Reason.NO_ANSWER),
        (Action(text="<answer>\n\\boxed{408}\n</answer>"), Reason.NO_CALL),
        (Action(text="<code>", cut_short=True), Reason.CUT_SHORT),
        (Action(text=""), Reason.NO_ANSWER),
    ],
)
def test_replies_that_are_of_no_use_are_named(retool: Blueprint, action: Action, reason: Reason) -> None:
    class Fixed:
        async def act(self, request: Request) -> Action:
            return action

        def release(self, key: str) -> None:
            pass

    assert list(build(retool, [_SOURCE], Model(Fixed())).rejected) == [reason]


def test_an_endpoint_that_fails_is_asked_once_more_and_released_each_time(
    retool: Blueprint, retool_text: Callable[..., str]
) -> None:
    class Flaky:
        def __init__(self) -> None:
            self.asked = self.released = 0

        async def act(self, request: Request) -> Action:
            self.asked += 1
            if self.asked == 1:
                raise EngineError("overloaded")
            return Action(text=retool_text())

        def release(self, key: str) -> None:
            self.released += 1

    agent = Flaky()
    report = build(retool, [_SOURCE], Model(agent))
    assert (len(report.rows), report.failures, agent.asked, agent.released) == (1, (), 2, 2)
