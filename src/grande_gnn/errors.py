"""The exceptions of this package.

Each inherits :class:`GrandeError` *and* the standard exception a caller would
expect, so ``except ValueError`` keeps working. Messages say what is wrong, why
it is likely so, and what to do; the command line prints them as one sentence.
"""

__all__ = [
    "FileFormatError",
    "GrandeError",
    "InvalidInputError",
    "MissingDependencyError",
    "NotEnoughMemoryError",
    "OutputExistsError",
]


class GrandeError(Exception):
    """Root of all errors raised on purpose by this package."""


class InvalidInputError(GrandeError, ValueError):
    """An argument, array or label set that cannot be used."""


class FileFormatError(InvalidInputError):
    """A file that is unreadable or does not hold what was expected."""


class OutputExistsError(GrandeError, FileExistsError):
    """An output path that exists and was not to be overwritten."""


class MissingDependencyError(GrandeError, ImportError):
    """An optional dependency that is not installed; the message has the pip line."""


class NotEnoughMemoryError(GrandeError, MemoryError):
    """A problem whose smallest piece does not fit the memory budget."""
