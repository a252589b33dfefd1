"""The QA judge on the table of cases, on pairs of our own, and on anything at all."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.rewards import qa
from toolenvs.rewards.verdict import Reason

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()]


def test_the_table_of_cases() -> None:
    verdicts = [qa.judge(golds=case["gold"], answer=case["pred"]).correct for case in CASES]
    wrong = [case for case, correct in zip(CASES, verdicts, strict=True) if correct is not case["expect"]]
    assert not [case for case in wrong if not case["policy"] or not case["expect"]]
    assert 1 - len(wrong) / len(CASES) >= 0.85


SAME = [
    ("12 March 1999", "March 12th, 1999"), ("the 4th of July", "July 4"), ("May 1945", "may 1945"), ("17:00", "17:00"),
    ("3 p.m.", "3:00 PM"), ("1,234", "1234"), ("two hundred and fifty", "250"), ("one thousand two hundred", "1200"),
    ("3.5 million", "3500000"), ("3rd", "third"), ("the twenty-first", "21st"), ("Louis XIV", "Louis 14"),
    ("World War II", "world war ii"), ("World War I", "World War 1"), ("U.S.", "US"), ("O'Brien", "OBrien"),
    ("H₂O", "H2O"), ("10²", "10^2"), ("½", "1/2"), ("1½", "1 1/2"), ("$5", "5 dollars"), ("5 km", "5 kilometres"),
    ("5km", "5 km"), ("R&B", "R and B"), ("St. Louis", "Saint Louis"), ("Straße", "strasse"), ("ﬁsh", "fish"),
    ("１２", "12"), ("C#", "c#"), ("Lord of the Rings", "The Lord of the Rings"), ("-5", "minus 5"), ("−5", "-5"),
    ("Łódź", "Lodz"), ("Έλληνας", "Ελληνας"), ("naïve café", "naive cafe"), ("no", "No."), ("7 Up", "Seven Up"),
    ("1914-1918", "1914 – 1918"), (".5", "0.5"), ("0.50", "0.5"), ("Apple", "Apple Inc."), ("É", "e"),
    ("Apple Inc.", "Apple Incorporated"), ("Apple Corp", "Apple"), ("Zinc", "zinc"), ("5+", "5+"), ("Mr. X", "mr x"),
    ("Elizabeth II", "Elizabeth the Second"), ("Henry VIII", "Henry the 8th"), ("World War II", "World War the Second"),
    ("Pope John XXIII", "Pope John the Twenty-Third"), ("Elizabeth II of Spain", "Elizabeth the Second of Spain"),
    ("Mr. Xi", "Mr Xi"), ("+ 5", "5"), ("€5", "5 €"), ("5€", "5 euros"), ("₹5", "5 rupees"), ("COVID-19", "Covid 19"),
    ("F-16", "F16"), ("C♯", "C#"), ("B♭", "B flat"), ("5 km/h", "5 km per hour"), ("100‰", "100 ‰"),
    ("हिन्दी", "हिन्दी."),
    ("I ♥ NY", "i ♥ ny"), ("Müsli®", "muesli"), ("שָׁלוֹם", "שלום"),
]  # fmt: skip
OTHER = [
    ("1/2", "12"), ("1.2.3", "123"), ("10²", "102"), ("1½", "11/2"), ("12", "1 2"), ("1914-1918", "19141918"),
    ("007", "7"), ("C", "C++"), ("F#", "F"), ("May 4", "May 5"), ("4 May 1999", "5 April 1999"), ("3 p.m.", "3 a.m."),
    ("XIV", "XV"), ("Louis XIV", "Louis XV"), ("Elizabeth I", "Elizabeth II"), ("21st", "22nd"), ("twenty", "two"),
    ("$5", "€5"), ("5%", "5"), ("5 km", "5 m"), ("が", "か"), ("й", "и"), ("A", "The"), ("the", "a"),
    ("yes", "yes and no"), ("yes", "no, yes"), ("no", "nothing"), ("1.5 million", "15 million"),
    ("1 million", "1 billion"), ("+5", "-5"), ("Type A", "Type B"), ("A", "B"), ("Malcolm X", "Malcolm"), ("?", "!"),
    ("Paris", ""), ("Paris", "Paris, London"), ("Paris", "Paris/London"), ("2000", "2000s"), ("100", "1000"),
    ("three hundred", "three thousand"), ("-5", "−6"), ("1999-01-02", "1999-02-01"), ("two thousand", "2 hundred"),
    ("B12", "B 1 2"), ("#1", "-1"), ("5 a.m.", "5"),
    ("Apple Inc.", "Apple Corp"), ("Apple Ltd", "Apple LLC"), ("Z", "Zinc"), ("Z Inc", "Zinc"), ("Mr. X", "Mr. 10"),
    ("Mrs. V", "Mrs. 5"), ("Mr. Xi", "Mr. 11"), ("5+", "5"), ("18 +", "18"), ("5+ years", "5 years"), ("5+", "+5"),
    ("Elizabeth II", "Elizabeth the Third"), ("Elizabeth I", "Elizabeth the Second"), ("the second", "2"),
    ("Inc", "Corp"), ("100+", "1000"), ("Henry VIII", "Henry the 18th"),
    ("5 €", "5"), ("5€", "5£"), ("₹5", "₩5"), ("₿5", "5"), ("5¢", "5"), ("≥5", "≤5"), ("≥5", "5"), ("±5", "5"),
    ("√2", "2"), ("10‰", "10%"), ("10‰", "10"), ("100 m/s", "100 ms"), ("5'11\"", "511"), ("A-", "A"), ("O-", "O"),
    ("B♭", "B"), ("B♭", "B♯"), ("A♠", "A♥"), ("A♠", "A"), ("I ♥ NY", "I NY"), ("p ∧ q", "p ∨ q"), ("a<b", "a>b"),
    ("x+y", "xy"), ("x+1", "x-1"), ("1e-6", "1e6"), ("F-16", "F-18"), ("का", "की"), ("हिन्दी", "हिन्द"), ("ก่า", "กา"),
    ("தமிழ்", "தமிழ"), ("no", "No. 5"), ("no", "no-one"), ("yes", "Yes-men"), ("no", "no; nah, yep"),
    ("COVID-19", "COVID"), ("12 m/s", "12 m"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), SAME)
def test_the_same_written_otherwise(gold: str, answer: str) -> None:
    assert qa.judge(golds=[gold], answer=answer).correct
    assert qa.judge(golds=[answer], answer=gold).correct


@pytest.mark.parametrize(("gold", "answer"), OTHER)
def test_what_only_looks_alike(gold: str, answer: str) -> None:
    assert not qa.judge(golds=[gold], answer=answer).correct
    if answer:
        assert not qa.judge(golds=[answer], answer=gold).correct


@given(gold=st.text(min_size=1).filter(str.strip), answer=st.text())
def test_any_text_is_judged_and_equal_text_matches(gold: str, answer: str) -> None:
    assert qa.judge(golds=[gold], answer=answer).reason in (
        Reason.MATCH,
        Reason.MISMATCH,
        Reason.NO_ANSWER,
        Reason.REFUSED_BUDGET,
    )
    assert qa.judge(golds=[gold], answer=gold).correct or qa.check_gold([gold])


@given(
    st.lists(
        st.sampled_from(
            [
                "one",
                "two",
                "twenty",
                "hundred",
                "million",
                "and",
                "third",
                "7",
                "1.5",
                "-3",
                "XIV",
                "the",
                "%",
                "May",
                "4th",
                "1999",
                "of",
                "a.m.",
            ]
        ),
        max_size=9,
    )
)
def test_numbers_and_dates_in_any_order_are_read(words: list[str]) -> None:
    qa.judge(golds=["x"], answer=" ".join(words))


def test_hostile_answers_are_bounded() -> None:
    for answer in ("1" * 10**6, "one " * 10**5, "((" * 10**5, "<answer>" * 10**4, "million " * 40, "9" * 150):
        assert not qa.judge(golds=["42"], answer=answer).correct


def test_responses_have_exactly_one_answer() -> None:
    def said(response: str) -> bool:
        return qa.judge_response(golds=["Paris"], response=response).correct

    assert said("so <answer> paris </answer>")
    assert said("<answer>Paris</answer> that is <answer>Paris</answer>")
    assert not said("<answer>Rome</answer><answer>Paris</answer>")
    assert not said("Paris")
    assert qa.judge_response(golds=["Paris"], response="Paris").reason is Reason.NO_ANSWER


def test_unusable_golds_are_never_a_zero() -> None:
    for golds in ([], [""], [" "]):
        assert qa.judge(golds=golds, answer="x").failed
        assert qa.check_gold(golds)
    assert qa.check_gold(["A", "the"]) is None


def test_a_clause_may_follow_yes_and_no() -> None:
    for answer in ("No - it is", "no, it is", "No: it is not", "No."):
        assert qa.judge(golds=["no"], answer=answer).correct
        assert not qa.judge(golds=["yes"], answer=answer).correct


# Hand-computed: gold, answer, then em, sub_em, f1, cover_em, set_f1.
METRICS = [
    ("Paris", "paris", 1, 1, 1, 1, 1), ("Paris", "The Paris.", 1, 1, 1, 1, 2 / 3), ("Paris", "London", 0, 0, 0, 0, 0),
    ("Paris", "Paris Paris Paris", 0, 1, 0.5, 1, 1), ("Paris", "in Paris", 0, 1, 2 / 3, 1, 2 / 3),
    ("New York", "New York City", 0, 1, 0.8, 1, 0.8), ("New York", "York New", 0, 0, 1, 1, 1),
    ("art", "smart", 0, 1, 0, 0, 0), ("Niger", "Nigeria", 0, 1, 0, 0, 0), ("3.14", "314", 1, 1, 1, 1, 0),
    ("1.5", "15", 1, 1, 1, 1, 0), ("-5", "5", 1, 1, 1, 1, 1), ("C++", "C#", 1, 1, 1, 1, 1), ("1", "21", 0, 1, 0, 0, 0),
    ("A", "B", 0, 1, 0, 0, 0), ("A", "A", 1, 1, 0, 0, 1), ("Vitamin A", "Vitamin", 1, 1, 1, 1, 2 / 3),
    ("Mark Twain", "not Mark Twain", 0, 1, 0.8, 1, 0.8), ("yes", "yes", 1, 1, 1, 1, 1),
    ("no", "I do not know", 0, 1, 0, 0, 0), ("Spider-Man", "Spider Man", 0, 0, 0, 0, 1),
    ("Spider-Man", "Spiderman", 1, 1, 1, 1, 0), ("AC/DC", "AC DC", 0, 0, 0, 0, 1),
    ("Beyoncé", "Beyonce", 0, 0, 0, 0, 0), ("the cat", "a cat", 1, 1, 1, 1, 0.5),
    ("dog bites man", "man bites dog", 0, 0, 1, 1, 1), ("red white blue", "red white", 0, 0, 0.8, 0, 0.8),
    ("x", "", 0, 0, 0, 0, 0), ("a b c d", "b c", 0, 0, 0.8, 0, 2 / 3), ("Yahoo!", "Yahoo", 1, 1, 1, 1, 1),
    ("two three", "two four", 0, 0, 0.5, 0, 0.5),
]  # fmt: skip


@pytest.mark.parametrize("row", METRICS, ids=lambda row: f"{row[0]}|{row[1]}")
def test_published_metrics_equal_hand_computed_values(row: tuple[str, str, float]) -> None:
    gold, answer, *values = row
    assert [metric([gold], answer) for metric in qa.METRICS.values()] == pytest.approx(values)


def test_the_best_gold_counts() -> None:
    for metric in qa.METRICS.values():
        assert metric(["London", "Paris"], "Paris") == 1
        assert metric([], "Paris") == 0
