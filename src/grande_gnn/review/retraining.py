"""Full trainings in the background: the latest request wins, and at most one training runs at a time.

The thread has the usual priority. With a lower one, an answer to the page took seconds on busy cores, probably because the
thread was interrupted while it held Python's lock, for which every answer waits (docs/review.md).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from grande_gnn.labelling.result import Labelling

__all__ = ["Retraining"]

logger = logging.getLogger(__name__)

Labels = Mapping[str, str]


class Retraining:
    """A thread that trains on the labels it was last asked for.

    Parameters
    ----------
    train : from labels (file to label) to a labelling.
    done : called with the labelling and the labels it was trained on, in the thread.
    failed : called with a sentence if a training failed; the thread continues.
    """

    def __init__(
        self,
        train: Callable[[Labels], Labelling],
        done: Callable[[Labelling, Labels], object],
        failed: Callable[[str], object],
    ) -> None:
        self._train, self._done, self._failed = train, done, failed
        self._wanted: Labels | None = None
        self._is_stopped = False
        self._is_busy = False
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="grande-retraining", daemon=True)
        self._thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether a training runs or waits."""
        with self._news:
            return self._is_busy or self._wanted is not None

    def request(self, labels: Labels) -> None:
        """Train on these labels next; an earlier request that has not begun is forgotten."""
        with self._news:
            self._wanted = dict(labels)
            self._news.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing runs or waits; False if that took too long."""
        with self._news:
            return self._news.wait_for(lambda: not self._is_busy and self._wanted is None, timeout)

    def stop(self) -> None:
        """Begin no further training."""
        with self._news:
            self._is_stopped = True
            self._wanted = None
            self._news.notify_all()

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._is_stopped or self._wanted is not None)
                if self._is_stopped:
                    return
                labels, self._wanted = self._wanted, None
                self._is_busy = True
            assert labels is not None
            try:
                self._done(self._train(labels), labels)
            except Exception as error:  # the page must stay usable, whatever a training meets
                logger.info("training failed", exc_info=True)
                self._failed(" ".join(str(error).split()) or type(error).__name__)
            finally:
                with self._news:
                    self._is_busy = False
                    self._news.notify_all()
