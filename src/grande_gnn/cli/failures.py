"""What the system refuses or stops, as one sentence and an exit status: files, memory, encodings, signals."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from grande_gnn.cli.terminal import plain
from grande_gnn.errors import GrandeError

__all__ = ["Stopped", "one_sentence", "printable"]

_AGAIN = "what was finished is kept, run the same command again to go on"


class Terminated(BaseException):
    """SIGTERM, raised so that temporary files are removed on the way out."""


class Stopped(click.ClickException):
    """A command that a signal ended; the exit status is 128 + the number of the signal, as in a shell."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(f"stopped by {number.name}: {_AGAIN}")
        self.exit_code = 128 + number  # type: ignore[misc]


@contextmanager
def one_sentence() -> Iterator[None]:
    """Raise errors of this package, of the system and of the user's signals as click's exceptions, in one line."""
    try:
        with _terminable():
            yield
    except BrokenPipeError:
        raise  # click ends quietly when nobody reads the output any more
    except (GrandeError, OSError, MemoryError, UnicodeError, LookupError, RuntimeError) as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        raise click.ClickException(plain(" ".join(sentence.split()))) from error
    except KeyboardInterrupt as error:
        raise Stopped(signal.SIGINT) from error
    except Terminated as error:
        raise Stopped(signal.SIGTERM) from error


def _sentence(error: Exception) -> str | None:
    """The line for the user; None for an error that only a bug explains."""
    if isinstance(error, GrandeError):
        return str(error)
    if isinstance(error, OSError):
        return (
            "a file or folder could not be used (full disk, no permission, a file where a folder should be?): "
            f"check it and run the command again; got {error}"
        )
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # torch raises RuntimeError
        reason = str(error).splitlines()[0] if str(error) else "no more from the system"
        return f"the memory is not enough: use fewer images, features or --workers; got {reason}"
    if isinstance(error, UnicodeError):
        return f"a name or text is not in the expected encoding: rename or convert it; got {error}"
    if type(error) is LookupError:  # of codecs; KeyError and IndexError are bugs
        return f"this Python lacks a part of its standard library: install a complete one; got {error}"
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return f"the limit of processes or threads is reached: raise it (ulimit -u) or use fewer --workers; got {error}"
    return None


@contextmanager
def _terminable() -> Iterator[None]:
    """Inside the block SIGTERM is an exception in this process; the processes it starts end at once, as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    owner = os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() == owner:
            raise Terminated
        os._exit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def printable() -> None:
    """Let names that are not Unicode be printed with their bytes as ``\\xff``, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
