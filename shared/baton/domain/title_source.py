"""Where titles of threads come from that users have not named."""

from __future__ import annotations

from enum import StrEnum


class TitleSource(StrEnum):
    """What a title is made of after the first answer."""

    MODEL = "model"
    """The light model writes it; if it fails, it is the beginning of the first message."""
    BEGINNING = "beginning"
    """It is the beginning of the first message."""
    NONE = "none"
    """Nothing: threads have the titles that users give them."""
