"""Number theory with one exact integer answer: powers, divisors, residues, digits, counts.

The kinds are equally likely; each scales its numbers with the difficulty, 0 to 5. Golds come from closed forms
(factorisations that are known from construction, inclusion and exclusion, the Chinese remainder theorem); the programs
mostly count, so that each checks the other.
"""

import math
from collections.abc import Callable

from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import Draws

_MAX_DIFFICULTY = 5
_MIN_ANSWER = 100
"""Smaller answers can be guessed."""
_PRIMES = tuple(n for n in range(2, 100) if all(n % d for d in range(2, math.isqrt(n) + 1)))
_Parts = tuple[str, int, str]
"""Question, answer, program."""


def _modular_power(draws: Draws, difficulty: int) -> _Parts:
    scale = 10**difficulty
    base = draws.between(11, 99 * scale)
    exponent = draws.between(100 * scale, 999 * scale)
    modulus = draws.between(1000 * scale, 9999 * scale)
    question = f"What is the remainder when {base}^{exponent} is divided by {modulus}?"
    return question, pow(base, exponent, modulus), f"print(pow({base}, {exponent}, {modulus}))"


def _gcd_and_lcm(draws: Draws, difficulty: int) -> _Parts:
    scale = 10**difficulty
    shared = draws.between(2, 30)
    a, b, c, d = (shared * draws.between(10, 50 * scale) for _ in range(4))
    question = f"What is lcm({a}, {b}) + gcd({c}, {d})?"
    program = f"from math import gcd, lcm\nprint(lcm({a}, {b}) + gcd({c}, {d}))"
    return question, math.lcm(a, b) + math.gcd(c, d), program


def _weighted_digits(draws: Draws, difficulty: int) -> _Parts:
    base, exponent = draws.between(11, 999), draws.between(15 + 20 * difficulty, 40 + 60 * difficulty)
    question = (
        f"Write {base}^{exponent} in decimal and multiply each digit by its position, counting from 1 at the left. "
        "What is the sum of the products?"
    )
    answer = sum(position * int(digit) for position, digit in enumerate(str(base**exponent), start=1))
    return question, answer, f"print(sum(i * int(d) for i, d in enumerate(str({base} ** {exponent}), 1)))"


def _count_multiples(draws: Draws, difficulty: int) -> _Parts:
    high = draws.between(2000, 9999) * (1 + 4 * difficulty)
    a, b, c = draws.sample(range(2, 40), 3)

    def either(divisor: int) -> int:
        """How many up to `high` are multiples of `divisor` and of a or b."""
        pair = high // math.lcm(divisor, a) + high // math.lcm(divisor, b)
        return pair - high // math.lcm(divisor, a, b)

    question = f"How many integers from 1 to {high} are divisible by {a} or {b}, but not by {c}?"
    program = f"print(sum((n % {a} == 0 or n % {b} == 0) and n % {c} != 0 for n in range(1, {high + 1})))"
    return question, either(1) - either(c), program


def _factors(n: int) -> dict[int, int]:
    """Prime -> exponent, by trial division."""
    factors: dict[int, int] = {}
    divisor = 2
    while n > 1:
        if divisor * divisor > n:
            divisor = n
        while n % divisor == 0:
            factors[divisor] = factors.get(divisor, 0) + 1
            n //= divisor
        divisor += 1
    return factors


def _composite(draws: Draws, difficulty: int) -> dict[int, int]:
    """A number of at least three distinct primes, factored: of fewer, phi and the divisors are near to a formula."""
    while True:
        factors = _factors(draws.between(10_000, 50_000 * (1 + difficulty)))
        if len(factors) >= 3:
            return factors


def _totient(draws: Draws, difficulty: int) -> _Parts:
    factors = _composite(draws, difficulty)
    n: int = math.prod(p**e for p, e in factors.items())
    answer: int = math.prod((p - 1) * p ** (e - 1) for p, e in factors.items())
    question = f"How many integers from 1 to {n} have no common factor with {n} other than 1?"
    return question, answer, f"from math import gcd\nprint(sum(gcd(k, {n}) == 1 for k in range(1, {n + 1})))"


def _divisor_sum(draws: Draws, difficulty: int) -> _Parts:
    factors = _composite(draws, difficulty)
    n: int = math.prod(p**e for p, e in factors.items())
    answer: int = math.prod(sum(p ** (2 * k) for k in range(e + 1)) for p, e in factors.items())
    question = f"What is the sum of the squares of the positive divisors of {n}?"
    return question, answer, f"print(sum(d * d for d in range(1, {n + 1}) if {n} % d == 0))"


def _base_conversion(draws: Draws, difficulty: int) -> _Parts:
    number = draws.between(10 ** (4 + difficulty), 10 ** (5 + difficulty))
    start, end = draws.sample(range(2, 10), 2)
    numeral = _numeral(number, start)
    question = f"{numeral} is written in base {start}. What is it in base {end}?"
    program = (
        f"n, digits = int('{numeral}', {start}), ''\nwhile n:\n    n, r = divmod(n, {end})\n"
        "    digits = str(r) + digits\nprint(digits)"
    )
    return question, int(_numeral(number, end)), program


def _numeral(number: int, base: int) -> str:
    return (_numeral(number // base, base) if number >= base else "") + str(number % base)


def _congruences(draws: Draws, difficulty: int) -> _Parts:
    low = 2 * difficulty
    moduli = draws.sample(_PRIMES[2 + low : 9 + low], 3)
    remainders = [draws.below(m) for m in moduli]
    product = math.prod(moduli)
    answer = (
        sum(r * (product // m) * pow(product // m, -1, m) for r, m in zip(remainders, moduli, strict=True)) % product
    )
    p, q, r = moduli
    a, b, c = remainders
    question = (
        f"What is the smallest positive integer that leaves remainder {a} when divided by {p}, "
        f"{b} when divided by {q}, and {c} when divided by {r}?"
    )
    condition = f"n % {p} == {a} and n % {q} == {b} and n % {r} == {c}"
    return question, answer, f"print(next(n for n in range(1, {product + 1}) if {condition}))"


_KINDS: tuple[Callable[[Draws, int], _Parts], ...] = (
    _modular_power,
    _gcd_and_lcm,
    _weighted_digits,
    _count_multiples,
    _totient,
    _divisor_sum,
    _base_conversion,
    _congruences,
)


def make(*, difficulty: int = 0) -> Callable[[Draws], Problem]:
    """Problems of all kinds.

    Args:
        difficulty: 0 to 5; the size of the numbers.

    Raises:
        TaskError: the difficulty is out of range.
    """
    require_whole_number(difficulty, "number_theory: difficulty", 0, _MAX_DIFFICULTY)

    def problem(draws: Draws) -> Problem:
        while True:
            kind = draws.choice(_KINDS)
            question, answer, program = kind(draws, difficulty)
            if answer >= _MIN_ANSWER:
                extra = {"difficulty": difficulty, "kind": kind.__name__.removeprefix("_")}
                return Problem(question=question, answer=answer, program=program, extra=extra)

    return problem
