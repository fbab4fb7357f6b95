"""Citations of chunks of documents, and the kinds of sources that an answer has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

AGENT_SOURCE = "agent"
"""The kind of a source that is a consulted agent."""
DOCUMENT_SOURCE = "document"
"""The kind of a source that is a document."""
FILE_SOURCE = "file"
"""The kind of a source that is a file of a remote agent's answer."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A chunk of a document of an agent, as readers can find it."""

    document_id: str
    title: str
    agent_id: str
    version: int
    chunk_id: str
    section: str | None = None
    """The path of headings above it."""
    first_page: int | None = None
    last_page: int | None = None
    url: str | None = None

    @property
    def pages(self) -> str | None:
        """Its pages, as in "3" or "3-4"."""
        if self.first_page is None:
            return None
        last = self.last_page
        return f"{self.first_page}-{last}" if last not in (None, self.first_page) else str(self.first_page)

    def as_source(self, score: float | None) -> dict[str, Any]:
        """Return it as an entry of a message's ``metadata.sources``."""
        return {
            "kind": DOCUMENT_SOURCE,
            "id": self.document_id,
            "title": self.title,
            "agentId": self.agent_id,
            "score": round(score, 4) if score is not None else None,
            "section": self.section,
            "page": self.first_page,
            "chunk": self.chunk_id,
            "url": self.url,
        }
