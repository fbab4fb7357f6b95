"""The number of examples with which a property is tried."""

import os

USUAL = 7
"""The rest is for ``make properties``: with 100 each, properties took most of the time of the unit tests."""
EXAMPLES = int(os.environ.get("BATON_EXAMPLES", USUAL))
_REFERENCE = 40
"""The number of usual examples that properties with a separate number compare themselves with."""


def examples(count: int) -> int:
    """Return ``count`` for a run with 40 examples, and in proportion for one with more or fewer."""
    return max(1, count * EXAMPLES // _REFERENCE)
