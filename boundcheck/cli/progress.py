"""A progress bar on a terminal for work that takes more than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

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
