"""A detector of personal data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.pii import PiiSpan


class PiiDetector(Protocol):
    """Finds personal data in texts."""

    async def detect(self, text: str) -> Sequence[PiiSpan]:
        """Return what was found, in any order; spans may overlap, and lie within the text.

        Takes time in proportion to the text's length, and does not block the event loop. Raises
        ``PiiDetectorUnavailable`` if a detector outside does not answer.
        """
        ...
