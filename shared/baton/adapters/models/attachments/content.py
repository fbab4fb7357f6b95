"""Messages in the form that all adapters render: text and media pieces, laid out as the model's profile asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from baton.domain.runs.provider_parts import ProviderParts
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role


class MediaKind(StrEnum):
    """The kinds of attachments that models take."""

    IMAGE = "image"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Media:
    """An attachment that the model gets as it is."""

    kind: MediaKind
    name: str
    """The file's name, cleaned."""
    mime_type: str
    data: bytes | None
    """The bytes; None for an image that the model's provider fetches from ``url``."""
    url: str | None = None


Piece = str | Media


@dataclass(frozen=True, slots=True)
class LaidMessage:
    """One message of a request, before an adapter renders it."""

    role: Role
    """``SYSTEM``, ``USER``, ``ASSISTANT`` or ``TOOL``."""
    pieces: tuple[Piece, ...]
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    """The call that a tool's message answers."""
    is_error: bool = False
    parts: ProviderParts | None = None
    """The opaque parts of an earlier answer, which are sent back to the model with this message."""
    ends_prefix: bool = False
    """Whether a prefix that later requests repeat ends with this message."""

    @property
    def text(self) -> str:
        """The text pieces, with a blank line between two of them; empty without text."""
        return "\n\n".join(piece for piece in self.pieces if isinstance(piece, str))

    @property
    def media(self) -> tuple[Media, ...]:
        """The attachments among the pieces."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Media))
