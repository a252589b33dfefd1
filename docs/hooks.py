"""What mkdocs calls while it builds the site: makes the pages of the environments and of the API, and mends links.

An environment's page is made from its TOML and from a transcript of its golden tests; the API's pages from docstrings.
"""

import html
import json
import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
READMES = {
    "envs/README.md": "environments/index.md",
    "baselines/README.md": "guides/baselines.md",
    "baselines/results/README.md": "guides/results.md",
    "benchmarks/README.md": "guides/benchmarks.md",
    "corpora/README.md": "guides/corpora.md",
    "sandboxes/README.md": "guides/sandboxes.md",
    "CONTRIBUTING.md": "guides/contributing.md",
}
"""What is read beside its code, and on the site too."""
API = {
    "Environments": ["toolenvs.env", "toolenvs.vector", "toolenvs.info", "toolenvs.spaces", "toolenvs.registration"],
    "Episodes": ["toolenvs.episode", "toolenvs.transcript", "toolenvs.tokens", "toolenvs.budget", "toolenvs.page"],
    "Tools": ["toolenvs.tools.base", "toolenvs.protocols.base"],
    "Rewards": ["toolenvs.rewards.verdict", "toolenvs.rewards.moment", "toolenvs.rewards.maths", "toolenvs.rewards.qa"],
    "Tasks": ["toolenvs.tasks", "toolenvs.tasks.task"],
    "Rollouts": ["toolenvs.rollout.agent", "toolenvs.rollout.collect", "toolenvs.rollout.trajectory"],
    "Sandbox": ["toolenvs.sandbox", "toolenvs.sandbox.result"],
    "Retrieval": ["toolenvs.retrieval", "toolenvs.retrieval.base"],
    "Databases": ["toolenvs.databases", "toolenvs.databases.result"],
    "Web": ["toolenvs.web", "toolenvs.web.page"],
    "Training": [
        "toolenvs.train.advantages",
        "toolenvs.train.policy_losses",
        "toolenvs.train.kl",
        "toolenvs.train.run",
    ],
    "Viewer": ["toolenvs.view"],
    "Errors": ["toolenvs.errors"],
}
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for uri, content in _generated():
        files.append(File.generated(config, uri, content=content))
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation."""
    assert config.nav is not None
    pages = [{path.stem: f"environments/{path.stem}.md"} for path in _pages()]
    guides = next(one["Guides"] for one in config.nav if "Guides" in one)
    named = json.dumps(config.nav)
    guides += [path.name for path in sorted((ROOT / "docs").glob("*.md")) if f'"{path.name}"' not in named]
    guides += [uri for uri in READMES.values() if uri.startswith("guides/")]
    section = {"Environments": ["environments/index.md", *pages]}
    config.nav[1:1] = [section]
    config.nav.append({"API": [{room: f"api/{room.lower()}.md"} for room in API]})
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links that lead out of the documentation lead to the page made of what they name, else become its name."""
    source = next((path for path, uri in READMES.items() if uri == page.file.src_uri), f"docs/{page.file.src_uri}")
    here = posixpath.dirname(source)

    def mended(match: re.Match[str]) -> str:
        image, text, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        wanted = posixpath.normpath(posixpath.join(here, path))
        uri = _uri(wanted)
        if uri is None:
            return match[0] if image else (text if text.startswith("`") else f"{text} (`{wanted}`)")
        relative = posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or ".")
        return f"{image}[{text}]({relative}{'#' + anchor if anchor else ''})"

    return _LINK.sub(mended, markdown)


def _uri(path: str) -> str | None:
    """Where the site has what lies at a path of the repository."""
    if path in READMES:
        return READMES[path]
    if (named := re.fullmatch(r"envs/([\w-]+)\.toml", path)) and (ROOT / path).is_file():
        return f"environments/{named[1]}.md"
    if path == "README.md":
        return "index.md"
    if (named := re.fullmatch(r"baselines/results/([\w-]+\.png)", path)) and (ROOT / path).is_file():
        return f"guides/{named[1]}"
    if path.startswith("docs/") and (ROOT / path).is_file():
        return path.removeprefix("docs/")
    return None


def _generated() -> Iterator[tuple[str, str | bytes]]:
    for path, uri in READMES.items():
        yield uri, (ROOT / path).read_text("utf-8")
    for picture in sorted((ROOT / "baselines" / "results").glob("*.png")):
        yield f"guides/{picture.name}", picture.read_bytes()
    for path in _pages():
        yield f"environments/{path.stem}.md", environment(path)
    for room, modules in API.items():
        yield f"api/{room.lower()}.md", f"# {room}\n\n" + "\n\n".join(f"::: {module}" for module in modules) + "\n"
    from toolenvs import render

    yield "assets/transcripts.css", render.CSS + ".transcript { border: 1px solid #8884; padding: .6rem .8rem; }\n"


def _pages() -> list[Path]:
    return sorted((ROOT / "envs").glob("*.toml"))


def environment(path: Path) -> str:
    """The page of an environment, in Markdown.

    Args:
        path: its TOML.
    """
    text = path.read_text("utf-8")
    page = tomllib.loads(text)
    paper = page["paper"]
    name = path.stem
    parts = [
        f"# toolenvs/{name}",
        html.escape(page["summary"], quote=False) + ".",
        f"From [{paper['title']}]({paper['url']}).",
    ]
    if note := paper.get("note", "").strip():
        parts.append(
            '!!! note "What differs from it"\n' + "\n".join(f"    {_plain(line)}" for line in note.splitlines())
        )
    parts.append(f'```python\nimport gymnasium as gym\nimport toolenvs\n\nenv = gym.make("toolenvs/{name}")\n```')
    parts.append(_settings(page))
    parts += _transcripts(name)
    parts.append(f"## The page\n\nEvery key can be overridden: `gym.make(id, key=value)`.\n\n```toml\n{text}```")
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Text in which `info["a"]["b"]` is no link to a heading "b"."""
    return html.escape(text, quote=False).replace('["', '&#91;"')


def _settings(page: Mapping[str, Any]) -> str:
    """What is asked first about an environment, in a table."""
    budget = page.get("budget", {})
    terms = [
        f"`{term['term']}`" + (f" x {term['weight']}" if "weight" in term else "") for term in page.get("reward", [])
    ]
    rows = {
        "protocol": f"`{page['protocol']['kind']}`; a malformed call: `{page['protocol'].get('malformed', 'empty')}`",
        "tools": ", ".join(f"`{tool}`" for tool in page.get("tools", {})) or "none",
        "budget": ", ".join(f"`{key} = {json.dumps(value)}`" for key, value in budget.items()) or "none",
        "judge": ", ".join(f"`{key} = {json.dumps(value)}`" for key, value in page.get("judge", {}).items()),
        "reward": ", ".join(terms),
        "tasks": ", ".join(f"`{key} = {json.dumps(value)}`" for key, value in page.get("tasks", {}).items()),
    }
    lines = [f"| {key} | {value.replace('|', chr(92) + '|')} |" for key, value in rows.items() if value]
    return "\n".join(["## At a glance", "", "| | |", "|---|---|", *lines])


def _transcripts(name: str) -> list[str]:
    """A good and a bad episode from the golden tests, coloured by author."""
    file = ROOT / "tests" / "golden" / f"{name}.json"
    cases = [(title, case["expected"]) for title, case in json.loads(file.read_text("utf-8")).items()]
    best = max(cases, key=lambda case: (sum(case[1]["rewards"]), len(case[1]["calls"]), len(case[1]["segments"])))
    parts = ["## A transcript", "Policy, tool and harness in colour; the prompt is left out.", _episode(*best)]
    others = [case for case in cases if case is not best and not case[1]["success"]]
    if others:
        worst = max(others, key=lambda case: len({author for author, _ in case[1]["segments"]}))
        parts += ["## Another that did not succeed", _episode(*worst)]
    return parts


def _episode(title: str, case: Mapping[str, Any]) -> str:
    spans = []
    for author, text in case["segments"]:
        # a blank line would end the block of HTML for Markdown
        escaped = html.escape(text, quote=False).replace("\n", "&#10;")
        spans.append(f'<span class="{author}">{escaped}</span>')
    terms = ", ".join(f"{name} {value:+.3g}" for name, value in case["reward_terms"].items()) or "none"
    ended = f"*{title}*: ending `{case['ending']}`, reward {sum(case['rewards']):.3g} ({terms})."
    return f'<div class="transcript">{"".join(spans)}</div>\n\n{ended}'
