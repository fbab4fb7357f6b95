"""How long a tenant keeps what its users said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

ENFORCED_EVERY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Retention:
    """Days that a tenant keeps things; None: for ever."""

    threads: int | None = None
    """Conversations, from their last activity, with everything in them."""
    episodes: int | None = None
    """Episodes, from the end of their session. The conversation's messages stay."""
    audit: int | None = None
    """Audit records, but not the handoffs of conversations that are kept."""
    uploads: int | None = None
    """Uploaded files."""
    changed_by: str = ""
    """Who set it."""
    changed_at: datetime | None = None

    @property
    def is_limited(self) -> bool:
        """Whether anything is ever removed."""
        return any(days is not None for days in (self.threads, self.episodes, self.audit, self.uploads))


def kept_since(now: datetime, days: int | None) -> datetime | None:
    """Return the time before which things are too old; None if they are kept for ever."""
    return None if days is None else now - timedelta(days=days)
