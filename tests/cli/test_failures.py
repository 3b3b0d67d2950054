"""What the system refuses is one sentence with a status; a bug keeps its traceback."""

import errno
import io
import os
import signal
import sys
import time

import click
import pytest

from grande_gnn.cli.failures import Stopped, one_sentence, printable
from grande_gnn.errors import InvalidInputError

REFUSED = {
    "package": (InvalidInputError("too\nwide; got 3"), "too wide; got 3"),
    "disk": (OSError(errno.ENOSPC, "No space left on device", "f.npz"), "full disk.*got .*No space left.*f.npz"),
    "kind": (NotADirectoryError(errno.ENOTDIR, "Not a directory", "a/b"), "a file where a folder should be"),
    "processes": (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "temporarily unavailable"),
    "memory": (MemoryError(), "memory is not enough.*got no more from the system"),
    "torch": (RuntimeError("DefaultCPUAllocator: can't allocate memory: 5 bytes\nmore"), "is not enough.*5 bytes$"),
    "name": (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"), "rename or convert it; got"),
    "codec": (LookupError("unknown encoding: cp437"), "install a complete one; got unknown encoding"),
    "threads": (RuntimeError("can't start new thread"), "fewer --workers; got can't start new thread"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_system_refuses_is_one_sentence(name):
    error, words = REFUSED[name]
    with pytest.raises(click.ClickException, match=words) as caught, one_sentence():
        raise error
    assert caught.value.exit_code == 1
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("error", [KeyError("a"), IndexError(3), RuntimeError("a bug"), TypeError("a bug")])
def test_a_bug_keeps_its_traceback(error):
    with pytest.raises(type(error)), one_sentence():
        raise error


def test_a_closed_pipe_is_left_to_click():
    with pytest.raises(BrokenPipeError), one_sentence():
        raise BrokenPipeError


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_one_sentence_and_its_status(number, status):
    before = signal.getsignal(signal.SIGTERM)
    cleaned = []

    @one_sentence()
    def work():
        try:
            signal.raise_signal(number)  # to this thread: another one would not interrupt it
            time.sleep(10)
        finally:
            cleaned.append(True)

    # A process that was started in the background may ignore SIGINT.
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(Stopped, match=f"stopped by {number.name}: what was finished is kept") as caught:
            work()
    finally:
        signal.signal(signal.SIGINT, interrupt)
    assert caught.value.exit_code == status
    assert cleaned
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_child_process_ends_at_once_when_it_is_terminated():
    with one_sentence():
        child = os.fork()
        if not child:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 143


def test_names_that_are_not_unicode_are_printed(monkeypatch):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8"))
    printable()
    click.echo(os.fsdecode(b"a\xff.png"))
    sys.stdout.flush()
    assert out.getvalue() == b"a\\udcff.png\n"
