"""The number of examples with which a property is tested."""

import os

USUAL = 7
"""The number in a usual run. ``make properties`` tries more: with 100, properties took most time of the unit tests."""
EXAMPLES = int(os.environ.get("BATON_EXAMPLES", USUAL))
_REFERENCE = 40
"""The number of examples in a run to which the counts of single properties refer."""


def examples(count: int) -> int:
    """Return ``count`` scaled to this run, as a number for a run with ``_REFERENCE`` examples."""
    return max(1, count * EXAMPLES // _REFERENCE)
