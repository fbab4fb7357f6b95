"""Which turns the Context Inspector records, and whether with their contents."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class InspectorMode(StrEnum):
    """How many turns are recorded."""

    ALL = "all"
    SAMPLE = "sample"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class InspectionPolicy:
    """A deployment's choice."""

    mode: InspectorMode = InspectorMode.ALL
    rate: float = 0.1
    """The share of turns that the mode ``sample`` records, from 0 to 1."""
    redacts: bool = False
    """Whether personal data is removed from what is recorded."""

    def records(self, run_id: str) -> bool:
        """Return whether a run is recorded. It is the same for every attempt at the run."""
        if self.mode is InspectorMode.SAMPLE:
            place = int.from_bytes(hashlib.sha256(run_id.encode("utf-8", "replace")).digest()[:8])
            return place < self.rate * 2**64
        return self.mode is InspectorMode.ALL
