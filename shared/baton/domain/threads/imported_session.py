"""Conversations of other systems, in the form in which they are imported."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import dataclass
from datetime import datetime

from baton.domain.desks.desk_session import Person
from baton.domain.schedules.run_source import RunSource
from baton.domain.threads.feedback import Rating
from baton.domain.threads.message import Role
from baton.domain.times import is_offset, to_millis

IMPORT_TURN = "\nimport"
"""The message id under which a thread records its import. It is not printable, so clients' messages cannot have it."""


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """A message of an imported conversation."""

    id: str
    role: Role
    text: str
    timestamp: datetime
    tool_name: str | None = None
    rating: Rating | None = None
    """The user's rating of an answer."""
    comment: str | None = None
    rated_at: datetime | None = None
    time_zone: str | None = None
    """The user's time zone: the named one, or else the offset of ``timestamp``; None if neither is known."""
    author: Person | None = None
    """The person who wrote it in an agent's place."""
    begun_by: RunSource | None = None
    """The cause of a run that no message of the user has begun. The message then has the role ``user``."""


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """One session of an imported conversation. It becomes a closed thread with one episode."""

    thread_id: str
    may_create: bool
    messages: tuple[ImportedMessage, ...]
    """At least one, in order."""
    ended_at: datetime
    agent_id: str | None = None
    title: str | None = None

    @property
    def rated(self) -> tuple[ImportedMessage, ...]:
        """The messages that the user has rated."""
        return tuple(message for message in self.messages if message.rating is not None)

    @property
    def digest(self) -> str:
        """The SHA-256 of the imported content, by which a repeated import is recognised."""
        lines = [
            [message.id, message.role.value, message.text, to_millis(message.timestamp), message.tool_name]
            for message in self.messages
        ]
        additions: list[object] = []
        if self.title is not None or self.rated:
            ratings = [[message.id, message.rating, message.comment, message.rated_at] for message in self.rated]
            additions = [self.title, ratings]
        # Offsets are left out, because earlier versions did not store them and their imports may be repeated.
        zones = [
            [message.id, message.time_zone]
            for message in self.messages
            if message.time_zone is not None and not is_offset(message.time_zone)
        ]
        authors = [[message.id, "author", message.author] for message in self.messages if message.author is not None]
        causes = [[message.id, "event", message.begun_by] for message in self.messages if message.begun_by is not None]
        additions += filter(None, (zones, authors, causes))
        content = json.dumps([lines, to_millis(self.ended_at), *additions], separators=(",", ":"), default=str)
        return hashlib.sha256(content.encode()).hexdigest()


def derive_imported_message_id(thread_id: str, ordinal: int) -> str:
    """Return the id of an imported message that came without one. It is the same for every repetition."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"import\0{ordinal}"))
