"""`Episode`: the turn loop. Asynchronous, and ignorant of Gymnasium, tokenizers and torch.

One turn: read what the policy wrote, run the call in it, wrap and bound what comes back, decide whether the episode
ends, and pay the reward.
"""

import asyncio
import logging
import time
import warnings
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolenvs.blueprint import Blueprint
from toolenvs.budget import Meter, Usage, cut, cut_tokens
from toolenvs.errors import ForkError, InfrastructureError, JudgeError, TaskError, ToolenvsError, ToolError
from toolenvs.protocols.base import Call, Observation, Reply
from toolenvs.protocols.markers import neutralize
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.verdict import Verdict
from toolenvs.tasks.task import Task
from toolenvs.tools.base import Piece, ToolResult, ToolSession
from toolenvs.transcript import Author, Segment, Transcript

TERMINATED = frozenset({"answer", "done", "malformed"})
"""Endings that the task itself has; every other one was imposed by a budget or a fault."""
SPENT = "spent"
"""The status of a call that no budget was left for."""
_log = logging.getLogger(__name__)
_KEPT_HITS = 100
_SHOWN_NAME = 64
"""Characters of an unknown tool's name that a reminder repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a turn and what it gave."""

    tool: str
    arguments: Mapping[str, Any]
    result: str
    """What the policy read, cut and neutralised."""
    status: str
    """"ok", a word of the tool's for what went wrong, "spent" (no call was left, and it was not run), or
    "infrastructure"."""
    seconds: float = field(compare=False)
    """Wall-clock time; equal calls need not take equally long."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Figures and files that a program left, by name; never shown to the policy."""
    page: Mapping[str, Any] = field(default_factory=dict)
    """Where a browser answered: "url", "cursor" (None where no page was shown), "lines" (first and last), "hits" (the
    first lines that `find` gave), "total_hits", "http_status" and "truncated"; empty for other tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one turn led to."""

    observation: str
    """The new text that the policy reads, exactly as it stands in the transcript; "" at the end."""
    segments: tuple[Segment, ...] = ()
    """What the turn added to the transcript, the policy's own part first."""
    calls: tuple[ToolCall, ...] = ()
    reward_terms: Mapping[str, float] = field(default_factory=dict)
    ending: str | None = None
    fault: str | None = None
    """What failed, where the ending is "infrastructure"."""

    @property
    def reward(self) -> float:
        """Sum of the terms."""
        return float(sum(self.reward_terms.values()))

    @property
    def terminated(self) -> bool:
        """True for an ending that the task itself has."""
        return self.ending in TERMINATED

    @property
    def truncated(self) -> bool:
        """True for an ending that a budget or a fault imposed."""
        return self.ending is not None and self.ending not in TERMINATED


class Episode:
    """One episode about one task.

    Args:
        blueprint: the environment.
        task: what it is about.
        seed: seed of the tools.
        progress: how far training has come, 0 to 1.
    """

    def __init__(self, blueprint: Blueprint, task: Task, *, seed: int = 0, progress: float = 0.0) -> None:
        self.blueprint = blueprint
        self.task = task
        self.seed = seed
        self.progress = progress
        self.meter = Meter(blueprint.page.budget)
        self.prompt_messages, prompt = blueprint.prompt_of(task)
        self.transcript = Transcript((Segment(Author.PROMPT, prompt),))
        if self.meter.limits.max_input_tokens is not None:
            self.meter.prompt_tokens = blueprint.count(self.prompt, verbatim=False)
        self.ending: str | None = None
        self.verdict: Verdict | None = None
        self._answer: str | None = None
        self._sessions: dict[str, ToolSession] = {}
        self._called: list[Call] = []
        self._results: list[ToolResult] = []
        self._before = 0
        self._said: list[str] = []
        self.reading = False
        """True where the next turn only reads what a tool gave; see `reading_stop` of the page's protocol."""
        self._unread: list[tuple[Observation, str | None]] = []

    @property
    def prompt(self) -> str:
        """What the policy reads first."""
        return self.transcript.segments[0].text

    @property
    def success(self) -> bool | float | None:
        """The task's raw correctness: a score where the judge grades; None while there is no verdict."""
        if self.verdict is None:
            return None
        return self.verdict.correct if self.verdict.score is None else self.verdict.score

    @property
    def metrics(self) -> Mapping[str, float]:
        """What the judge measured beside; empty while there is no verdict."""
        return {} if self.verdict is None else self.verdict.metrics

    @property
    def stop(self) -> tuple[str, ...]:
        """Stop strings of the next generation; none once calls are spent and the page says `free_text`."""
        if self.reading:
            return (self.blueprint.page.protocol.reading_stop,)
        return () if self._writes_on else self.blueprint.protocol.stop

    @property
    def _writes_on(self) -> bool:
        """True where the policy writes on to its end, and no call is run."""
        return self.meter.limits.when_spent == "free_text" and (self._no_call_left or self.meter.grace)

    @property
    def _no_call_left(self) -> bool:
        return self.meter.calls_spent() or (
            bool(self.meter.limits.max_calls_per_tool) and all(map(self.meter.calls_spent, self.blueprint.tools))
        )

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation in chat form, as the policy reads it now."""
        shown = self.transcript.read(self.meter.turns + 1)
        parts = [(segment.author, segment.text) for segment in shown.segments[1:]]
        return self.blueprint.protocol.messages(self.prompt_messages, parts)

    def usage(self) -> dict[str, Usage]:
        """What each budget has left."""
        return self.meter.usage()

    async def step(
        self,
        action: str,
        *,
        exact: bool = False,
        tokens: int | None = None,
        cut_short: bool = False,
        given: int = 0,
    ) -> Turn:
        """Take one turn of the policy.

        Args:
            action: what the policy wrote.
            exact: it was cut at its stop string on tokens already, and stands as it is. Otherwise what follows the
                first stop string is dropped, and a stop string that the engine dropped is written again.
            tokens: how many tokens it is, where they are known.
            cut_short: generation ended at a length limit.
            given: characters at its beginning that the policy did not write, as of a replayed turn: not judged.

        A turn that is cancelled, or that finds the environment set up wrongly, cannot be taken back: it ends the
        episode as `infrastructure`.

        Raises:
            TaskError: the episode has ended already.
        """
        if self.ending is not None:
            raise TaskError(f"the episode about {self.task.id!r} has ended ({self.ending}); reset it before stepping")
        try:
            return await self._turn(action, exact=exact, tokens=tokens, cut_short=cut_short, given=given)
        except BaseException:
            self.ending, self.verdict = "infrastructure", None
            await self.close()
            raise

    async def _turn(self, action: str, *, exact: bool, tokens: int | None, cut_short: bool, given: int) -> Turn:
        self.meter.start_turn()
        self._before = len(self._results)
        limits = self.meter.limits
        if limits.max_turn_chars is not None and len(action) > limits.max_turn_chars:
            action, cut_short = action[: limits.max_turn_chars], True
        if not exact:
            action = _cut_at(action, self.stop)
        reply = self.blueprint.protocol.parse(action)
        written = self._policy_segments(action, reply, given)
        own = "".join([segment.text for segment in written if segment.scored])
        self._said.append(self.blueprint.protocol.prose(own + reply.dropped_stop))
        self.meter.turn_tokens = self.blueprint.count(action) if tokens is None else tokens
        self._spend(action, self.meter.turn_tokens)
        if self._too_long() or cut_short:
            return await self._finish(written, ending="length", reply=reply)
        if self.meter.overdue:
            return await self._finish(written, ending="deadline", reply=reply)
        if self.reading:
            return await self._read_on(written, closed=self.stop[0] in action, exact=exact)
        if reply.dropped_stop and not exact and self.stop:
            written.append(Segment(Author.HARNESS, reply.dropped_stop, self.meter.turns))
        elif reply.dropped_stop:  # a call or an answer that is open at the end of an exact turn was never made
            reply = Reply(forged=reply.forged)
        return await self._answer_turn(written, reply)

    async def _read_on(self, written: list[Segment], *, closed: bool, exact: bool) -> Turn:
        """A turn that only read: show the next piece of what the tool gave, or let the policy act."""
        if exact and not closed:  # it ended of itself, and with it the policy's reply
            return await self._finish(written, ending="answer")
        if not closed:
            written.append(Segment(Author.HARNESS, self.stop[0], self.meter.turns))
        if not self._unread:
            self.reading = False
            return await self._observe(written, self._nothing, ())
        observation, kept = self._unread.pop(0)
        return await self._observe(written, observation, (), author=Author.TOOL, kept=kept)

    async def _answer_turn(self, written: list[Segment], reply: Reply) -> Turn:
        """Decide what the policy's turn leads to."""
        page = self.blueprint.page
        malformed, called = reply.malformed, reply.calls[0].tool if reply.calls else ""
        tool = self.blueprint.tool_key(called)
        if reply.calls and tool is None:
            malformed = f"there is no tool {called[:_SHOWN_NAME]!r}"
        elif not reply.calls and reply.answer is None and malformed is None and page.protocol.no_call == "malformed":
            malformed = "it holds neither a call nor an answer"
        elif not reply.calls and malformed is None:
            self._answer = reply.answer
            return await self._finish(written, ending="answer", reply=reply)
        if self._writes_on:
            self._answer = reply.answer
            return await self._finish(written, ending="answer", reply=reply)
        if self.meter.grace:
            return await self._finish(written, ending="turns", reply=reply)
        if malformed is not None:
            if page.protocol.malformed == "end":
                return await self._finish(written, ending="malformed", reply=reply, malformed=True)
            return await self._observe(written, self._malformed_observation(malformed), (), malformed=True)
        assert tool is not None
        return await self._call(written, Call(tool, reply.calls[0].arguments))

    async def _call(self, written: list[Segment], call: Call) -> Turn:
        """Run a call, or say that none is left."""
        limits = self.meter.limits
        if self.meter.turns_spent and limits.when_spent == "end":
            return await self._finish(written, ending="turns")
        if self.meter.calls_spent(call.tool):
            answered = limits.when_spent == "notice" or (limits.when_spent == "free_text" and not self._no_call_left)
            if not answered:
                return await self._finish(written, ending="calls")
            note = limits.notice.replace("{what}", "calls")
            unmade = ToolCall(tool=call.tool, arguments=call.arguments, result=note, status=SPENT, seconds=0.0)
            told = self.blueprint.protocol.observation(call, note)
            return await self._observe(written, told, (unmade,), author=Author.HARNESS)
        self.meter.count_call(call.tool)
        started_s = time.perf_counter()
        try:
            result = await self._run(call)
            self._results.append(result)
        except Exception as error:
            fault = _fault(error)
            seconds = time.perf_counter() - started_s
            made = ToolCall(
                tool=call.tool, arguments=call.arguments, result="", status="infrastructure", seconds=seconds
            )
            return await self._finish(written, ending="infrastructure", calls=(made,), fault=fault)
        self.reading = bool(self.blueprint.page.protocol.reading_stop)
        pieces = (self.reading and result.pieces) or (Piece(result.text),)
        shown = [self._piece(call, piece) for piece in pieces]
        (observation, kept), self._unread = shown[0], shown[1:]
        made = ToolCall(
            tool=call.tool,
            arguments=call.arguments,
            result="".join(observation.content for observation, _ in shown),
            status=result.status,
            seconds=time.perf_counter() - started_s,
            files=result.data.get("files", {}),
            page=_page(result.data),
        )
        if self.meter.overdue:
            return await self._finish(written, ending="deadline", calls=(made,))
        if result.ended:
            return await self._finish(written, ending=result.limit or "done", calls=(made,))
        if limits.when_spent == "truncate" and self.meter.calls_spent(call.tool):
            return await self._finish(written, ending="calls", calls=(made,))
        return await self._observe(written, observation, (made,), author=Author.TOOL, kept=kept)

    async def _run(self, call: Call) -> ToolResult:
        session = self._sessions.get(call.tool)
        if session is None:
            tool = self.blueprint.tools[call.tool]
            session = await tool.open(self.task, seed=self.seed, progress=self.progress)
            self._keep(call.tool, session)
        self._called.append(call)
        deadline_s = self.meter.limits.deadline_s
        try:
            running = session.call(call.arguments)
            result = await (running if deadline_s is None else _within(deadline_s - self.meter.elapsed_s, running))
        except ToolError as error:
            return ToolResult(text=str(error), status="error")
        except TimeoutError:
            if not self.meter.overdue:  # the tool's own, not the episode's
                raise
            return ToolResult(text="", status="timeout")
        if not isinstance(result, ToolResult) or not isinstance(result.text, str):
            raise InfrastructureError(f"the tool {call.tool!r} gave {result!r:.80}, not a ToolResult with text")
        return result

    def _keep(self, name: str, session: ToolSession) -> None:
        """Keep a tool's session; one that builds on what another tool found is shown where they all are."""
        self._sessions[name] = session
        if hasattr(session, "sessions"):
            session.sessions = self._sessions

    @property
    def _nothing(self) -> Observation | str:
        """What stands where the policy just goes on: where a turn is a message of its own, the next one's header."""
        return self.blueprint.protocol.observation(None, "") if self.blueprint.protocol.turn_end else "\n"

    def _malformed_observation(self, reason: str) -> Observation | str:
        """What answers a malformed call: wrapped feedback, or bare text of the harness."""
        page, protocol = self.blueprint.page.protocol, self.blueprint.protocol
        if page.malformed == "empty":
            return self._wrap(None, page.malformed_text)
        if page.malformed == "ignore":
            return self._nothing
        reminder = protocol.reminder(neutralize(reason, self.blueprint.markers))
        return protocol.observation(None, reminder) if protocol.turn_end else reminder

    def _wrap(self, call: Call | None, text: str) -> Observation:
        """Cut, neutralise and wrap feedback; the wrapper always survives the cut, and the whole fits its space."""
        limits, blueprint = self.meter.limits, self.blueprint
        text = blueprint.fit(text)
        if limits.max_observation_chars is not None:
            text = cut(text, limits.max_observation_chars, limits.keep, limits.ellipsis)
        if limits.max_observation_tokens is not None:
            text = cut_tokens(text, limits.max_observation_tokens, limits.keep, limits.ellipsis, self._count_neutral)
        text = neutralize(text, blueprint.markers)
        wrapper = blueprint.protocol.observation(call, "")
        room = blueprint.room - len(wrapper.opening) - len(wrapper.closing)
        if len(text) > room:
            text = cut(text, max(room - len(limits.ellipsis), 0), limits.keep, limits.ellipsis)
        return blueprint.protocol.observation(call, text)

    def _piece(self, call: Call, piece: Piece) -> tuple[Observation, str | None]:
        """A piece as it is shown, and what is kept of it."""
        observation = self._wrap(call, piece.text)
        if piece.kept is None:
            return observation, None
        kept = neutralize(self.blueprint.fit(piece.kept), self.blueprint.markers)
        return observation, None if kept == observation.content else kept

    def _count_neutral(self, text: str) -> int:
        return self.blueprint.count(neutralize(text, self.blueprint.markers))

    async def _observe(
        self,
        written: list[Segment],
        observation: Observation | str,
        calls: tuple[ToolCall, ...],
        *,
        malformed: bool = False,
        author: Author = Author.HARNESS,
        kept: str | None = None,
    ) -> Turn:
        """Append feedback of `author`, of which `kept` stays, and go on; or end where a budget has no room for it."""
        turn, protocol, limits = self.meter.turns, self.blueprint.protocol, self.meter.limits
        if self.meter.turns_spent and limits.when_spent in ("end", "truncate"):
            return await self._finish(written, ending="turns", calls=calls, malformed=malformed)
        feedback: list[Segment] = []
        note = limits.notice.replace("{what}", "turns") if self._last_turn_is_noticed else self._turns_left
        if protocol.turn_end and not (written and written[-1].text.rstrip("\n").endswith(protocol.turn_end)):
            feedback.append(Segment(Author.HARNESS, protocol.turn_end, turn))
        if isinstance(observation, str):
            parts = [(Author.HARNESS, observation + (note and note + "\n"), False)]
        else:
            parts = [(author, observation.opening, False), (author, observation.content, True)]
            parts += [(Author.HARNESS, note and "\n" + note, False), (author, observation.closing, False)]
        feedback += [Segment(by, text, turn, True, raw, kept if raw else None) for by, text, raw in parts if text]
        text, policy = "".join([segment.text for segment in feedback]), Author.POLICY
        shown = "".join([segment.text for segment in (*written, *feedback) if segment.author is not policy])
        count = self.blueprint.count  # as a rollout encodes: each by itself
        tokens = sum([count(one.text, verbatim=one.verbatim) for one in feedback]) - self._forgotten_tokens()
        if not self._fits(tokens) or len(shown) > self.blueprint.page.spaces.observation_length:
            return await self._finish(written, ending="length", calls=calls, malformed=malformed)
        self._spend(text, tokens)
        self.meter.observation_chars = len(text)
        self.meter.grace = self.meter.turns_spent
        self.reading = self.reading and not self.meter.grace  # the last generation is for the answer
        added, before = (*written, *feedback), self.transcript
        self.transcript = before.append(added)
        try:
            terms = await self.blueprint.reward_terms(self._moment(malformed=malformed))
        except Exception as error:
            self.transcript, fault = before, _fault(error)
            return await self._finish(written, ending="infrastructure", calls=calls, fault=fault)
        return Turn(observation=shown, segments=added, calls=calls, reward_terms=terms)

    @property
    def _turns_left(self) -> str:
        """The page's note on how many turns are left; "" where it has none."""
        limits = self.meter.limits
        if limits.max_turns is None:
            return ""
        return limits.turns_left.replace("{turns}", str(max(limits.max_turns - self.meter.turns, 0)))

    @property
    def _last_turn_is_noticed(self) -> bool:
        return self.meter.turns_spent and self.meter.limits.when_spent == "notice"

    async def _finish(
        self,
        written: list[Segment],
        *,
        ending: str,
        reply: Reply | None = None,
        calls: tuple[ToolCall, ...] = (),
        malformed: bool = False,
        fault: str | None = None,
    ) -> Turn:
        """End the episode, judge it and pay."""
        if reply is not None and reply.answer is not None:
            self._answer = reply.answer
        self.transcript = self.transcript.append(written)
        self.ending = ending
        terms: Mapping[str, float] = {}
        if ending != "infrastructure":
            moment = self._moment(malformed=malformed)
            try:
                self.verdict = await self.blueprint.judge(moment)
                if self.verdict.failed:
                    raise JudgeError(f"the judge failed on task {self.task.id!r}")
                terms = await self.blueprint.reward_terms(self._moment(malformed=malformed))
            except Exception as error:
                self.ending, self.verdict, fault = "infrastructure", None, _fault(error)
        await self.close()
        return Turn(
            observation="",
            segments=tuple(written),
            calls=calls,
            reward_terms=terms,
            ending=self.ending,
            fault=fault,
        )

    def _moment(self, *, malformed: bool) -> Moment:
        return Moment(
            task=self.task,
            transcript=self.transcript,
            answer=self._answer,
            said=tuple(self._said),
            ending=self.ending,
            calls=self.meter.calls,
            arguments=tuple(call.arguments for call in self._called),
            results=tuple(self._results),
            new=tuple(self._results[self._before :]),
            malformed=malformed,
            verdict=self.verdict,
        )

    def _policy_segments(self, action: str, reply: Reply, given: int) -> list[Segment]:
        """The policy's turn, with what it was given and what it forged set apart."""
        turn, segments, position, last = self.meter.turns, [], 0, len(action)
        for start, end in ((0, min(given, last)), *reply.forged, (last, last)):
            if position < start:
                segments.append(Segment(Author.POLICY, action[position:start], turn))
            if max(start, position) < end:
                segments.append(Segment(Author.POLICY, action[max(start, position) : end], turn, scored=False))
            position = max(position, end)
        return segments

    def _spend(self, text: str, tokens: int) -> None:
        self.meter.response_chars += len(text)
        self.meter.response_tokens += tokens

    def _fits(self, tokens: int) -> bool:
        """True where feedback of that many tokens fits response and input; one that fits exactly is kept."""
        limits, used = self.meter.limits, self.meter.response_tokens + tokens
        given = limits.max_input_tokens
        return (limits.max_response_tokens is None or used <= limits.max_response_tokens) and (
            given is None or self.meter.prompt_tokens + used <= given
        )

    def _forgotten_tokens(self) -> int:
        """Tokens that the next turn reads less than this one, since what this one read is forgotten."""
        turn, count = self.meter.turns, self.blueprint.count
        gone = [s for s in self.transcript.segments if s.kept is not None and s.turn == turn - 1]
        return sum(count(s.text, verbatim=s.verbatim) - count(s.kept or "", verbatim=s.verbatim) for s in gone)

    def _too_long(self) -> bool:
        limits, meter = self.meter.limits, self.meter
        turn, response = limits.max_turn_tokens, limits.max_response_tokens
        return (turn is not None and meter.turn_tokens > turn) or (
            response is not None and meter.response_tokens > response
        )

    async def replay(self, actions: Sequence[str], *, scored: bool = False) -> str:
        """Take recorded turns, and give all that they added to the transcript.

        Raises:
            TaskError: one of them ends the episode.
        """
        start = len(self.transcript.text)
        for number, action in enumerate(actions, start=1):
            turn = await self.step(action, given=0 if scored else len(action))
            if turn.ending is not None:
                raise TaskError(f"prefix action {number} of {len(actions)} ends the episode ({turn.ending})")
        return self.transcript.text[start:]

    async def fork(self) -> "Episode":
        """An independent copy of the running episode, the tools' state included.

        A tool whose state cannot be copied is given a fresh session that runs the episode's calls again, with a
        warning.
        """
        copy = Episode(self.blueprint, self.task, seed=self.seed, progress=self.progress)
        copy.transcript, copy.ending, copy.verdict = self.transcript, self.ending, self.verdict
        copy._answer, copy._called, copy._said = self._answer, self._called[:], self._said[:]
        copy.reading, copy._unread = self.reading, self._unread[:]
        copy._results, copy._before = self._results[:], self._before
        copy.meter.__dict__.update(self.meter.__dict__, calls_per_tool=dict(self.meter.calls_per_tool))
        for name, session in self._sessions.items():
            try:
                copy._keep(name, await session.fork())
            except ForkError as error:
                warnings.warn(f"{name} cannot be copied ({error}); its calls are run again", stacklevel=2)
                await copy._rerun(name)
        return copy

    async def _rerun(self, name: str) -> None:
        session = await self.blueprint.tools[name].open(self.task, seed=self.seed, progress=self.progress)
        self._keep(name, session)
        for call in self._called:
            if call.tool == name:
                try:
                    await session.call(call.arguments)
                except ToolError:
                    continue  # it failed the first time too

    async def close(self) -> None:
        """Close the tools' sessions. Closing twice is allowed."""
        sessions, self._sessions = self._sessions, {}
        for name, session in sessions.items():
            try:
                await session.close()
            except Exception:  # the episode is over either way, and its outcome stands
                _log.warning("the tool %r did not close its session", name, exc_info=True)


def _fault(error: Exception) -> str:
    """What failed, in words; an error that tells of a wrong set-up is raised again: every episode would meet it."""
    if isinstance(error, InfrastructureError):
        return str(error)
    if isinstance(error, ToolenvsError):
        raise error
    return f"{type(error).__name__}: {error}"


async def _within(seconds: float, running: Awaitable[ToolResult]) -> ToolResult:
    async with asyncio.timeout(max(seconds, 0.0)):
        return await running


def _cut_at(action: str, stop: Sequence[str]) -> str:
    """`action` up to the end of the first stop string in it."""
    ends = [action.find(marker) + len(marker) for marker in stop if marker in action]
    return action[: min(ends)] if ends else action


def _page(data: Mapping[str, Any]) -> dict[str, Any]:
    """What of a browser's answer is kept beside its text, for who looks at the episode later."""
    if "cursor" not in data or "hits" not in data:
        return {}
    kept = {name: data.get(name) for name in ("url", "cursor", "lines", "http_status", "truncated")}
    return kept | {"hits": list(data["hits"][:_KEPT_HITS]), "total_hits": len(data["hits"])}
