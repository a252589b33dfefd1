"""By a language model: it rewrites the solution, programs and outputs included; nothing that it writes is believed.

Tested against a scripted stand-in only; it has not been run against a real model.
"""

from toolenvs.coldstart.parse import read_text
from toolenvs.coldstart.recording import Recording
from toolenvs.coldstart.rejection import Reason, Rejection
from toolenvs.coldstart.source import Source
from toolenvs.protocols.base import Protocol
from toolenvs.rollout.agent import Agent, Request

_PROMPT = """\
Below are a problem and a solution that does all of its calculations by hand. Write the solution again for a reader \
who has a Python interpreter at hand.

Where the solution calculates something that a short program does more surely - long arithmetic, sums, searches, \
equations, counting - put the program there instead of the calculation, and go on from what it prints. Leave what \
needs thought rather than calculation in words, as close to the original as you can. Correct nothing and add no ideas.

Programs share nothing: each has its own imports and definitions, and prints what is needed next. Behind each program \
stands what it prints. Write both exactly like this:
<code>
```python
print(12 * 34)
```
</code>
<interpreter>
408
</interpreter>

End with the final answer, and write nothing behind it:
<answer>
\\boxed{{408}}
</answer>

Use at least one program, and these tags for nothing else. Reply with the new solution only.

Problem:
{question}

Solution:
{solution}"""


class Model:
    """Asks an agent, such as `toolenvs.agents.openai.OpenAIChat`, to rewrite each solution.

    Its outputs are invented, so rows are best built with `outputs="replace"`.

    Args:
        agent: asked once a source, with one user message and no stop strings.
        seed: of its samples.
    """

    name = "model"

    def __init__(self, agent: Agent, *, seed: int = 0) -> None:
        self._agent = agent
        self._seed = seed

    async def rewrite(self, source: Source, protocol: Protocol) -> Recording | Rejection:
        """What the agent made of the solution.

        Raises:
            InfrastructureError: the agent gave no reply.
        """
        if not source.solution.strip():
            return Rejection(Reason.NO_SOLUTION, "the source holds no text solution")
        prompt = _PROMPT.format(question=source.task.question, solution=source.solution)
        request = Request(
            key=source.task.id,
            task=source.task,
            turn=1,
            text=prompt,
            messages=[{"role": "user", "content": prompt}],
            last_result="",
            ids=None,
            stop=(),
            max_new_tokens=None,
            seed=self._seed,
        )
        try:
            action = await self._agent.act(request)
        finally:
            self._agent.release(request.key)
        if action.cut_short:
            return Rejection(Reason.CUT_SHORT, "the model's reply reached its length limit")
        return read_text(action.text, protocol)
