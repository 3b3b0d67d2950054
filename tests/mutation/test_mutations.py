"""The list of mutations fits the code: each applies to its file, and the tests that it names exist."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


def load_runner():
    spec = importlib.util.spec_from_file_location("mutation_run", Path(__file__).with_name("run.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


runner = load_runner()
MUTATIONS = runner.read_mutations()


def test_ids_are_unique():
    repeated = [name for name, count in Counter(m.id for m in MUTATIONS).items() if count > 1]
    assert not repeated
    assert len(MUTATIONS) >= 261


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.id)
def test_applies_to_the_code(mutation):
    assert not runner.is_moved(mutation), f"its text is not in {mutation.file} exactly once: {mutation.old}"
    assert mutation.old != mutation.new


@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if m.file.endswith(".py")], ids=lambda m: m.id)
def test_the_code_with_the_bug_can_be_compiled(mutation):
    """Otherwise every test would fail, and none of them because of what the bug does."""
    text = mutation.path(PROJECT).read_text("utf-8")
    assert compile(mutation.applied_to(text), mutation.file, "exec")


def test_the_named_tests_exist():
    named = {test.partition("::")[0] for mutation in MUTATIONS for test in mutation.tests}
    assert not [path for path in sorted(named) if not (PROJECT / path).exists()]
    assert all(mutation.tests for mutation in MUTATIONS)


def mutation_of(old, new, nth=None):
    return runner.Mutation("id", "file.py", old, new, ("tests",), "note", killed_before=True, nth=nth)


def test_one_occurrence_is_replaced():
    assert mutation_of("b", "x").applied_to("abc") == "axc"
    assert mutation_of("b", "x", nth=1).applied_to("b b b") == "b x b"
    assert mutation_of("b", "x").applied_to("b b") is None
    assert mutation_of("b", "x", nth=2).applied_to("b b") is None
    assert mutation_of("b", "x").applied_to("") is None


@pytest.fixture
def project(tmp_path):
    """A project of one function with one test."""
    package = tmp_path / "src" / "grande_gnn"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "file.py").write_text("def double(x):\n    return x + x  # and no more\n")
    (tmp_path / "tests.py").write_text(
        "from grande_gnn.file import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "tests", "state"),
    [
        ("x + x", "x - x", "tests.py", "killed"),
        ("and no", "or", "tests.py", "survived"),
        ("x * x", "x - x", "tests.py", "moved"),
        ("x + x", "x - x", "nowhere.py", "unclear"),
        ("def double", "def treble", "tests.py", "unclear"),
    ],
)
def test_states(project, old, new, tests, state):
    mutation = runner.Mutation("id", "file.py", old, new, (tests,), "note", killed_before=True)
    before = (project / "src" / "grande_gnn" / "file.py").read_text()
    assert runner.state_of(mutation, project, seconds=120)[0] == state
    assert (project / "src" / "grande_gnn" / "file.py").read_text() == before


def test_an_import_that_fails_in_one_of_two_files_is_unclear(project):
    (project / "other.py").write_text("def test_nothing():\n    pass\n")
    mutation = runner.Mutation(
        "id", "file.py", "def double", "def treble", ("tests.py", "other.py"), "note", killed_before=True
    )
    assert runner.state_of(mutation, project, seconds=120)[0] == "unclear"


def test_tests_that_fail_anyway_stop_the_run_or_are_left_out(project, capsys):
    test = project / "tests.py"
    test.write_text(test.read_text() + "\n\ndef test_wrong():\n    assert double(1) == 3\n")
    (project / "broken.py").write_text("import nowhere_to_be_found\n")
    outcomes = {name: runner.run_tests([name], project, 120) for name in ("tests.py", "broken.py")}
    with pytest.raises(SystemExit):
        runner.failing_anyway(outcomes, leave_out=False)
    left_out = runner.failing_anyway(outcomes, leave_out=True)
    assert left_out == ["broken.py", "tests.py::test_wrong"]
    assert "tests.py::test_wrong" in capsys.readouterr().err

    def state(old, new, *tests):
        mutation = runner.Mutation("id", "file.py", old, new, tests, "note", killed_before=True)
        found, outcome = runner.state_of(mutation, project, 120, left_out)
        return found, outcome.failed

    assert state("and no", "or", "broken.py", "tests.py") == ("survived", ())
    assert state("x + x", "x - x", "broken.py", "tests.py") == ("killed", ("tests.py::test_double",))
    assert state("x + x", "x - x", "broken.py") == ("unclear", ())


def test_an_equivalent_mutation_has_a_reason_and_is_not_tried():
    marked = [mutation for mutation in MUTATIONS if mutation.equivalent]
    assert len(marked) <= 10
    assert all(len(mutation.equivalent.split()) > 5 for mutation in marked)


def test_states_that_are_known_are_read_again(tmp_path):
    out = tmp_path / "states.jsonl"
    assert runner.known_states(None) == runner.known_states(out) == {}
    mutation = mutation_of("a", "b")
    out.write_text(
        runner.row_of(mutation, "killed", runner.Outcome(1, ("tests.py::test",), "assert 1 == 2")) + "\n"
    )
    assert runner.known_states(out) == {"id": "killed"}
    assert '"by": "tests.py::test"' in out.read_text()


@pytest.mark.parametrize(
    ("state", "killed_before", "status"),
    [
        ("killed", True, 0),
        ("survived", True, 1),
        ("unclear", True, 1),
        ("survived", False, 0),
        ("unclear", False, 0),
        ("killed", False, 0),
        ("moved", False, 1),
        ("applies", True, 0),
    ],
)
def test_what_got_worse_fails(state, killed_before, status, capsys):
    mutation = runner.Mutation("id", "file.py", "a", "b", ("tests",), "note", killed_before)
    assert runner.summarize([mutation], {"id": state}) == status
    assert state in capsys.readouterr().out
