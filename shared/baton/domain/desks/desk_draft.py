"""Drafts that the main agent writes for a person of a desk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_INSTRUCTION = 2_000
"""Characters of a person's instructions for a draft."""


class DraftKind(StrEnum):
    """The purpose of a draft."""

    REPLY = "reply"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class DeskDraft:
    """A draft for a person. It is not stored, and users do not see it."""

    text: str
    sources: Sequence[dict[str, Any]]
    """The documents in the prompt, as in a message's ``metadata.sources``."""
