"""Start without collecting garbage: nearly everything that a start makes stays until the end."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage during the block, and leave what it made out of later collections if it succeeds.

    Imports make many objects. Without this, a seventh of the time to start goes into looking for garbage among them,
    and each later collection looks through all of them again, while users wait.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
