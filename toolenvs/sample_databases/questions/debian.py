"""Questions over Debian's packages: a graph of dependencies, and tags."""

from toolenvs.sample_databases.questions.base import Entry, FileBook
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.sql import Drawn, Figure, Noun, Word
from toolenvs.tasks.sql.templates import ONE_TABLE, compared, figure_of
from toolenvs.tasks.sql.wording import SMALL, literal

_EVIDENCE = (
    "dependency.package needs dependency.target, and kind says how: a package depends on another where the kind is "
    "'Depends'. package.source is NULL where the source package has the package's own name. installed_size is in "
    "kilobytes, size in bytes."
)
_SECTIONS = ("database", "editors", "httpd", "mail", "shells", "vcs", "web", "perl", "python", "utils", "admin")
_FACETS = ("role", "interface", "scope", "suite", "uitoolkit", "network", "security", "mail", "web", "system")
_DEPENDS = "kind = 'Depends'"


def _needed(book: FileBook, draws: Draws, least: int, most: int) -> tuple[str, str]:
    """A package that so many depend on."""
    name = draws.choice(
        book.found(f"SELECT target FROM dependency WHERE {_DEPENDS} GROUP BY target "
                   f"HAVING count(*) BETWEEN {least} AND {most} ORDER BY 1")
    )  # fmt: skip
    return str(name), literal(name)


def _needy(book: FileBook, draws: Draws, least: int, most: int) -> tuple[str, str]:
    """A package of the sections that depends on so many."""
    listed = ", ".join(map(literal, _SECTIONS[:7]))
    name = draws.choice(
        book.found(f"SELECT d.package FROM dependency AS d JOIN package AS p ON d.package = p.name WHERE d.{_DEPENDS} "
                   f"AND p.section IN ({listed}) GROUP BY d.package HAVING count(*) BETWEEN {least} AND {most} "
                   "ORDER BY 1")
    )  # fmt: skip
    return str(name), literal(name)


def _tag(book: FileBook, draws: Draws) -> str:
    return str(draws.choice(book.found("SELECT tag FROM tag GROUP BY tag HAVING count(*) >= 20 ORDER BY 1")))


def no_homepage(book: FileBook, draws: Draws) -> Drawn:
    """Packages without a homepage, or with a source package of another name."""
    section = draws.choice(_SECTIONS)
    clause, condition = compared(book, draws, figure_of(book, draws))
    said, column = draws.choice((("have no homepage", "homepage IS NULL"),
                                 ("have a source package of another name", "source IS NOT NULL")))  # fmt: skip
    return Drawn(
        f"How many packages of the section {section} that {clause} {said}?",
        f"SELECT count(*) FROM package WHERE section = '{section}' AND {condition} AND {column}",
    )


def built_from(book: FileBook, draws: Draws) -> Drawn:
    """The packages of one source package."""
    source = draws.choice(
        book.found("SELECT source FROM package WHERE source IS NOT NULL GROUP BY source "
                   "HAVING count(*) BETWEEN 2 AND 12 ORDER BY 1")
    )  # fmt: skip
    return Drawn(
        f"Give the names of the packages that are built from the source package {source} and have another name.",
        f"SELECT name FROM package WHERE source = {literal(source)}",
    )


def needs(book: FileBook, draws: Draws) -> Drawn:
    """What a package depends on, in one section."""
    shown, package = _needy(book, draws, 4, 20)
    section = draws.choice(("libs", "libs", "utils", "perl", "python", "admin"))
    return Drawn(
        f"Give the names of the packages of the section {section} that {shown} depends on.",
        f"SELECT p.name FROM dependency AS d JOIN package AS p ON d.target = p.name WHERE d.package = {package} AND "
        f"d.{_DEPENDS} AND p.section = '{section}'",
    )


def needed_by(book: FileBook, draws: Draws) -> Drawn:
    """How many of a section depend on one."""
    (shown, package), section = _needed(book, draws, 30, 4_000), draws.choice(_SECTIONS)
    return Drawn(
        f"How many packages of the section {section} depend on {shown}?",
        f"SELECT count(*) FROM dependency AS d JOIN package AS p ON d.package = p.name WHERE d.target = {package} AND "
        f"d.{_DEPENDS} AND p.section = '{section}'",
    )


def most_needed(book: FileBook, draws: Draws) -> Drawn:
    """What the most packages depend on, recommend or suggest."""
    k, section = draws.below(len(SMALL)), draws.choice((*_SECTIONS, "libs"))
    kind, said = draws.choice((("Depends", "depend on"), ("Recommends", "recommend"), ("Suggests", "suggest")))
    return Drawn(
        f"Which {SMALL[k]} packages of the section {section} do the most packages {said}? Give name and number, the "
        "highest number first.",
        f"SELECT p.name, count(*) FROM dependency AS d JOIN package AS p ON d.target = p.name WHERE p.section = "
        f"'{section}' AND d.kind = '{kind}' GROUP BY p.name ORDER BY count(*) DESC LIMIT {k + 2}",
    )


def tags(book: FileBook, draws: Draws) -> Drawn:
    """The tags of one facet in a section."""
    section, facet = draws.choice(_SECTIONS), draws.choice(_FACETS)
    return Drawn(
        f"For each tag of the facet {facet}, how many packages of the section {section} have it? Give tag and number, "
        "without tags of number 0, ordered by tag.",
        f"SELECT t.tag, count(*) FROM tag AS t JOIN package AS p ON t.package = p.name WHERE t.facet = '{facet}' AND "
        f"p.section = '{section}' GROUP BY t.tag ORDER BY t.tag",
    )


def leaves(book: FileBook, draws: Draws) -> Drawn:
    """Packages that nothing depends on."""
    section = draws.choice((*_SECTIONS, "libs"))
    clause, condition = compared(book, draws, figure_of(book, draws))
    return Drawn(
        f"How many packages of the section {section} that {clause} does no package depend on?",
        f"SELECT count(*) FROM package AS p WHERE p.section = '{section}' AND p.{condition} AND NOT EXISTS "
        f"(SELECT 1 FROM dependency AS d WHERE d.target = p.name AND d.{_DEPENDS})",
    )


def one_tag_not_the_other(book: FileBook, draws: Draws) -> Drawn:
    """Packages with one tag and without another: one table twice."""
    one, other = _tag(book, draws), _tag(book, draws)
    return Drawn(
        f"How many packages have the tag {one} and not the tag {other}?",
        f"SELECT count(*) FROM tag AS a WHERE a.tag = '{one}' AND NOT EXISTS (SELECT 1 FROM tag AS b WHERE b.package = "
        f"a.package AND b.tag = '{other}')",
    )


def tagged_dependents(book: FileBook, draws: Draws) -> Drawn:
    """What has a tag and depends on one that is named."""
    (shown, package), tag = _needed(book, draws, 50, 4_000), _tag(book, draws)
    section = draws.choice(_SECTIONS)
    return Drawn(
        f"How many packages of the section {section} with the tag {tag} depend on {shown}?",
        "SELECT count(*) FROM package AS p JOIN dependency AS d ON d.package = p.name JOIN tag AS t ON t.package = "
        f"p.name WHERE p.section = '{section}' AND t.tag = '{tag}' AND d.target = {package} AND d.{_DEPENDS}",
    )


def two_steps(book: FileBook, draws: Draws) -> Drawn:
    """What depends on something that depends on one that is named."""
    shown, package = _needed(book, draws, 2, 60)
    return Drawn(
        f"Counting each once, how many packages depend on a package that depends on {shown}?",
        "SELECT count(DISTINCT a.package) FROM dependency AS a JOIN dependency AS b ON a.target = b.package WHERE "
        f"a.{_DEPENDS} AND b.{_DEPENDS} AND b.target = {package}",
    )


def in_common(book: FileBook, draws: Draws) -> Drawn:
    """What two packages both depend on."""
    pairs = book.found(
        "SELECT a.package || ' ' || b.package FROM dependency AS a JOIN package AS p ON a.package = p.name JOIN "
        "dependency AS b ON a.target = b.target AND a.package < b.package JOIN package AS q ON b.package = q.name "
        f"WHERE a.{_DEPENDS} AND b.{_DEPENDS} AND p.section IN ('mail', 'shells', 'vcs') AND "
        "q.section IN ('mail', 'shells', 'vcs') GROUP BY a.package, b.package HAVING "
        "count(*) BETWEEN 4 AND 20 ORDER BY 1"
    )  # of fewer packages in common, a changed copy may have all
    shown, _, also = str(draws.choice(pairs)).partition(" ")
    one, other = literal(shown), literal(also)
    return Drawn(
        f"Which packages do both {shown} and {also} depend on? Give their names.",
        f"SELECT a.target FROM dependency AS a JOIN dependency AS b ON a.target = b.target WHERE a.package = {one} AND "
        f"b.package = {other} AND a.{_DEPENDS} AND b.{_DEPENDS}",
    )


def mutual(book: FileBook, draws: Draws) -> Drawn:
    """Pairs that need each other."""
    section = draws.choice((*_SECTIONS, "libs"))
    kind, back = draws.choice((("depend on", "Depends"), ("recommend", "Recommends"), ("suggest", "Suggests")))
    return Drawn(
        f"Counting each once, how many packages of the section {section} {kind} a package that depends on them?",
        "SELECT count(DISTINCT a.package) FROM dependency AS a JOIN dependency AS b ON a.target = b.package AND "
        f"b.target = a.package JOIN package AS p ON a.package = p.name WHERE p.section = '{section}' AND "
        f"a.kind = '{back}' AND b.{_DEPENDS}",
    )


def closure(book: FileBook, draws: Draws) -> Drawn:
    """All that a package needs, over any number of steps."""
    shown, package = _needy(book, draws, 1, 6)
    return Drawn(
        f"How many other packages does {shown} depend on, over one step or more?",
        _reached(package, "package", "target", "needed"),
    )


def closure_back(book: FileBook, draws: Draws) -> Drawn:
    """All that need a package, over any number of steps."""
    shown, package = _needed(book, draws, 2, 12)
    return Drawn(
        f"How many other packages depend on {shown}, over one step or more?",
        _reached(package, "target", "package", "needing"),
    )


def _reached(package: str, near: str, far: str, called: str) -> str:
    """How many others are reached from a package, along dependencies from one of their columns to the other."""
    one = called[0]
    return (
        f"WITH RECURSIVE {called} (name) AS (SELECT {far} FROM dependency WHERE {near} = {package} AND {_DEPENDS} "
        f"UNION SELECT d.{far} FROM dependency AS d JOIN {called} AS {one} ON d.{near} = {one}.name "
        f"WHERE d.{_DEPENDS}) SELECT count(*) FROM {called} WHERE name != {package}"
    )


ENTRY = Entry(
    nouns={"package": Noun("package", "packages", "name")},
    figures=(
        Figure("package", "installed_size", "take up {cmp} kilobytes when installed", "installed size"),
        Figure("package", "size", "are files of {cmp} bytes", "file size"),
    ),
    words=(
        Word("package", "section", "belong to the section {w}", "section"),
        Word("package", "priority", "have the priority {w}", "priority"),
    ),
    links=(),
    thresholds={
        ("package", "installed_size"): (20, 50, 100, 500, 1_000, 5_000, 20_000, 50_000),
        ("package", "size"): (10_000, 20_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 20_000_000),
    },
    levels=(
        (*ONE_TABLE, no_homepage, built_from),
        (needs, needed_by, most_needed, tags, leaves),
        (one_tag_not_the_other, tagged_dependents, two_steps, in_common, mutual, closure, closure_back),
    ),
    evidence=_EVIDENCE,
)
