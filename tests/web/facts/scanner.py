"""What the sources of a site's pages say, read without the generator and without the renderer: the oracle of its tests.

For each kind of question, from subject to all answers that are found anywhere on the site.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from toolenvs.web.sites import Store

Found = dict[str, dict[str, set[str]]]
_ORDER = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def scan(store: Store) -> Found:
    """All answers of a site, by kind and subject."""
    found: Found = defaultdict(lambda: defaultdict(set))
    for url in store.urls():
        page = store.get(url)
        assert page is not None
        if page.status == 200 and "html" in page.header("content-type"):
            tree = LexborHTMLParser(page.body)
            for reads in (_signatures, _settings, _columns, _cells, _terms, _commands, _variables):
                for kind, subject, answer in reads(tree):
                    found[kind][subject].add(answer)
    return found


def _text(node: LexborNode) -> str:
    return " ".join(node.text().replace("\u200b", "").split())


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        if child.tag not in ("-text", "-comment"):
            yield child
        child = child.next


def _definition(term: LexborNode) -> LexborNode | None:
    node = term.next
    while node is not None and node.tag in ("-text", "-comment", "dt"):
        node = node.next
    if node is None or node.tag != "dd":
        return None
    while node is not None and not _text(node) and node.parent is not None:  # the next list tells of both
        following = node.parent.next
        while following is not None and following.tag == "-text":
            following = following.next
        if following is None or following.tag != "dl":
            return None
        node = following.css_first("dd")
    return node


def _signatures(tree: LexborHTMLParser) -> Iterator[tuple[str, str, str]]:
    for term in tree.css("dt.sig[id]"):
        subject = (term.attributes["id"] or "").removeprefix("c.")
        parts = [_text(part) for part in term.css("em.sig-param")]
        plain = [part for part in parts if part not in ("*", "/")]
        for place, part in enumerate(plain):
            name, equals, value = part.partition("=")
            if place < len(_ORDER):
                yield f"parameter {_ORDER[place]}", subject, name.split(":")[0].lstrip("*")
            if equals:
                yield "default", f"{subject}({name})", value.strip("'")
        below = _definition(term)
        for child in _children(below) if below is not None else ():
            told = _text(child)
            if match := re.match(r"New in version (\d\.\d+)", told):
                yield "added", subject, match[1]
            if match := re.match(r"Deprecated since version (\d\.\d+)", told):
                yield "deprecated", subject, match[1]
        heading = _heading_above(term)
        if heading:
            yield "section", subject, heading


def _heading_above(node: LexborNode) -> str:
    """The last heading before a node, in the order of the page."""
    at: LexborNode | None = node
    while at is not None:
        before = at.prev
        while before is not None:
            if before.tag not in ("-text", "-comment"):
                inside = list(before.css("h1, h2, h3, h4, h5, h6"))
                if inside:
                    return _text(inside[-1]).rstrip("¶").strip()
            before = before.prev
        at = at.parent
    return ""


def _settings(tree: LexborHTMLParser) -> Iterator[tuple[str, str, str]]:
    for term in tree.css('dt[id^="GUC-"]'):
        name, kind, below = term.css_first("code.varname"), term.css_first("code.type"), _definition(term)
        if name is None or kind is None or below is None:
            continue
        yield "type", _text(name), _text(kind)
        for told in re.findall(r"(?i)\bthe default (?:value )?is ([^.;,)]*(?:\.\d+)?)", _text(below)):
            yield "default", _text(name), told


def _columns(tree: LexborHTMLParser) -> Iterator[tuple[str, str, str]]:
    for cell in tree.css("p.column_definition"):
        table = cell.parent
        while table is not None and table.tag != "table":
            table = table.parent
        caption = _caption(table)
        column, kind = cell.css_first("code.structfield"), cell.css_first("code.type")
        if caption.endswith(" Columns") and column is not None and kind is not None:
            yield "column", f"{caption.removesuffix(' Columns')}.{_text(column)}", _text(kind)


def _caption(node: LexborNode | None) -> str:
    """The title that stands before a table, or before what the table stands in."""
    at = node
    while at is not None:
        before = at.prev
        while before is not None and before.tag in ("-text", "-comment"):
            before = before.prev
        if before is not None:
            match = re.fullmatch(r"Table [A-Z\d]+\.\d+\. (.+)", _text(before))
            return match[1] if match else ""
        at = at.parent
    return ""


def _cells(tree: LexborHTMLParser) -> Iterator[tuple[str, str, str]]:
    for table in tree.css("table"):
        caption = _caption(table)
        rows = [[_text(cell) for cell in _children(row) if cell.tag in ("td", "th")] for row in table.css("tr")]
        if not caption or not rows:
            continue
        for row in rows[1:]:
            for header, cell in list(zip(rows[0], row, strict=False))[1:]:
                yield "cell", f"{caption}: {row[0]}: {header}", cell


def _terms(tree: LexborHTMLParser) -> Iterator[tuple[str, str, str]]:
    heading = tree.css_first("h1, h2")
    command = "" if heading is None else re.sub(r"\(\d\) Manual Page$", "", _text(heading))
    for below in tree.css("dd"):
        terms, node = list[str](), below.prev
        while node is not None and node.tag in ("-text", "-comment", "dt"):
            terms += [node.text(separator=" ")] if node.tag == "dt" else []
            node = node.prev
        together = " ".join(reversed([term for term in terms if term.lstrip().startswith("-")]))  # no examples
        long = re.findall(r"--(?:\[no-\])?([A-Za-z\d][\w-]*)", together)
        if len(set(long)) == 1:
            for letter in re.findall(r"(?<![\w-])-([A-Za-z\d])(?![\w-])", together):
                yield "long option", f"{command} -{letter}", f"--{long[0]}"
            first = next(iter(_children(below)), None)
            yield "meaning", f"{command}: {_text(first) if first is not None else ''}", f"--{long[0]}"


def _commands(tree: LexborHTMLParser) -> Iterator[tuple[str, str, str]]:
    for paragraph in tree.css("p"):
        match = re.fullmatch(r"(git-[\w-]+) - (.+)", _text(paragraph))
        if match:
            yield "command", match[2], match[1]


def _variables(tree: LexborHTMLParser) -> Iterator[tuple[str, str, str]]:
    heading = tree.css_first("h1")
    if heading is None or not _text(heading).startswith("git-config("):
        return
    for term in tree.css("dt"):
        below = _definition(term)
        if below is not None:
            for told in re.findall(r"(?i)\bdefaults? (?:value )?(?:to|is) ([^,;]*?)(?=[.,;](?: |$)| \()", _text(below)):
                yield "default", _text(term), told
