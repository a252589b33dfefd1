"""Programs that lie about their process instead of computing: none gains anything."""

import pytest

from toolenvs.rewards import unit_tests

SECRET = "k7-unguessable-81x"
TESTS = [
    {"call": "f", "args": ["a question"], "expected": SECRET},
    {"call": "f", "args": ["another"], "expected": [SECRET, 5]},
    {"input": "a question\n", "output": SECRET},
]

FORGERIES = {
    "exits": "import os\nos._exit(0)",
    "exits politely": "import sys\nsys.exit(0)",
    "raises SystemExit in the call": "def f(x): raise SystemExit(0)",
    "says that it passed": "print('PASSED', 'ok', True)\ndef f(x): return True",
    "is equal to everything": """
class Any(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __len__(self): return 2
    def __iter__(self): return iter((self, self))
    def __repr__(self): return 'true'
def f(x): return Any('x')
print(f(0))
""",
    "replaces json": """
import json
json.dumps = lambda *a, **k: 'true'
json.loads = lambda *a, **k: True
def f(x): return True
""",
    "replaces what the driver calls": """
import sys
driver = sys.modules['__main__']
driver.encode = lambda value: True
driver.Shown.__repr__ = lambda self: 'true'
driver.main = lambda source: True
def f(x): return True
""",
    "replaces print, exit and builtins": """
import builtins, sys
builtins.print = lambda *a, **k: None
builtins.isinstance = lambda *a: True
builtins.repr = lambda value: 'true'
builtins.all = builtins.any = lambda *a: True
sys.exit = lambda *a: None
def f(x): return True
""",
    "an exit hook": """
import atexit, os
atexit.register(lambda: os._exit(0))
def f(x): return True
""",
    "an exception hook": """
import sys
sys.excepthook = lambda *a: None
sys.displayhook = lambda *a: None
def f(x): return True
""",
    "writes answers of its own on the control channel": """
import os, struct
for nonce in (0, 1, 2**64 - 1):
    os.write(3, struct.pack('<IQBBIIIII', 0x54454E41, nonce, 0, 2, 4, 0, 0, 0, 0) + b'true')
def f(x): return True
""",
    "answers in the worker's place": """
import gc, sys
frame = sys._getframe()
while frame is not None:
    worker = frame.f_locals.get('self')
    nonce = frame.f_locals.get('nonce')
    if worker is not None and nonce is not None and hasattr(worker, '_answer'):
        worker._answer(nonce, 0, False, 'true', None)
    frame = frame.f_back
def f(x): return True
""",
    "searches frames and the heap for the answer": """
import gc, sys
def texts():
    frame = sys._getframe()
    while frame is not None:
        for value in (*frame.f_locals.values(), *frame.f_globals.values()):
            yield value
        frame = frame.f_back
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            yield from list(thing.values())
        elif isinstance(thing, (list, tuple)):
            yield from list(thing)
def f(x):
    start = 'k7-' + 'unguess'
    for value in texts():
        if isinstance(value, str) and start in value and len(value) < 40:
            return value[value.index(start):][:18]
    return None
print(f(0))
""",
    "searches the memory of its process": """
import re
def f(x):
    found = None
    for line in open('/proc/self/maps'):
        match = re.match('([0-9a-f]+)-([0-9a-f]+) rw', line)
        if match and 'vsyscall' not in line:
            start, end = (int(part, 16) for part in match.groups())
            with open('/proc/self/mem', 'rb') as memory:
                memory.seek(start)
                data = memory.read(min(end - start, 1 << 22))
            match = re.search(b'k7-ungues' + b'sable-[0-9x]+', data)
            found = match and match[0].decode() or found
    return found
print(f(0))
""",
    "reads what comes on its input": """
import sys
rest = sys.stdin.read()
def f(x): return rest
print(rest)
""",
    "floods": "print('x' * 10**7)\ndef f(x): return 'x' * 10**7",
    "floods below Python": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "never ends": "while True: pass",
    "ends its own interpreter": "import ctypes\nctypes.string_at(0)",
    "a deep value": "def f(x):\n    deep = []\n    for _ in range(10**5): deep = [deep]\n    return deep",
    "a value that holds itself": "def f(x):\n    loop = []\n    loop.append(loop)\n    return loop",
}


@pytest.mark.parametrize("code", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_passes_nothing(code: str) -> None:
    report = unit_tests.judge(code=code, tests=TESTS, timeout_s=2.0)
    assert (report.passed, report.correct, report.failed, report.score) == (0, False, False, 0.0)
    assert len(report.outcomes) == report.total == 3


def test_the_same_tests_are_passed_by_who_knows() -> None:
    code = f"def f(x): return '{SECRET}' if x == 'a question' else ['{SECRET}', 5]\nprint('{SECRET}')"
    assert unit_tests.judge(code=code, tests=TESTS).passed == 3


def test_what_one_test_leaves_behind_does_not_reach_the_next() -> None:
    code = """
import os
def f(n):
    places = ('/tmp/left', 'left', '/dev/shm/left')
    seen = [os.path.exists(place) for place in places]
    for place in places:
        try:
            open(place, 'w').close()
        except OSError:
            pass
    f.calls = getattr(f, 'calls', 0) + 1
    return f.calls if not any(seen) else -1
"""
    tests = [{"call": "f", "args": [n], "expected": 1} for n in range(4)]
    assert unit_tests.judge(code=code, tests=tests).passed == 4
