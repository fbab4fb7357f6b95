"""Users' feedback on answers."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from baton.domain.errors import InvalidRequest
from baton.domain.text import replace_surrogates

MAX_COMMENT = 2_000
"""Characters of a comment."""


class Rating(StrEnum):
    """Thumbs up or down."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Feedback:
    """The user's feedback on one answer. Later feedback replaces it."""

    message_id: str
    ordinal: int
    """The position of the answer in its thread, on whatever branch."""
    run_id: str
    rating: Rating
    comment: str | None
    updated_at: datetime

    def says(self, rating: Rating | None, comment: str | None) -> bool:
        """Return whether the feedback has this rating and this comment."""
        return (self.rating, self.comment) == (rating, comment)


def parse_comment(text: str | None) -> str | None:
    """Return a comment without surrounding space; None if it is blank.

    Raises ``InvalidRequest`` if it is too long or has control characters other than line breaks and tabs.
    """
    if text is None:
        return None
    comment = replace_surrogates(text).strip()
    if len(comment) > MAX_COMMENT:
        raise InvalidRequest(f"comment must have at most {MAX_COMMENT} characters.")
    if any(unicodedata.category(character) == "Cc" and character not in "\n\r\t" for character in comment):
        raise InvalidRequest("comment must not contain control characters.")
    return comment or None
