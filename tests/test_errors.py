"""Every error of this package is also the standard exception a caller would expect."""

import pytest

from grande_gnn import errors


@pytest.mark.parametrize(
    ("name", "standard"),
    [
        ("InvalidInputError", ValueError),
        ("InvalidTypeError", ValueError),
        ("InvalidTypeError", TypeError),
        ("FileFormatError", ValueError),
        ("OutputExistsError", FileExistsError),
        ("MissingDependencyError", ImportError),
        ("NotEnoughMemoryError", MemoryError),
        ("TrainingDivergedError", ArithmeticError),
    ],
)
def test_can_be_caught_both_ways(name, standard):
    error = getattr(errors, name)("what, why, what to do; got this")
    assert isinstance(error, errors.GrandeError)
    assert isinstance(error, standard)
    assert str(error) == "what, why, what to do; got this"


def test_every_public_error_is_in_the_table_above():
    assert len(errors.__all__) == 8
