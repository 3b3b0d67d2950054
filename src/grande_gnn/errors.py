"""The exceptions of this package.

Each inherits from :class:`GrandeError` *and* from the standard exception that a caller would expect, so that
``except ValueError`` keeps working. Messages say what is wrong, why it is likely so, and what to do; the command line
prints them as one sentence.
"""

__all__ = [
    "FileFormatError",
    "GrandeError",
    "InvalidInputError",
    "InvalidTypeError",
    "MissingDependencyError",
    "NotEnoughMemoryError",
    "OutputExistsError",
    "TrainingDivergedError",
]


class GrandeError(Exception):
    """Base class of all errors that this package raises on purpose."""


class InvalidInputError(GrandeError, ValueError):
    """An argument, array or label set that cannot be used."""


class InvalidTypeError(InvalidInputError, TypeError):
    """A value of a type that cannot be used, such as a dictionary among numbers."""


class FileFormatError(InvalidInputError):
    """A file that cannot be read or does not contain what was expected."""


class OutputExistsError(GrandeError, FileExistsError):
    """An output path that exists and must not be overwritten."""


class MissingDependencyError(GrandeError, ImportError):
    """An optional dependency that is not installed; the message contains the pip command."""


class NotEnoughMemoryError(GrandeError, MemoryError):
    """A problem of which not even the smallest part fits the memory limit."""


class TrainingDivergedError(GrandeError, ArithmeticError):
    """A training whose weights became infinite or NaN."""
