"""Decisions add up to labels: the last one counts, undone ones never happened, renamed classes keep their images."""

from dataclasses import replace

from grande_gnn.labelling.corrections import MARK, Mark, apply_decisions, n_pending, standing
from grande_gnn.labelling.decisions import Decision

GIVEN = {"1": "cat", "2": "dog", "3": "cat"}


def numbered(*decisions):
    return [replace(d, id=i, time=f"t{i}") for i, d in enumerate(decisions, 1)]


def after(*decisions, given=GIVEN):
    return apply_decisions(numbered(*decisions), given)


def label(file, name):
    return Decision("label", (file,), name)


def test_the_last_decision_about_an_image_counts():
    state = after(label("4", "cat"), label("4", "dog"), label("1", "dog"))
    assert state.given == {"1": "dog", "2": "dog", "3": "cat", "4": "dog"}
    assert state.marks["4"] == Mark("dog", "corrected", "t2")
    assert [state.provenance(file) for file in "1235"] == [
        ("corrected", "t3"), ("given", ""), ("given", ""), ("predicted", "")
    ]  # fmt: skip


def test_undone_decisions_never_happened_and_an_undone_undo_neither():
    one, two = label("1", "dog"), label("1", "elk")
    assert after(one, two, Decision("undo", of=2)).given["1"] == "dog"
    assert after(one, two, Decision("undo", of=2), Decision("undo", of=1)).given == GIVEN
    redone = after(one, Decision("undo", of=1), Decision("undo", of=2))
    assert redone.given["1"] == "dog"
    assert [d.id for d in standing(numbered(one, two, Decision("undo", of=1)))] == [2]


def test_none_of_these_withdraws_a_label():
    state = after(Decision("none", ("1", "9")))
    assert state.given == {"2": "dog", "3": "cat"}
    assert state.rejected == {"1", "9"}
    assert after(Decision("none", ("1",)), label("1", "dog")).rejected == set()


def test_a_skipped_image_is_skipped_until_it_is_decided():
    assert after(Decision("skip", ("4", "5")), label("4", "cat")).skipped == {"5"}
    assert after(Decision("skip", ("4",))).given == GIVEN


def test_a_renamed_class_keeps_its_images_and_its_name_can_be_used_again():
    state = after(label("4", "cat"), Decision("rename", old="cat", label="tiger"))
    assert state.given == {"1": "tiger", "2": "dog", "3": "tiger", "4": "tiger"}
    assert state.name("cat") == "tiger"
    again = after(Decision("rename", old="cat", label="tiger"), label("5", "cat"))
    assert again.given == {"1": "tiger", "2": "dog", "3": "tiger", "5": "cat"}
    assert again.name("cat") == "cat"
    back = after(Decision("rename", old="cat", label="tiger"), Decision("rename", old="tiger", label="cat"))
    assert (back.given, back.name("cat"), back.name("tiger")) == (GIVEN, "cat", "cat")


def test_a_merged_class_gives_its_images_to_the_other():
    state = after(label("4", "elk"), Decision("merge", old="elk", label="dog"))
    assert state.given == {**GIVEN, "4": "dog"}
    assert state.new_classes == []
    assert after(label("4", "elk"), label("5", "yak")).new_classes == ["elk", "yak"]


def test_names_chain_through_several_renames():
    state = after(Decision("rename", old="cat", label="b"), Decision("rename", old="b", label="c"))
    assert (state.name("cat"), state.name("b"), state.name("c")) == ("c", "c", "c")


def test_the_journal_knows_the_labels_that_were_given_before():
    start = Decision("start", given={"1": "cat", "7": "dog"})
    state = after(start, label("8", "cat"), given={"1": "something else"})
    assert state.given == {"1": "cat", "7": "dog", "8": "cat"}
    renamed = after(start, Decision("rename", old="cat", label="x"), Decision("start", given={"9": "cat"}))
    assert renamed.given == {"9": "x"}
    assert after(start).last is None


def test_judgments_of_an_audit_are_labels_only_after_it():
    start, judge = Decision("audit-start", ("4", "5", "1"), population=9), Decision("audit", ("4",), "dog")
    during = after(start, judge)
    assert during.given == GIVEN
    assert during.audit.judged == {"4": "dog"}
    over = after(start, judge, Decision("audit", ("5",), ""), Decision("audit-end", ("4",)))
    assert over.given == {**GIVEN, "4": "dog"}
    assert over.rejected == {"5"}
    assert over.audited == {"4", "5"}
    assert over.provenance("4") == ("audited", "t2")
    assert over.audit.is_over
    assert over.audit.right == {"4"}
    assert after(judge).audit is None


def test_what_the_files_do_not_show_yet_is_pending():
    made = [label("1", "dog"), label("2", "elk"), Decision("skip", ("3",))]
    assert n_pending(numbered(*made), {}) == 2
    assert n_pending(numbered(*made), {MARK: 1}) == 1
    assert n_pending(numbered(*made), {MARK: 3}) == 0


def test_undoing_what_the_files_show_is_pending():
    made = [label("1", "dog"), Decision("skip", ("3",))]
    undone = [*made, Decision("undo", of=1)]
    assert n_pending(numbered(*undone), {MARK: 2}) == 1
    assert n_pending(numbered(*undone), {MARK: 3}) == 0
    assert n_pending(numbered(*undone), {}) == 0  # made and undone since: nothing is missing
    assert n_pending(numbered(*made, Decision("undo", of=2)), {MARK: 2}) == 0  # the files show no skipping
    assert n_pending(numbered(*undone, Decision("undo", of=3)), {MARK: 3}) == 1  # it counts again
