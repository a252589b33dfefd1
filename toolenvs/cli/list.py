"""`toolenvs list`: every page in a line, or one in full."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolenvs import blueprint
from toolenvs.assets import page_files
from toolenvs.budget import Limits
from toolenvs.cli.options import Overrides, overrides
from toolenvs.page import Page, load
from toolenvs.tasks.task import Task


def list_pages(
    page: Annotated[str | None, typer.Argument(metavar="[ID]", help="Show this page in full.")] = None,
    set_: Overrides = [],  # noqa: B006 - typer copies it
) -> None:
    """List the environments, or show one with its tools and its prompt. Budgets are per episode."""
    console = Console(highlight=False)
    if page is not None:
        for line in _in_full(blueprint.load(page, **overrides(set_))):
            console.print(line, soft_wrap=True)
        return
    table = Table("id", "tools", "protocol", "budget", "summary", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.columns[0].no_wrap = True
    for file in page_files().values():
        shown = load(file)
        table.add_row(shown.id, ", ".join(shown.tools), shown.protocol.kind, _budget(shown.budget), shown.summary)
    console.print(table)


def _budget(limits: Limits) -> str:
    figures = {
        "turns": limits.max_turns,
        "calls": limits.max_calls,
        **{f"{tool} calls": limit for tool, limit in limits.max_calls_per_tool.items()},
        "tokens with a tokenizer": limits.max_response_tokens,
        "s": limits.deadline_s,
    }
    return ", ".join(f"{limit:g} {what}" for what, limit in figures.items() if limit is not None) or "none"


def _in_full(env: blueprint.Blueprint) -> Iterator[Text]:
    page = env.page
    yield Text.assemble((page.id, "bold"), f"  {page.summary}")
    yield Text(f"{page.paper.title}\n{page.paper.url}", "dim")
    if page.paper.note:
        yield Text(" ".join(page.paper.note.split()))
    for key, tool in env.tools.items():
        yield _heading(f"tool {tool.name}" if tool.name == key else f"tool {tool.name} ({key})")
        yield Text(tool.description)
        yield Text(f"arguments: {json.dumps(tool.parameters, ensure_ascii=False)}")
        yield from _keys(page.tools[key])
    for name, table in _sections(page):
        yield _heading(name)
        yield from _keys(table)
    yield _heading("what the policy reads first, {question} being the task's")
    yield Text(env.render_prompt(Task(id="question", question="{question}")))


def _sections(page: Page) -> Iterator[tuple[str, Mapping[str, Any]]]:
    protocol = dataclasses.asdict(page.protocol)
    yield "protocol", protocol | protocol.pop("options")
    budget = {key: value for key, value in dataclasses.asdict(page.budget).items() if value not in (None, {})}
    in_tokens = any(key.endswith("_tokens") for key in budget)
    yield "budget of an episode" + (", tokens where a tokenizer is known" if in_tokens else ""), budget
    yield "judge", page.judge
    for term in page.reward:
        yield "reward", term
    yield "tasks", page.tasks


def _keys(table: Mapping[str, Any]) -> Iterator[Text]:
    for key, value in table.items():
        yield Text(f"{key} = {json.dumps(value, ensure_ascii=False)}")


def _heading(text: str) -> Text:
    return Text(f"\n{text}", "bold cyan")
