"""What stands in for embeddings."""

import subprocess
import sys

import numpy as np
import pytest

from toolenvs.errors import ConfigError
from toolenvs.tasks.task import Task
from toolenvs.train.selectors._features import features, terms


def test_numbers_count_by_their_digits_and_pairs_by_their_order():
    assert terms("Add 12 and 345!") == {
        "add": 1, "#2": 1, "and": 1, "#3": 1, "!": 1,
        "add #2": 1, "#2 and": 1, "and #3": 1, "#3 !": 1,
        "length 3": 1,
    }  # fmt: skip


def test_like_questions_are_nearer_than_unlike_ones(make_tasks):
    made = features(list(make_tasks(4, ["Add 12 and 34.", "Add 56 and 78.", "Who wrote Hamlet?", "¿Quién?"])))
    near = made @ made.T
    assert np.diag(near) == pytest.approx(np.ones(4), abs=1e-6)
    assert near[0, 1] > 0.99
    assert abs(near[0, 2]) < 0.3


def test_an_empty_question_and_one_of_signs_have_vectors_too():
    made = features([Task(id="a", question=""), Task(id="b", question="∑∑∑ 🙂")])
    assert np.isfinite(made).all()


def test_features_are_the_same_in_every_process(make_tasks):
    program = (
        "from toolenvs.tasks.rows import from_rows\nfrom toolenvs.train.selectors._features import features\n"
        "rows = [{'id': f't{i}', 'question': q, 'answer': '1'} for i, q in enumerate(['Add 12 and 34.', 'Who?'])]\n"
        "print(features(list(from_rows(rows))).nonzero()[1].tolist())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    made = features(list(make_tasks(2, ["Add 12 and 34.", "Who?"])))
    assert ran.stdout.strip() == str(made.nonzero()[1].tolist())


def test_a_column_of_embeddings_goes_before_the_text(make_tasks):
    made = features(list(make_tasks(3, embedding=[[3, 4], [0, 2], [0, 0]])))
    assert made == pytest.approx(np.array([[0.6, 0.8], [0, 1], [0, 0]]))


def test_embeddings_that_do_not_fit_are_refused(make_tasks):
    with pytest.raises(ConfigError, match="task 't1' has no column 'embedding'"):
        features(list(make_tasks(2, embedding=[[1.0], None])))
    with pytest.raises(ConfigError, match="no vectors of one length"):
        features(list(make_tasks(2, embedding=[[1.0], [1.0, 2.0]])))
    with pytest.raises(ConfigError, match="one list of finite numbers"):
        features(list(make_tasks(2, embedding=[1.0, 2.0])))
