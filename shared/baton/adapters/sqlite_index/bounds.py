"""The bounds of the embedded index. What is larger belongs in OpenSearch."""

MIB = 1024 * 1024

MAX_OWNER_BYTES = 192 * MIB
"""Bytes of an owner's file. All of it is read for the first search of an environment, and sent with each write."""
MAX_OWNER_DOCUMENTS = 20_000
"""Documents of an owner. A search compares all their vectors."""
MAX_COPIES_BYTES = 256 * MIB
"""Bytes of an environment's disk for copies of files that nobody reads at the moment. Lambda gives it 512 MiB."""
NEARLY_FULL_PERCENT = 80
"""The fill of a file at which each write logs a warning with its owner."""
MAX_ATTEMPTS = 20
"""Attempts of a write while others change the same file."""
MAX_PAUSE_SECONDS = 1.0
"""The longest pause before the next attempt."""


def fill_percent(size: int, documents: int) -> int:
    """Return how much of what an owner may have is used, in per cent, rounded up."""
    share = max(size / MAX_OWNER_BYTES, documents / MAX_OWNER_DOCUMENTS)
    return int(-(-share * 100 // 1))
