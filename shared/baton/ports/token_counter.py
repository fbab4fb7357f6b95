"""Token counts of text."""

from typing import Protocol


class TokenCounter(Protocol):
    """Counts tokens as the configured models do (``o200k_base``)."""

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``; special-token spellings count as ordinary text.

        Takes some milliseconds at most: long texts may be estimated.
        """
        ...
