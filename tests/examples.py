"""The number of examples with which a property is tried."""

import os

USUAL = 40
"""With 100 each, properties took most of the time of the unit tests."""
EXAMPLES = int(os.environ.get("BATON_EXAMPLES", USUAL))


def examples(count: int) -> int:
    """Return ``count`` for a usual run, and in proportion for one with more or fewer examples."""
    return max(1, count * EXAMPLES // USUAL)
