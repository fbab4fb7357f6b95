"""Start without garbage collection: nearly all objects that a start makes are needed until the end."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage during the block. If it succeeds, later collections leave out the objects that it made.

    Imports make many objects. Without this, a seventh of the start time is spent on collections, and each later
    collection visits all these objects again while users wait.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
