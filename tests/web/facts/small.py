"""Small sites in the forms of the three recorded ones, written for these tests."""

from pathlib import Path

from toolenvs.web import facts, sites
from toolenvs.web.record import SiteWriter


def _signature(name: str, *arguments: str) -> str:
    inner = ", ".join(
        f'<em class="sig-param"><span class="n">{argument.partition("=")[0]}</span>'
        + (
            f'<span class="o">=</span><span class="default_value">{argument.partition("=")[2]}</span>'
            * ("=" in argument)
        )
        + "</em>"
        for argument in arguments
    )
    module, _, last = name.rpartition(".")
    return (
        f'<dt class="sig sig-object py" id="{name}"><span class="sig-prename"><span class="pre">{module}.</span></span>'
        f'<span class="sig-name"><span class="pre">{last}</span></span>'
        f'<span class="sig-paren">(</span>{inner}<span class="sig-paren">)</span></dt>'
    )


def _version(text: str) -> str:
    return f'<div class="versionadded"><p><span class="versionmodified">{text}</span></p></div>'


def _entry(signature: str, *body: str) -> str:
    return f'<dl class="py function">{signature}<dd>{"".join(body)}</dd></dl>'


PYTHON = {
    "index.html": '<h1>Documentation</h1><p><a href="library/index.html">Library</a>',
    "library/index.html": (
        '<h1>Library</h1><ul><li><a href="kettle.html#boiling">kettle</a><li><a href="stove.html">stove</a>'
        '<li><a href="../whatsnew/3.7.html">news</a></ul>'
    ),
    "library/kettle.html": "".join((
        "<h1>kettle: hot water</h1><p>Makes tea.</p><h2>Filling</h2>",
        _entry(
            _signature("kettle.fill", "litres", "source='tap'", "slowly=False"),
            "<p>Puts water in.</p>", _version("New in version 3.4."),
        ),
        '<h2 id="boiling">Boiling</h2>',
        _entry(
            _signature("kettle.boil", "litres", "degrees=95", "whistle=None"),
            "<p>Heats the water; degrees is where it stops.</p>", _version("New in version 3.6."),
        ),
        _entry(
            _signature("kettle.pour", "cup", "drops=12"), "<p>Pours 12 drops by default.</p>",
            _version("Deprecated since version 3.8: Use boil() instead."),
        ),
        "<h2>Cleaning</h2>",
        _entry(
            _signature("kettle.rinse", "times=3"), "<p>Water and nothing else.</p>",
            _version("New in version 3.5: The times argument."),
            _entry(_signature("kettle.rinse.soap", "grams=7"), "<p>Soap.</p>", _version("New in version 3.9.")),
        ),
    )),
    "library/stove.html": "".join((
        "<h1>stove</h1><p>See kettle.fill, which has been there since 3.4.0 too.</p>",
        _entry(_signature("stove.light", "matches=20"), "<p>Fire.</p>", _version("New in version 3.7.")),
        _entry(_signature("stove.twice", "gas=4"), "<p>One.</p>", _version("New in version 3.3.")),
    )),
    "library/cellar.html": _entry(_signature("cellar.open", "key=8"), "<p>No link leads here.</p>")
    + _entry(_signature("stove.twice", "gas=5"), "<p>Two.</p>"),
    "whatsnew/3.7.html": "<h1>News of 3.7</h1><ul><li>light lights a stove.</ul>",
}  # fmt: skip


def _setting(name: str, kind: str, *body: str) -> str:
    return (
        f'<dt id="GUC-{name.upper()}"><span class="term"><code class="varname">{name}</code> '
        f'(<code class="type">{kind}</code>)</span></dt><dd>{"".join(f"<p>{text}</p>" for text in body)}</dd>'
    )


POSTGRESQL = {
    "index.html": '<h2>Manual</h2><p><a href="settings.html">Settings</a> <a href="app-jug.html">jug</a> '
    '<a href="catalog-jugs.html">jugs</a>',
    "settings.html": "<h2>Settings</h2><dl>"
    + _setting("jug_size", "integer", "How much fits in. The default is <code>64kB</code>. More is\n better.")
    + _setting("jug_lid", "boolean", "Whether it is closed. The default is <code>on</code>.")
    + _setting("jug_count", "integer", "How many. The default is 5.", "With 5 jugs there is room for all.")
    + _setting("jug_colour", "enum", "The default is green on boats. Elsewhere the default is blue.")
    + "</dl>",
    "app-jug.html": "<h2>jug</h2><h3>Options</h3><dl><dt><code>-p</code><dt><code>--pour-out</code>"
    "<dd><p>Empties what stands on the table, in one go.</p>"
    "<dt><code>--mend-handle</code><dd><p>Puts a handle on it, which mend-handle then keeps there.</p></dl>",
    "catalog-jugs.html": '<h2>jugs</h2><div class="table" id="JUGS"><p class="title">Table 1.1. jugs Columns</p>'
    "<table><thead><tr><th>Column Type <p>Description</p></th></tr></thead><tbody>"
    + "".join(
        f'<tr><td><p class="column_definition"><code class="structfield">{name}</code> <code class="type">{kind}</code>'
        f"</p><p>{told}</p></td></tr>"
        for name, kind, told in (
            ("jugmaker", "text", "Who made it"), ("jugyear", "int4", "Year of its making"),
            ("jugwhole", "bool", "Whether nothing is broken"), ("jugoid", "oid", "Row identifier"),
        )
    )
    + "</tbody></table></div>"
    '<p class="title">Table 1.2. Shapes of Jugs</p><table><tr><th>Shape</th><th>Maker</th></tr>'
    + "".join(f"<tr><td>{shape}</td><td>{maker}</td></tr>" for shape, maker in (
        ("round", "Ada"), ("tall", "Bo"), ("flat", "Cy"), ("bent", "Di"),
    ))
    + "</table>",
}  # fmt: skip

GIT = {
    "git.html": '<h1>git(1) Manual Page</h1><p><a href="git-shelve.html">git-shelve(1)</a> '
    '<a href="git-config.html">git-config(1)</a>',
    "git-shelve.html": "<h1>git-shelve(1) Manual Page</h1><h2>NAME</h2><p>git-shelve - Put work aside for a while</p>"
    "<h2>OPTIONS</h2><dl><dt>-d<dt>--dusty<dd><p>Leave what lies there as it is, whoever put it there.</p>"
    "<dt>-h<dt>--height=&lt;cm&gt;<dd><p>Short.</p></dl>",
    "git-config.html": "<h1>git-config(1) Manual Page</h1><h2>Variables</h2><dl>"
    "<dt>shelve.boards<dd><p>How many there are. Defaults to 40.</p>"
    "<dt>shelve.nails<dd><p>How many of them hold a board. The default is 300, which is enough.</p>"
    "<dt>shelve.height<dd><p>How high each is. Defaults to 25 cm.</p>"
    "<dt>shelve.days<dd><p>How long things stay. Defaults to 14 days.</p>"
    "<dt>shelve.wood<dd><p>What they are of. Defaults to true.</p></dl>",
}  # fmt: skip

PAGES = {"python3-doc": PYTHON, "postgresql-doc": POSTGRESQL, "git-doc": GIT}
URL = "https://{}.test/"


def record(name: str, pages: dict[str, str] | None = None) -> Path:
    """Write the recording of a small site where `sites/NAME` is looked for, without its questions."""
    pages = PAGES[name] if pages is None else pages
    url = URL.format(name)
    path = sites.file_of(name)
    with SiteWriter(path, home=url + next(iter(pages)), name=name) as writer:
        for page, html in pages.items():
            title = page.rpartition("/")[2].removesuffix(".html")
            body = f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{html}</body></html>"
            writer.add(url + page, body.encode(), headers=[("content-type", "text/html; charset=utf-8")])
    return path


def build(name: str) -> None:
    """The same with its questions."""
    record(name)
    facts.build(name)
