"""Files as they are announced to the server."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from pathlib import Path

from baton_client.errors import ConfigurationError

OFFICE = "application/vnd.openxmlformats-officedocument"
TYPES = {
    ".csv": "text/csv",
    ".docx": f"{OFFICE}.wordprocessingml.document",
    ".htm": "text/html",
    ".html": "text/html",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".pptx": f"{OFFICE}.presentationml.presentation",
    ".txt": "text/plain",
    ".webp": "image/webp",
    ".xhtml": "application/xhtml+xml",
    ".xlsx": f"{OFFICE}.spreadsheetml.sheet",
}
"""Types that a system may define differently, or not at all."""


def guess_content_type(name: str) -> str | None:
    """Return the type that a file's name implies. For documents of agents it is the same on every system."""
    return TYPES.get(Path(name).suffix.lower()) or mimetypes.guess_type(name)[0]


@dataclass(frozen=True, slots=True)
class Upload:
    """A file with the fields that announce it to the server."""

    name: str
    content_type: str
    data: bytes

    @classmethod
    def of(cls, content: bytes | Path, name: str | None, content_type: str | None) -> Upload:
        """Return the file; a path implies its name, and a name its type.

        Raises ``ConfigurationError`` where they are missing or the file is empty, and ``OSError``.
        """
        file_name = name or (content.name if isinstance(content, Path) else None)
        if not file_name:
            raise ConfigurationError("Give the file a name: bytes have none.")
        kind = content_type or guess_content_type(file_name)
        if not kind:
            raise ConfigurationError(f"Give the content type of {file_name}: its name does not tell it.")
        data = content.read_bytes() if isinstance(content, Path) else content
        if not data:
            raise ConfigurationError(f"{file_name} is empty.")
        return cls(file_name, kind, data)

    @property
    def announced(self) -> dict[str, str | int]:
        """The fields that announce the file."""
        return {"name": self.name, "contentType": self.content_type, "size": len(self.data)}
