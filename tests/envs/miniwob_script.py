"""An agent that does pages of MiniWoB++ by rules, from what an episode shows: a rule for each, which reads and acts.

A rule is a generator: it yields the arguments of a call, and is sent what the page shows then.
"""

import re
from collections.abc import Callable, Generator
from typing import Any

from toolenvs.agents.scripted import FromFunction
from toolenvs.blueprint import Blueprint
from toolenvs.protocols import Call
from toolenvs.rollout.agent import Request


class Seen:
    """What a call showed."""

    def __init__(self, text: str) -> None:
        goal, _, rest = text.partition("Goal: ")[2].partition("\n[0] ")
        self.goal = goal.strip()
        self.lines = ("[0] " + rest).splitlines()

    def find(self, pattern: str, after: int = -1) -> int:
        """The number of the first element, behind `after`, whose line holds the pattern."""
        for number, line in enumerate(self.lines):
            if number > after and re.search(pattern, line):
                return number
        raise LookupError(f"no {pattern!r} among {self.lines}")

    def has(self, pattern: str) -> bool:
        """Whether there is one."""
        return any(re.search(pattern, line) for line in self.lines)

    def text(self, number: int) -> str:
        """An element's own text."""
        found = re.search(r'"([^"]*)" @', self.lines[number])
        return found[1] if found else ""

    def asked(self, pattern: str) -> tuple[str, ...]:
        """The groups of a pattern in the goal."""
        found = re.search(pattern, self.goal)
        assert found is not None, self.goal
        return found.groups()


Rule = Callable[[Seen], Generator[dict[str, Any], Seen, None]]
Steps = Generator[dict[str, Any], Seen, None]
SUBMIT = r'(button|div) .*"(Submit|Login|OK)"'


def click(number: int) -> dict[str, Any]:
    return {"action": "click", "element": number}


def fill(number: int, text: str) -> dict[str, Any]:
    return {"action": "type", "element": number, "text": text}


def click_what(pattern: str, line: str) -> Rule:
    """Clicks the element of `line`, in which the groups of the goal's `pattern` stand."""

    def rule(seen: Seen) -> Steps:
        yield click(seen.find(line.format(*map(re.escape, seen.asked(pattern)))))

    return rule


def one_two(seen: Seen) -> Steps:
    for word in re.findall("ONE|TWO", seen.goal):
        seen = yield click(seen.find(f'"{word}"'))


def boxes(seen: Seen) -> Steps:
    names = seen.asked("Select (.*) and click")[0]
    for name in [] if names == "nothing" else names.split(", "):
        seen = yield click(seen.find(f'label "{re.escape(name)}"') + 1)
    yield click(seen.find(SUBMIT))


def choices(seen: Seen) -> Steps:
    names = seen.asked("Select (.*) from the")[0]
    several = "scroll" in seen.goal
    seen = yield {
        "action": "select", "element": seen.find("select"), "choices": names.split(", ") if several else [names],
    }  # fmt: skip
    yield click(seen.find(SUBMIT))


def enter(make: Callable[[Seen], str]) -> Rule:
    """Fills the one field and submits."""

    def rule(seen: Seen) -> Steps:
        seen = yield fill(seen.find("input"), make(seen))
        yield click(seen.find(SUBMIT))

    return rule


def both_fields(seen: Seen) -> Steps:
    words = re.findall('"([^"]+)"', seen.goal)
    first = seen.find("input")
    seen = yield fill(first, words[0])
    seen = yield fill(seen.find("input", first), words[-1])
    yield click(seen.find(SUBMIT))


def any_tab(seen: Seen) -> Steps:
    (wanted,) = seen.asked('link "(.*)"')
    link = rf'class="alink" "{re.escape(wanted)}[,.]?"'
    tabs = [number for number, line in enumerate(seen.lines) if "ui-tabs-anchor" in line]
    while not seen.has(link):
        seen = yield click(tabs.pop())
    yield click(seen.find(link))


def sections(seen: Seen) -> Steps:
    (wanted,) = seen.asked('link "(.*)"')
    link = rf'class="alink" "{re.escape(wanted)}[,.]?"'
    for number in range(1, 10):
        if seen.has(link):
            break
        seen = yield click(seen.find(f'"Section #{number}"'))
    yield click(seen.find(link))


def section(seen: Seen) -> Steps:
    seen = yield click(seen.find("Section"))
    yield click(seen.find(SUBMIT))


def shades(seen: Seen) -> Steps:
    (colour,) = seen.asked("shades of (.*) and")
    for number in [n for n, line in enumerate(seen.lines) if f'data-color="{colour}"' in line]:
        seen = yield click(number)
    yield click(seen.find('"Submit"'))


def in_table(seen: Seen, name: str) -> str:
    return seen.text(seen.find(f'td "{name}"') + 1)


def read_two(seen: Seen) -> Steps:
    for place in ("1", "2"):
        label = seen.text(seen.find(f'id="ll{place}"')).rstrip(":")
        seen = yield fill(seen.find(f'id="tt{place}"'), in_table(seen, label))
    yield click(seen.find(SUBMIT))


def sum_of(seen: Seen) -> str:
    left, sign, right = seen.text(seen.find("math-problem")).split()[:3]
    return str({"+": int(left) + int(right), "-": int(left) - int(right), "x": int(left) * int(right)}[sign])


def solved(seen: Seen) -> str:
    left, sign, right, _, total = seen.text(seen.find("math-problem")).split()
    if left == "x":
        return str(int(total) - int(right) if sign == "+" else int(total) + int(right))
    return str(int(total) - int(left) if sign == "+" else int(left) - int(total))


def date(seen: Seen) -> str:
    return "".join(seen.asked(r"Enter (\d+)/(\d+)/(\d+)"))


def clock(seen: Seen) -> str:
    hour, minute, half = seen.asked(r"Enter (\d+):(\d+) ([AP])M")
    return f"{int(hour):02d}{minute}{half}M"


def odd_or_even(seen: Seen) -> Steps:
    for number in [n for n, line in enumerate(seen.lines) if "display-number" in line]:
        odd = int(seen.text(number)) % 2
        seen = yield click(number - 1 if odd else number + 1)
    yield click(seen.find('"Submit"'))


def nth_word(seen: Seen) -> str:
    (place,) = seen.asked(r"Find the (\d+)\w\w word")
    return seen.text(seen.find("^.*? p ")).split()[int(place) - 1].strip(",.")


def copy(seen: Seen) -> Steps:
    """By keys: the text ends with a blank, which is not shown."""
    places = re.search(r"the (\d)\w\w text area", seen.goal)
    areas = [number for number, line in enumerate(seen.lines) if "textarea" in line]
    for step in (
        click(areas[int(places[1]) - 1 if places else 0]), {"action": "press", "keys": "Control+A"},
        {"action": "press", "keys": "Control+C"}, click(seen.find("input")), {"action": "press", "keys": "Control+V"},
    ):  # fmt: skip
        seen = yield step
    yield click(seen.find(SUBMIT))


def tree(seen: Seen) -> Steps:
    (name,) = seen.asked('named "(.*)"')
    opened: set[str] = set()
    wanted = rf'span class="(file|folder)" "{re.escape(name)}"'
    while not seen.has(wanted):
        folders = [n for n, line in enumerate(seen.lines) if 'span class="folder"' in line]
        number = next(n for n in folders if seen.text(n) not in opened)
        opened.add(seen.text(number))
        seen = yield click(number)
    yield click(seen.find(wanted))


def spinner(seen: Seen) -> Steps:
    (to,) = map(int, seen.asked(r"Select (-?\d+) "))
    for _ in range(abs(to)):
        seen = yield click(seen.find("spinner-up" if to > 0 else "spinner-down"))
    yield click(seen.find(SUBMIT))


def guess(seen: Seen) -> Steps:
    low, high = 0, 9
    while True:
        middle = (low + high) // 2
        seen = yield fill(seen.find("input"), str(middle))
        seen = yield click(seen.find(SUBMIT))
        if seen.has("higher"):
            low = middle + 1
        else:
            high = middle - 1


def email(part: str) -> Rule:
    def rule(seen: Seen) -> Steps:
        (sender,) = seen.asked("email by (.*) and click")
        yield click(seen.find(f'class="{part}', seen.find(f'email-sender" "{sender}"')))

    return rule


def search(seen: Seen) -> Steps:
    name, place = seen.asked(r'enter "(.*)" and press .* the (\d+)\w\w search')
    seen = yield fill(seen.find("input"), name)
    seen = yield click(seen.find('"Search"'))
    turns = (int(place) - 1) // 3
    for _ in range(turns):
        seen = yield click(seen.find('">"'))
    results = [n for n, line in enumerate(seen.lines) if "search-title" in line or "data-result" in line]
    yield click(results[(int(place) - 1) % 3])


def ascending(seen: Seen) -> Steps:
    seen = yield click(seen.find('"1" @'))
    for value in range(2, 6):  # the numbers are covered then
        seen = yield click(seen.find(f'data-index="{value}"'))


def blocks(seen: Seen) -> str:
    return str(sum("addition-block" in line for line in seen.lines))


def shape(seen: Seen) -> Steps:
    first = seen.lines[0]
    name = (
        "Circle" if "circle" in first else "Rectangle" if "rect" in first else "Triangle" if "polygon" in first
        else "Number" if seen.text(0).isdigit() else "Letter"
    )  # fmt: skip
    yield click(seen.find(f'"{name}"'))


def ticket(seen: Seen) -> Steps:
    prices = {n: int(m[1]) for n, line in enumerate(seen.lines) if (m := re.search(r"Book for \$(\d+)", line))}
    dearest = "most expensive" in seen.goal
    if "cost" in seen.goal:
        yield click((max if dearest else min)(prices, key=lambda n: prices[n]))
    hours = {}
    for n in prices:
        found = re.search(r"(\d+)h (\d+)m", seen.text(n - 1))
        assert found is not None
        hours[n] = int(found[1]) * 60 + int(found[2])
    yield click((max if "longest" in seen.goal else min)(hours, key=lambda n: hours[n]))


RULES: dict[str, Rule] = {
    "ascending-numbers": ascending,
    "buy-ticket": ticket,
    "choose-list": choices,
    "click-button": click_what('the "(.*)" button', 'button "{0}"'),
    "click-button-sequence": one_two,
    "click-checkboxes": boxes,
    "click-checkboxes-large": boxes,
    "click-checkboxes-transfer": boxes,
    "click-collapsible": section,
    "click-collapsible-2": sections,
    "click-color": click_what("the (.*) colored", 'data-color="{0}"'),
    "click-dialog": click_what("Close the", 'title="Close"'),
    "click-dialog-2": lambda seen: click_what('labeled "(.*)"', '(?i)button .*"({0}|Close)"' if '"x"' in seen.goal else
                                              'button .*"{0}"')(seen),
    "click-link": click_what('link "(.*)"', 'class="alink" "{0}[,.]?"'),
    "click-option": boxes,
    "click-scroll-list": choices,
    "click-shades": shades,
    "click-tab": click_what("Click on (Tab #.)", '"{0}"'),
    "click-tab-2": any_tab,
    "click-tab-2-easy": any_tab,
    "click-tab-2-hard": any_tab,
    "click-tab-2-medium": any_tab,
    "click-test": click_what("Click", "button"),
    "click-test-2": one_two,
    "click-test-transfer": one_two,
    "copy-paste": copy,
    "copy-paste-2": copy,
    "email-inbox-delete": email("trash"),
    "email-inbox-important": email("star"),
    "enter-date": enter(date),
    "enter-password": both_fields,
    "enter-text": enter(lambda seen: seen.asked('"(.*)"')[0]),
    "enter-text-2": enter(
        lambda seen: getattr(seen.asked('"(.*)"')[0], "upper" if "upper case" in seen.goal else "lower")()
    ),
    "enter-text-dynamic": enter(lambda seen: seen.asked('"(.*)"')[0]),
    "enter-time": enter(clock),
    "find-word": enter(nth_word),
    "focus-text": click_what("Focus", "input"),
    "focus-text-2": click_what(r"the (\d)", 'id="tt{0}"'),
    "grid-coordinate": click_what(r"coordinate (\(.*\))", 'id="{0}"'),
    "guess-number": guess,
    "identify-shape": shape,
    "login-user": both_fields,
    "navigate-tree": tree,
    "odd-or-even": odd_or_even,
    "read-table": enter(lambda seen: in_table(seen, seen.asked("value of (.*) into")[0])),
    "read-table-2": read_two,
    "search-engine": search,
    "simple-algebra": enter(solved),
    "simple-arithmetic": enter(sum_of),
    "use-spinner": spinner,
    "visual-addition": enter(blocks),
}  # fmt: skip


def agent(blueprint: Blueprint) -> FromFunction:
    """Looks, and then follows the rule of the page."""
    running: dict[str, Steps] = {}

    def act(request: Request) -> str:
        if request.turn == 1:
            arguments: dict[str, Any] = {"action": "look"}
        elif request.turn == 2:
            seen = Seen(request.last_result)
            running[request.key] = RULES[request.task.extra["page"]](seen)
            arguments = next(running[request.key])
        else:
            arguments = running[request.key].send(Seen(request.last_result))
        return blueprint.protocol.write_call(Call("miniwob", arguments))

    return FromFunction(act)
