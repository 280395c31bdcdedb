"""What lint asks of the words of an exercise."""

from dataclasses import replace

import pytest

from proctor import Exercise
from qkv import exercises
from qkv.authoring.write.lint import without


def test_what_is_forbidden_stands_in_the_docstring():
    softmax = exercises.get_code("softmax")
    assert list(without(softmax)) == []

    def silent(x):
        """The result (n,)."""

    families = [replace(softmax.forbid[0], title="torch's own loop")]
    exercise = Exercise(silent, section="Lines", hints=["Think."], forbid=families)
    assert list(without(exercise)) == [
        'the docstring does not say what is forbidden: "To be written without torch\'s own loop."'
    ]


@pytest.mark.parametrize("name", exercises.of_code())
def test_it_does_in_every_exercise(name):
    assert list(without(exercises.get_code(name))) == []
