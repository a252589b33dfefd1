"""`Blueprint`: a page made runnable. It builds what all episodes of an environment share."""

import inspect
import operator
import re
from collections.abc import Mapping
from numbers import Real
from typing import Any

from toolenvs import page as pages
from toolenvs import plugins, schema, tasks
from toolenvs.codec import TokenCodec
from toolenvs.errors import JudgeError, PageError, TaskError, did_you_mean
from toolenvs.page import Page
from toolenvs.protocols.base import Message, Protocol
from toolenvs.protocols.markers import neutralize
from toolenvs.protocols.templates import ChatTemplate, TokenizerTemplate, parse_chatml, template
from toolenvs.rewards.moment import Moment
from toolenvs.tasks.task import Task, TaskSet
from toolenvs.tools.base import Tool

_BAD_GOLDS = ("error", "drop", "keep")
_SHOWN_FAILURES = 5
_TAG = re.compile(r"</?[\w-]+>")
_KEPT_PROMPTS = 64
"""Tasks whose prompts are kept: those of the groups that run at once."""


class Blueprint:
    """Protocol, tools, judge, reward and tasks of one environment.

    Args:
        page: the environment.
        tasks: a task set to use in place of the page's own.
        tokenizer: a fast tokenizer (or a `TokenCodec`); token budgets bind, and its chat template is used where the
            page says "chatml".

    Raises:
        PageError: the page names something that does not exist, or gives it options that it does not have.
    """

    def __init__(self, page: Page, *, tasks: TaskSet | None = None, tokenizer: Any = None) -> None:
        self.page = page
        self.codec = tokenizer if tokenizer is None or isinstance(tokenizer, TokenCodec) else TokenCodec(tokenizer)
        self._template = self._chat_template()
        kind, options = page.protocol.kind, page.protocol.options
        self.protocol: Protocol = _build(
            "toolenvs.protocols", kind, "Protocol", options, page, "protocol", self._template
        )
        self.tools: dict[str, Tool] = {
            name: _build("toolenvs.tools", name, "Tool", options, page, f"tools.{name}")
            for name, options in page.tools.items()
        }
        self.judge = _named("toolenvs.rewards.judges", page.judge, "name", "Judge", page, "judge")
        self._terms: dict[str, Any] = {}
        self._prompts: dict[int, tuple[Task, tuple[Message, ...], str]] = {}
        self._weights: dict[str, float] = {}
        for index, table in enumerate(page.reward):
            table, weight = {key: value for key, value in table.items() if key != "weight"}, table.get("weight", 1.0)
            if isinstance(weight, bool) or not isinstance(weight, Real) or weight != weight:
                raise PageError(f"{page.id}: reward[{index}]: weight: a number is needed, not {weight!r}")
            term = _named("toolenvs.rewards.terms", table, "term", "Term", page, f"reward[{index}]")
            if table["term"] in self._terms:
                raise PageError(f"{page.id}: reward[{index}]: the term {table['term']!r} stands there twice")
            self._terms[table["term"]], self._weights[table["term"]] = term, float(weight)
        self._given_tasks = tasks
        self._check_names()
        self._tasks: TaskSet | None = None
        special = self.codec.special_texts if self.codec else ()
        noted = _TAG.findall(page.budget.turns_left)
        self.markers = tuple(dict.fromkeys((*self.protocol.markers, *special, *noted)))
        """Strings that are neutralised in whatever comes from outside."""
        self._checked = False
        least = self.protocol.observation(None, page.budget.ellipsis)
        self.room = page.spaces.observation_length - self._frame_length()
        if self.room < len(least.opening + least.content + least.closing):
            raise PageError(f"{page.id}: spaces.observation_length is too small for the wrapper of an observation")
        """Characters that a tool's feedback and its wrapper may have, so that the observation fits its space."""

    def _frame_length(self) -> int:
        """Most characters that can stand around a tool's feedback: a stop string, the turn's end, a budget note."""
        stop = max(map(len, self.protocol.stop), default=0)
        budget = self.page.budget
        note = max(len(budget.notice), len(budget.turns_left.replace("{turns}", str(budget.max_turns))))
        return stop + len(self.protocol.turn_end) + note + 2

    def _check_names(self) -> None:
        """Hold what the page's tables say of one another against what there is."""
        page = self.page
        for key, argument in self.protocol.targets:
            if key not in self.tools:
                hint = did_you_mean(key, self.tools)
                raise PageError(f"{page.id}: protocol: it calls {key!r}, which [tools] does not have; {hint}")
            known = self.tools[key].parameters.get("properties", {})
            if argument is not None and argument not in known:
                hint = did_you_mean(argument, known)
                raise PageError(f"{page.id}: protocol: tool {key!r} has no argument {argument!r}; {hint}")
        for key in page.budget.max_calls_per_tool:
            if key not in self.tools:
                hint = did_you_mean(key, self.tools)
                raise PageError(f"{page.id}: budget.max_calls_per_tool: there is no tool {key!r}; {hint}")
        names = [tool.name for tool in self.tools.values()]
        for name in names:
            if names.count(name) > 1:
                raise PageError(f"{page.id}: tools: two of them are named {name!r}")
        if not any(shown in page.prompt.user for shown in ("{question}", "{state}")):
            raise PageError(
                f"{page.id}: prompt.user: {{question}} is missing, or {{state}} where a game is played, "
                "so that no task would be shown"
            )
        if page.protocol.malformed == "penalize" and "malformed" not in self._terms:
            raise PageError(f"{page.id}: protocol.malformed = 'penalize' needs a [[reward]] table of term 'malformed'")

        parts = {f"tools.{key}": tool for key, tool in self.tools.items()} | {"judge": self.judge}
        for where, part in parts.items():
            disagrees = getattr(part, "disagrees", None)  # of what serves, or reads, what the tasks ask about
            if disagrees is not None and self._given_tasks is None and (why := disagrees(page.tasks)):
                raise PageError(f"{page.id}: {where}: {why}")

    def tool_key(self, name: str) -> str | None:
        """The page's key of the tool that the policy calls `name`; None where there is none."""
        if name in self.tools:
            return name
        return next((key for key, tool in self.tools.items() if tool.name == name), None)

    def _chat_template(self) -> ChatTemplate:
        name = self.page.prompt.template
        tokenizer = self.codec.tokenizer if self.codec else None
        if name == "chatml" and getattr(tokenizer, "chat_template", None):
            return TokenizerTemplate(tokenizer)
        return template(name, f"{self.page.id}: prompt.template")

    @property
    def tasks(self) -> TaskSet:
        """The task set; loaded when it is first asked for.

        Raises:
            TaskError: it cannot be loaded, or is empty.
        """
        if self._tasks is None:
            self._tasks = self._given_tasks if self._given_tasks is not None else self._load_tasks()
            if not len(self._tasks):
                raise TaskError(f"{self.page.id}: tasks.set {self.page.tasks.get('set')!r} holds no task")
        return self._tasks

    def _load_tasks(self) -> TaskSet:
        options = dict(self.page.tasks)
        name = options.pop("set", None)
        if not isinstance(name, str):
            raise PageError(f"{self.page.id}: tasks: missing 'set', a generator's name or a file")
        bad_golds = options.pop("bad_golds", "error")
        if bad_golds not in _BAD_GOLDS:
            hint = did_you_mean(str(bad_golds), _BAD_GOLDS)
            raise PageError(f"{self.page.id}: tasks.bad_golds {bad_golds!r}; {hint}")
        loaded = tasks.load(name, **options)
        if not isinstance(loaded, tasks.RowTaskSet) or bad_golds == "keep":  # generators compute their golds exactly
            return loaded
        check_task = getattr(self.judge, "check_task", None)  # of judges that need more than a gold
        check_tasks = getattr(self.judge, "check_tasks", None)  # of those that look at all of them together
        if check_tasks is not None:
            failures = [tasks.Failure(*wrong) for wrong in check_tasks(list(loaded)).items()]
        elif check_task is None:
            failures = tasks.check(loaded, self.judge.compare)
        else:
            failures = [tasks.Failure(task.id, why) for task in loaded if (why := check_task(task))]
        if failures and bad_golds == "error":
            shown = "; ".join(f"{failure.task_id}: {failure.reason}" for failure in failures[:_SHOWN_FAILURES])
            raise TaskError(
                f"{name}: the judge of {self.page.id} refuses {len(failures)} golds: {shown}. Mend them, "
                "or set tasks.bad_golds to 'drop'"
            )
        return loaded.without(dict(failures))

    def task(self, which: Any) -> Task:
        """The task of that id or index; a `Task` is given back as it is.

        Raises:
            TaskError: there is none.
        """
        if isinstance(which, Task):
            return which
        if isinstance(which, str):
            return self.tasks.find(which)
        try:
            if isinstance(which, bool) or operator.index(which) < 0:
                raise IndexError(which)
            return self.tasks[operator.index(which)]
        except (IndexError, TypeError):
            last = len(self.tasks) - 1
            raise TaskError(f"{self.page.id}: there is no task {which!r}; indices go from 0 to {last}") from None

    def prompt_of(self, task: Task) -> tuple[tuple[Message, ...], str]:
        """What an episode begins with: `prompt_messages` and `render_prompt`, made once for the samples of a task."""
        known = self._prompts.get(id(task))
        if known is None or known[0] is not task:
            if len(self._prompts) >= _KEPT_PROMPTS:
                self._prompts.clear()
            known = self._prompts[id(task)] = task, self.prompt_messages(task), self.render_prompt(task)
        _, messages, prompt = known
        return tuple(dict(message) for message in messages), prompt

    def prompt_messages(self, task: Task) -> tuple[Message, ...]:
        """What the episode begins with, in chat form: the page's prompt around the task's question.

        A prompt that the task's file rendered already is taken apart again.
        """
        if task.rendered:
            return parse_chatml(self.render_prompt(task))
        prompt = self.page.prompt
        special = self.codec.special_texts if self.codec else ()
        marks = (self._template.turn_end, self._template.turn_start, *special)
        values = {"question": neutralize(task.question, marks)}
        for part in (self.judge, *self._terms.values(), *self.tools.values()):  # what else is known, such as a schema
            for name, tell in getattr(part, "context", {}).items():
                if f"{{{name}}}" in prompt.user:
                    values[name] = neutralize(tell(task), (*marks, *self.markers))
        places = re.compile("|".join(re.escape(f"{{{name}}}") for name in values))
        user = {"role": "user", "content": places.sub(lambda place: values[place[0][1:-1]], prompt.user)}
        return ({"role": "system", "content": prompt.system}, user) if prompt.system else (user,)

    def render_prompt(self, task: Task) -> str:
        """What the policy reads first. A prompt that the task's file rendered already is taken as it is."""
        if task.rendered:
            return self.fit(task.messages[-1]["content"] if task.messages else task.question)
        schemas = {
            key: {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for key, tool in self.tools.items()
        }
        return self.fit(self.protocol.render_prompt(self.prompt_messages(task), schemas))

    async def reward_terms(self, moment: Moment) -> Mapping[str, float]:
        """Every term of the reward of one turn, by name; a term may be asynchronous.

        Raises:
            InfrastructureError: a term failed, or gave no number.
        """
        paid: dict[str, float] = {}
        for name, term in self._terms.items():
            value = term(moment)
            if type(value) is not float and inspect.isawaitable(value):
                value = await value
            if not isinstance(value, (float, Real)) or value != value:
                raise JudgeError(f"the reward's term {name!r} gave {value!r}, not a number")
            paid[name] = self._weights[name] * float(value)
        return paid

    def fit(self, text: str) -> str:
        """`text`, or what of it the tokenizer can spell."""
        return self.codec.fit(text) if self.codec else text

    def count(self, text: str, *, verbatim: bool = True) -> int:
        """Tokens of `text`; 0 where no tokenizer is known, so that token budgets do not bind."""
        return self.codec.count(text, verbatim=verbatim) if self.codec else 0

    async def check(self) -> None:
        """Run each tool, and a judge that stands on what can fail, once before the first episode.

        Raises:
            InfrastructureError: one does not work here.
        """
        if not self._checked:
            for tool in self.tools.values():
                await tool.check()
            if hasattr(self.judge, "check"):
                await self.judge.check()
            self._checked = True

    async def close(self) -> None:
        """Close the tools."""
        for tool in self.tools.values():
            await tool.close()


def load(
    page: str | Page, *, tasks: TaskSet | Mapping[str, Any] | None = None, tokenizer: Any = None, **overrides: Any
) -> Blueprint:
    """The blueprint of a page.

    Args:
        page: a bundled page's id, a TOML file, or a `Page`.
        tasks: a task set to use in place of the page's own, or keys of its section that are overridden.
        tokenizer: see `Blueprint`.
        overrides: keys of the page; see `toolenvs.page.load`.

    Raises:
        PageError: no such page, or a key or value is wrong.
    """
    if isinstance(tasks, Mapping):  # the section of the page, overridden as any other
        tasks, overrides = None, {"tasks": tasks, **overrides}
    elif tasks is not None and (isinstance(tasks, str) or not hasattr(tasks, "__getitem__")):
        raise PageError(f"tasks: a task set or a table of the page's keys is needed, not {tasks!r:.80}")
    if isinstance(page, Page):
        if overrides:
            raise PageError(f"{page.id}: a page that was read already takes no overrides; give its id or file")
        return Blueprint(page, tasks=tasks, tokenizer=tokenizer)
    return Blueprint(pages.load(page, overrides), tasks=tasks, tokenizer=tokenizer)


def _named(package: str, table: Mapping[str, Any], key: str, attribute: str, page: Page, where: str) -> Any:
    options = dict(table)
    name = options.pop(key, None)
    if not isinstance(name, str):
        known = plugins.names(package, attribute)
        raise PageError(f"{page.id}: {where}: missing {key!r}; {did_you_mean('', known)}")
    return _build(package, name, attribute, options, page, where)


def _build(
    package: str, name: str, attribute: str, options: Mapping[str, Any], page: Page, where: str, *more: Any
) -> Any:
    label = f"{page.id}: {where}"
    built = plugins.find(package, name, attribute, label)
    options_class = plugins.find(package, *plugins.beside(name, "Options"), label)
    return built(schema.read(options_class, options, label), *more)
