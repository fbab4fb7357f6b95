"""The bounds of the embedded index. Larger indices belong in OpenSearch."""

MIB = 1024 * 1024

MAX_OWNER_BYTES = 192 * MIB
"""The maximum size of an owner's file. The first search of an environment reads all of it, and each write sends it."""
MAX_OWNER_DOCUMENTS = 20_000
"""The maximum number of an owner's documents. A search compares all their vectors."""
MAX_COPIES_BYTES = 256 * MIB
"""The maximum size of an environment's copies of files that are not in use. Lambda's disk has 512 MiB."""
NEARLY_FULL_PERCENT = 80
"""The fill of a file from which each write logs a warning with its key."""
MAX_ATTEMPTS = 20
"""The maximum number of attempts of a write while others change the same file."""
MAX_PAUSE_SECONDS = 1.0
"""The maximum pause before the next attempt."""


def compute_fill_percent(size: int, documents: int) -> int:
    """Return the used share of an owner's limits in per cent, rounded up, for a file of ``size`` bytes."""
    share = max(size / MAX_OWNER_BYTES, documents / MAX_OWNER_DOCUMENTS)
    return int(-(-share * 100 // 1))
