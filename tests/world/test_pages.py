"""The linked pages of a world."""

import re

import pytest

from toolenvs.web.render import render
from toolenvs.world import World
from toolenvs.world.pages import NAMES_A_PAGE, URL, path_of, paths, web_page
from toolenvs.world.passages import passage

WORLD = World(1_000, seed=5)
_MARK = re.compile(r"\[\d+†([^\]]*)\]")


def _page(path: str):
    html = web_page(WORLD, path)
    assert html is not None
    return render(html, url=URL + path)


def test_every_link_of_every_page_leads_to_a_page() -> None:
    known = set(paths(WORLD))
    reached = {""}
    for path in known:
        page = _page(path)
        targets = {link.url.removeprefix(URL) for link in page.links}
        assert targets <= known, path
        reached |= targets
    assert reached == known, "every page can be reached from another"
    assert len(known) == 1 + 1_000 + sum(-(-count // NAMES_A_PAGE) for count in WORLD.counts.values())


def test_a_page_says_what_the_passage_says_and_links_to_what_it_names() -> None:
    for key in list(WORLD.keys())[::37]:
        entity, page = WORLD.entity(key), _page(path_of(key))
        lines = [_MARK.sub(r"\1", line) for line in page.lines]
        assert passage(WORLD, entity).text in lines
        assert page.title == entity.name
        for target in entity.links.values():
            urls = {link.url for link in page.links if link.text == WORLD.name(target)}
            assert URL + path_of(target) in urls
        for fact, value in entity.figures.items():
            assert f"| {fact.replace('_', ' ')} | {value} |" in lines


def test_a_page_is_a_function_of_the_world_and_its_path() -> None:
    again = World(1_000, seed=5)
    assert all(web_page(WORLD, path) == web_page(again, path) for path in list(paths(WORLD))[::50])
    assert web_page(World(1_000, seed=6), "people/1.html") != web_page(WORLD, "people/1.html")


@pytest.mark.parametrize(
    "path",
    [
        "people", "persons/", "people/x.html", "people/-1.html", "people/01.html", "people/1",
        "people/99999999999.html",
        "people/list-0.html", "people/list-9.html", "people/list-x.html", "people/1.html/", "../etc/passwd", "people/²",
        "people/1000.html",
    ],
)  # fmt: skip
def test_no_other_path_is_a_page(path: str) -> None:
    assert web_page(WORLD, path) is None
