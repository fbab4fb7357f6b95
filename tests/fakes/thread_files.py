"""The uploads of one thread, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from baton.domain.errors import NotFound


@dataclass
class MemoryThreadFiles:
    """``ports.documents.files.ThreadFiles`` over a dictionary."""

    files: dict[str, bytes] = field(default_factory=dict)

    async def read(self, file_id: str) -> bytes:
        """The bytes of an upload. Raises ``NotFound``."""
        try:
            return self.files[file_id]
        except KeyError:
            raise NotFound from None
