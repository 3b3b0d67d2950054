"""What the sections of one report share: the order and colors of the classes, and which images are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from grande_gnn.labelling.result import Labelling
from grande_gnn.report.cards import Line, build_card
from grande_gnn.report.formats import beginning, natural_key
from grande_gnn.report.palette import class_colors
from grande_gnn.report.templates import render_template

if TYPE_CHECKING:
    from grande_gnn.report.sections.section import Highlight, Section

__all__ = ["MAX_IMAGES", "Page"]

MAX_IMAGES = 20_000
"""Images on the map, each with a thumbnail. If there are more, a sample is shown and the page says so."""

SIMILAR = 6
"""Similar images shown with an image: one row on a phone."""


class Page:
    """The context in which every section is rendered.

    Images have two numbers: their row in the labelling, and their place among the images that the page shows
    (``shown[number[row]] == row``), by which the page's script finds their thumbnails.
    """

    def __init__(
        self,
        labelling: Labelling,
        sections: Iterable[Section] = (),
        *,
        image_root: str = "",
        random_state: int = 0,
    ) -> None:
        self.labelling = labelling
        self.sections = tuple(sections)
        self.image_root = image_root
        """Path from the report to the images; the page links to them unless it is empty."""
        self.random_state = random_state
        """Seed of the map, and of the sample that is shown if there are more than ``MAX_IMAGES`` images."""
        self.shown = self._choose_shown()
        """The rows that the page shows, ascending."""
        self.number = np.full(len(labelling.files), -1)
        """The number of each row on the page, -1 for rows it does not show."""
        self.number[self.shown] = np.arange(len(self.shown))

    @property
    def title(self) -> str:
        """The heading of the page."""
        root = self.labelling.root
        return f"Labelled {self.things}" if root is None else f"Labels of {root.resolve().name}"

    @property
    def things(self) -> str:
        """What the samples are called: images, texts or samples."""
        return self.labelling.things

    @property
    def thing(self) -> str:
        """What one sample is called."""
        return self.things.removesuffix("s")

    @property
    def called(self) -> str:
        """The heading of a column that identifies samples: images are files, others have a name."""
        return "File" if self.things == "images" else "Name"

    @property
    def has_texts(self) -> bool:
        """Whether there are texts to show instead of thumbnails."""
        return self.labelling.texts is not None

    def excerpt(self, row: int, length: int = 280) -> str:
        """The beginning of a text; ``""`` if there are none."""
        return "" if self.labelling.texts is None else beginning(self.labelling.texts[row], length)

    @property
    def has_pictures(self) -> bool:
        """Whether there are thumbnails."""
        return self.labelling.thumbnails is not None

    @cached_property
    def given(self) -> NDArray[np.bool_]:
        """True for images that the user labelled."""
        return np.array([bool(label) for label in self.labelling.given])

    @cached_property
    def classes(self) -> list[str]:
        """Every label that occurs, in natural order (2 before 10)."""
        result = self.labelling
        suggested = [suspicion.label for suspicion in result.suspicions]
        names = {*result.labels, *result.given, *result.runner_up, *suggested, *result.class_accuracy}
        return sorted(names - {""}, key=natural_key)

    @cached_property
    def colors(self) -> dict[str, tuple[str, str]]:
        """The color of each class on the light page and on the dark page."""
        return dict(zip(self.classes, zip(*class_colors(len(self.classes)), strict=True), strict=True))

    @cached_property
    def highlights(self) -> list[tuple[str, Highlight]]:
        """What deserves a look according to the sections, with the name of the section to go to."""
        return [(s.name, highlight) for s in self.sections for highlight in s.highlights(self.labelling)]

    def similar(self, row: int) -> list[int]:
        """The rows of the most similar images, nearest first; empty if they are not known."""
        return self._lists[row, 1:].tolist()

    def render(self, template: str, **values: object) -> Markup:
        """Fill in a template of ``assets/templates/``, which also gets this page as ``page``."""
        return render_template(template, page=self, **values)

    def cards(
        self,
        rows: Sequence[int],
        lines: Callable[[Labelling, int], Sequence[Line]] | None = None,
        *,
        compact: bool = False,
    ) -> Markup:
        """A list of images with their thumbnails.

        Parameters
        ----------
        rows : the images, in the order to show them.
        lines : the labels to print next to an image; by default its own label with the confidence.
        compact : smaller cards without the most similar images.
        """
        cards = [build_card(self, row, lines) for row in rows]
        return self.render("cards", cards=cards, compact=compact)

    @cached_property
    def _lists(self) -> NDArray[np.int32]:
        if self.labelling.neighbors is None:
            return np.empty((len(self.labelling.files), 0), np.int32)
        return self.labelling.neighbors.lists(SIMILAR + 1)  # the first entry is the image itself

    def _choose_shown(self) -> NDArray[np.int64]:
        """All rows, or every row that a section needs, its similar images and a random sample of the others."""
        n = len(self.labelling.files)
        if n <= MAX_IMAGES:
            return np.arange(n)
        listed = [row for section in self.sections for row in section.pictured(self.labelling)]
        needed = {*listed, *(other for row in listed for other in self.similar(row))}
        order = np.random.default_rng(self.random_state).permutation(n)
        extra = [row for row in order.tolist() if row not in needed][: max(0, MAX_IMAGES - len(needed))]
        return np.array(sorted([*needed, *extra]))
