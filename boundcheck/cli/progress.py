"""A progress bar on a terminal for work that takes more than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")

#: Seconds before a bar appears, so that quick work prints nothing.
DELAY = 2.0


def tracked(items: Sequence[T], label: str) -> Iterator[T]:
    """The items one by one, with a bar on standard error once DELAY has passed.

    Examples
    --------
    >>> list(tracked([1, 2], "squares"))
    [1, 2]
    """
    start = time.monotonic()
    position = 0
    while position < len(items) and time.monotonic() - start < DELAY:
        yield items[position]
        position += 1
    if position == len(items) or not sys.stderr.isatty():
        yield from items[position:]
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=len(items), completed=position)
        for item in items[position:]:
            yield item
            progress.advance(task)


class Bar:
    """A bar whose total may change on the way, shown once DELAY has passed."""

    def __init__(self, label: str, total: int | None = None) -> None:
        self._label = label
        self._start = time.monotonic()
        self._total = total
        self._progress: Progress | None = None

    def __enter__(self) -> Bar:
        return self

    def update(self, done: int, total: int | None, label: str | None = None) -> None:
        """So much is done, of so much; the label changes to the one given."""
        if time.monotonic() - self._start < DELAY or not sys.stderr.isatty():
            return
        if self._progress is None:
            from rich.console import Console
            from rich.progress import Progress

            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._progress.add_task(self._label, total=total)
            self._progress.start()
        self._progress.update(
            self._progress.task_ids[0], completed=done, total=total, description=label
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
