"""Places where a request may have cache points."""

from __future__ import annotations

from collections.abc import Sequence

from baton.adapters.bedrock.media import Block
from baton.adapters.models.profile import ModelProfile


def is_allowed_after(block: Block, profile: ModelProfile) -> bool:
    """Return whether a cache point may follow the block."""
    if "cachePoint" in block or "reasoningContent" in block:
        return False
    if "document" in block:
        return bool(block["document"]["format"] == "pdf")  # others are moved to the front of the message
    return "toolResult" not in block or profile.further.get("cache_after_results") != "no"


def limited(contents: Sequence[list[Block]], most: int) -> bool:
    """Remove cache points beyond the ``most`` from the lists of blocks, and return whether any are left.

    The first half stays, which lasts longest, and the newest half.
    """
    points = [(content, block) for content in contents for block in content if "cachePoint" in block]
    half = most // 2
    for content, block in points[half : len(points) - (most - half)] if len(points) > most else ():
        content[:] = [each for each in content if each is not block]
    return bool(points) and most > 0
