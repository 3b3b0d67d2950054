"""What the decisions of a review add up to: the labels to train with, and where each of them comes from.

Decisions are applied in their order, without those that were undone. A renamed class keeps its images; a merged one gives
them to another. What is judged in an audit counts as a label only when the audit has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from grande_gnn.labelling.decisions import Decision

__all__ = ["MARK", "PROVENANCES", "Audit", "Corrections", "Mark", "apply_decisions", "n_pending", "standing"]

MARK = "corrections"
"""The entry of ``settings.json`` that tells how many decisions the files of a folder include."""

GIVEN, CORRECTED, AUDITED, PREDICTED = "given", "corrected", "audited", "predicted"
PROVENANCES = (GIVEN, CORRECTED, AUDITED, PREDICTED)
"""Where a label comes from: given before the review, decided in it, judged in an audit, or predicted."""


@dataclass(frozen=True)
class Mark:
    """A decision about one image: its label (``""``: none of the classes), its provenance and its time."""

    label: str
    provenance: str
    time: str


@dataclass
class Audit:
    """A random sample in the order in which it is judged, and the judgments so far (file to label)."""

    files: tuple[str, ...]
    population: int
    expected: float | None = None
    """The accuracy that was expected before anything was judged."""
    judged: dict[str, str] = field(default_factory=dict)
    times: dict[str, str] = field(default_factory=dict)
    is_over: bool = False
    right: frozenset[str] = frozenset()
    """The images whose label was right when the audit ended."""


@dataclass
class Corrections:
    """The state after all decisions."""

    original: dict[str, str]
    """The labels given before the review, with the present names of their classes."""
    marks: dict[str, Mark] = field(default_factory=dict)
    """The latest decision about each image."""
    skipped: set[str] = field(default_factory=set)
    """Images that somebody skipped and nobody has decided since."""
    renamed: dict[str, str] = field(default_factory=dict)
    """The present name of each class that was renamed or merged."""
    new_classes: list[str] = field(default_factory=list)
    """Classes that only decisions name, in the order of their first use."""
    audit: Audit | None = None
    """The latest audit."""
    audited: set[str] = field(default_factory=set)
    """Images of audits that have ended."""
    last: Decision | None = None
    """The latest decision that can be undone."""

    @property
    def given(self) -> dict[str, str]:
        """The labels to train with: file to label."""
        labels = self.original | {file: mark.label for file, mark in self.marks.items()}
        return {file: label for file, label in labels.items() if label}

    @property
    def rejected(self) -> set[str]:
        """Images that belong to none of the classes."""
        return {file for file, mark in self.marks.items() if not mark.label}

    def name(self, label: str) -> str:
        """The present name of a class."""
        return self.renamed.get(label, label)

    def provenance(self, file: str) -> tuple[str, str]:
        """Where the label of a file comes from, and when it was decided (``""`` if not in a review)."""
        if file in self.marks:
            return self.marks[file].provenance, self.marks[file].time
        return (GIVEN if file in self.original else PREDICTED), ""


def standing(decisions: Iterable[Decision]) -> list[Decision]:
    """The decisions that count: those not undone, without the undoing ones. An undone undo counts as never made."""
    undone: set[int] = set()
    kept = []
    for decision in reversed(list(decisions)):
        if decision.id in undone:
            continue
        if decision.kind == "undo":
            undone.add(decision.of)
        else:
            kept.append(decision)
    return kept[::-1]


def n_pending(decisions: Sequence[Decision], settings: Mapping[str, object]) -> int:
    """How many decisions about images and classes the files with these settings do not include yet.

    A decision that the files include and that was undone since counts too: they are not without it yet.
    """
    mark = settings.get(MARK, 0)
    known = mark if isinstance(mark, int) else 0
    before = _changing(decision for decision in decisions if decision.id <= known)
    return len(before ^ _changing(decisions))


def _changing(decisions: Iterable[Decision]) -> set[int]:
    """The numbers of the decisions that count and change what the files hold."""
    return {d.id for d in standing(decisions) if d.kind in _EFFECTS and d.kind != "skip"}


def apply_decisions(decisions: Sequence[Decision], given: Mapping[str, str]) -> Corrections:
    """The state after the decisions; ``given`` are the earlier labels if the journal does not name them itself."""
    counting = standing(decisions)
    starts = [decision for decision in counting if decision.kind == "start"]
    original = dict(starts[-1].given if starts else given)
    state = Corrections({file: label for file, label in original.items() if label})
    for decision in counting:
        if decision.kind in _EFFECTS:
            _EFFECTS[decision.kind](state, decision)
            state.last = decision
    return state


def _label(state: Corrections, decision: Decision) -> None:
    for file in decision.files:
        state.marks[file] = Mark(decision.label, CORRECTED, decision.time)
        state.skipped.discard(file)
    state.renamed.pop(decision.label, None)  # a class of this name exists again
    known = {*state.original.values(), *state.new_classes}
    if decision.label and decision.label not in known:
        state.new_classes.append(decision.label)


def _skip(state: Corrections, decision: Decision) -> None:
    state.skipped.update(decision.files)


def _rename(state: Corrections, decision: Decision) -> None:
    old, new = decision.old, decision.label
    for labels in (state.original, state.renamed):
        labels.update({key: new for key, label in labels.items() if label == old})
    state.renamed[old] = new
    state.renamed.pop(new, None)  # the name is in use again
    for file, mark in state.marks.items():
        if mark.label == old:
            state.marks[file] = Mark(new, mark.provenance, mark.time)
    if state.audit is not None:
        state.audit.judged.update({f: new for f, label in state.audit.judged.items() if label == old})
    names = [new if name == old else name for name in state.new_classes]
    state.new_classes = [name for name in dict.fromkeys(names) if name not in state.original.values()]


def _audit_start(state: Corrections, decision: Decision) -> None:
    state.audit = Audit(decision.files, decision.population, decision.expected)


def _audit(state: Corrections, decision: Decision) -> None:
    if state.audit is not None:
        for file in decision.files:
            state.audit.judged[file] = state.name(decision.label)
            state.audit.times[file] = decision.time


def _audit_end(state: Corrections, decision: Decision) -> None:
    audit = state.audit
    if audit is None or audit.is_over:
        return
    audit.is_over = True
    audit.right = frozenset(decision.files)
    state.audited.update(audit.judged)
    for file, label in audit.judged.items():
        state.marks[file] = Mark(label, AUDITED, audit.times[file])
        state.skipped.discard(file)


_EFFECTS: dict[str, Callable[[Corrections, Decision], None]] = {
    "label": _label,
    "none": _label,
    "skip": _skip,
    "rename": _rename,
    "merge": _rename,
    "audit-start": _audit_start,
    "audit": _audit,
    "audit-end": _audit_end,
}
"""What each kind of decision does to the state."""
