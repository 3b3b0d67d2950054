"""The journal keeps every decision that it called written, whatever happens to the process or the file."""

import json
import multiprocessing
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grande_gnn.errors import FileFormatError, GrandeError, InvalidInputError
from grande_gnn.labelling import decisions
from grande_gnn.labelling.decisions import KINDS, Decision, Journal, check_class_name

ONE = Decision("label", ("a.jpg",), "cat")
EXAMPLES = [
    Decision("start", given={"a.jpg": "cat"}),
    ONE,
    Decision("none", ("a.jpg", "b.jpg")),
    Decision("skip", ("a.jpg",)),
    Decision("rename", old="cat", label="dog"),
    Decision("merge", old="cat", label="dog"),
    Decision("audit-start", ("a.jpg",), population=7),
    Decision("audit-start", ("a.jpg",), population=7, expected=0.875),
    Decision("audit", ("a.jpg",), ""),
    Decision("audit-end", ("a.jpg",)),
    Decision("undo", of=2),
]


def test_what_is_appended_is_read_again_in_order(tmp_path):
    journal = Journal(tmp_path)
    written = [journal.append(decision) for decision in EXAMPLES]
    assert {decision.kind for decision in EXAMPLES} == set(KINDS)
    assert [decision.id for decision in written] == list(range(1, len(EXAMPLES) + 1))
    assert Journal(tmp_path).decisions == journal.decisions == written
    lines = journal.path.read_text("ascii").splitlines()
    assert all(json.loads(line)["schema"] == 1 and json.loads(line)["time"] for line in lines)


@pytest.mark.parametrize(
    "name", ["été/空.jpg", "bytes \udcff.jpg", 'quote".jpg', "line\nbreak.jpg", "</script>"]
)
def test_any_file_name_and_class_survives(tmp_path, name):
    Journal(tmp_path).append(Decision("label", (name,), name))
    (again,) = Journal(tmp_path).decisions
    assert (again.files, again.label) == ((name,), name)


def test_a_decision_is_on_the_disk_before_append_returns(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_size), real(handle)))
    journal = Journal(tmp_path)
    journal.append(ONE)
    assert journal.path.stat().st_size in synced


@pytest.mark.parametrize("keep", [1, 20, -2, -1])
def test_an_unfinished_last_line_is_ignored_and_then_removed(tmp_path, keep):
    journal = Journal(tmp_path)
    journal.append(ONE)
    whole = journal.path.read_bytes()
    torn = Decision("none", ("b.jpg",), id=2, time="now").line()[:keep]
    journal.path.write_bytes(whole + torn)
    again = Journal(tmp_path)
    assert [d.kind for d in again.decisions] == ["label"]
    assert again.problems == []
    assert again.append(Decision("skip", ("c.jpg",))).id == 2
    assert [d.kind for d in Journal(tmp_path).decisions] == ["label", "skip"]
    assert journal.path.read_bytes().startswith(whole)


@pytest.mark.parametrize(
    "line",
    [b"nonsense", b"[1]", b'{"kind":"explode"}', b'{"kind":["label"]}', b"\xff\xfe", b"[" * 100_000,
     b'{"schema":1,"id":true,"time":"","kind":"none","files":[]}',
     b'{"schema":1,"id":3,"time":"","kind":"none","files":[1]}',
     b'{"schema":1,"id":3,"time":"","kind":"label","files":["a"]}',
     b'{"schema":1,"id":3,"time":"","kind":"start","given":{"a":1}}'],
)  # fmt: skip
def test_a_line_that_is_no_decision_is_reported_kept_and_ignored(tmp_path, line):
    journal = Journal(tmp_path)
    journal.append(ONE)
    with journal.path.open("ab") as file:
        file.write(line + b"\n")
    again = Journal(tmp_path)
    again.append(ONE)
    assert [d.kind for d in again.decisions] == ["label", "label"]
    assert len(again.problems) == 1
    assert "line 2" in again.problems[0]
    assert line in journal.path.read_bytes()


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_harm(tmp_path_factory, noise):
    folder = tmp_path_factory.mktemp("noise")
    good = Decision("none", ("b.jpg",), id=7, time="now").line()
    (folder / decisions.FILE_NAME).write_bytes(good + noise)
    journal = Journal(folder)
    written = journal.append(ONE)
    assert journal.decisions[0].id == 7
    assert Journal(folder).decisions[-1] == written


@pytest.mark.parametrize("value", ["0.5", None, True, -0.1, 1.1, [0.5]])
def test_an_expected_accuracy_is_a_share(value):
    content = {"schema": 1, "id": 1, "time": "", "kind": "audit-start", "files": [], "population": 3}
    assert Decision.from_line(json.dumps(content).encode()).expected is None
    assert Decision.from_line(json.dumps(content | {"expected": 1}).encode()).expected == 1.0
    with pytest.raises(ValueError, match="expected"):
        Decision.from_line(json.dumps(content | {"expected": value}).encode())


def test_a_newer_schema_is_refused(tmp_path):
    (tmp_path / decisions.FILE_NAME).write_bytes(b'{"schema":2,"kind":"label"}\n')
    with pytest.raises(FileFormatError, match=r"newer version.*got schema 2"):
        Journal(tmp_path)


def test_a_line_without_end_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(decisions, "MAX_LINE", 100)
    (tmp_path / decisions.FILE_NAME).write_bytes(b"x" * 101)
    with pytest.raises(FileFormatError, match="more than 100 bytes in line 1"):
        Journal(tmp_path)
    monkeypatch.setattr(decisions, "MAX_FILE", 50)
    with pytest.raises(FileFormatError, match="too large"):
        Journal(tmp_path)


def test_a_full_disk_loses_nothing_and_says_so(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    journal.append(ONE)
    before = journal.path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GrandeError, match=r"could not be written.*No space left"):
        journal.append(Decision("none", ("b.jpg",)))
    assert journal.path.read_bytes() == before
    monkeypatch.undo()
    assert journal.append(ONE).id == 2


def test_two_journals_of_one_file_see_each_other(tmp_path):
    one, other = Journal(tmp_path), Journal(tmp_path)
    one.append(ONE)
    assert other.append(Decision("none", ("b.jpg",))).id == 2
    assert one.refresh()
    assert not one.refresh()
    assert one.decisions == other.decisions


def _append_many(folder, n):
    journal = Journal(folder)
    for _ in range(n):
        journal.append(ONE)


def test_several_processes_write_whole_lines_with_different_numbers(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_append_many, args=(tmp_path, 25)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    journal = Journal(tmp_path)
    assert journal.problems == []
    assert [decision.id for decision in journal.decisions] == list(range(1, 76))


def test_a_writer_waits_while_another_process_holds_the_journal(tmp_path):
    fcntl = pytest.importorskip("fcntl", reason="Windows has no such lock")
    journal = Journal(tmp_path)
    written = []
    with journal.path.open("ab") as file:  # a second open file locks as another process would
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        waiting = threading.Thread(target=lambda: written.append(journal.append(ONE)))
        waiting.start()
        waiting.join(0.2)
        assert written == []
        file.write(Decision("none", ("b.jpg",), id=1, time="now").line())
        file.flush()
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
    waiting.join(60)
    assert [decision.id for decision in written] == [2]
    assert [decision.kind for decision in Journal(tmp_path).decisions] == ["none", "label"]


def test_a_journal_that_was_replaced_is_read_anew(tmp_path):
    journal = Journal(tmp_path)
    journal.append(ONE)
    journal.append(ONE)
    journal.path.unlink()
    assert journal.refresh()
    assert journal.decisions == []
    Journal(tmp_path).append(Decision("none", ("b.jpg",)))
    journal.refresh()
    assert [d.kind for d in journal.decisions] == ["none"]


@pytest.mark.parametrize("name", ["", "  ", 7, None, "a\nb", "x" * 201, "\x00"])
def test_class_names_must_be_printable_and_short(name):
    with pytest.raises(InvalidInputError, match="got"):
        check_class_name(name)


def test_spaces_around_a_class_name_do_not_count():
    assert check_class_name("  été 空 ") == "été 空"
