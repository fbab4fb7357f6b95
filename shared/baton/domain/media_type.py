"""Media types as browsers, systems and servers send them (RFC 9110, section 8.3.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.message import Message

OCTETS = "application/octet-stream"
MAX_LENGTH = 255
"""Characters of a media type with its parameters."""

_ESSENCE = re.compile(r"[\w.+-]{1,64}/[\w.+-]{1,64}", re.ASCII)
_CHARSET = re.compile(r"[\w.:()+-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type and its charset. No other parameter changes how a file is read."""

    essence: str
    """Type and subtype in lower case; empty if they are unknown."""
    charset: str | None = None
    """The label of an encoding in lower case."""

    @classmethod
    def parse(cls, announced: str | None) -> MediaType:
        """Return the type that ``announced`` names; one without an essence if it names none."""
        essence = (announced or "").partition(";")[0].strip().lower()
        if not _ESSENCE.fullmatch(essence) or len(announced or "") > MAX_LENGTH:
            return cls("")
        return cls(essence, _charset(announced or ""))

    def __str__(self) -> str:
        """Return the type as a header has it, the unknown one as ``application/octet-stream``."""
        return (self.essence or OCTETS) + (f"; charset={self.charset}" if self.charset else "")

    @property
    def kind(self) -> str:
        """The part before the slash."""
        return self.essence.partition("/")[0]


UNKNOWN = MediaType("")


def is_media_type(announced: str) -> bool:
    """Return whether ``announced`` names a media type, with or without parameters, or is empty."""
    return not announced.strip() or bool(MediaType.parse(announced).essence)


def _charset(announced: str) -> str | None:
    if ";" not in announced:
        return None
    header = Message()
    header["Content-Type"] = re.sub(r"[\x00-\x1f\x7f]", " ", announced)
    found = header.get_param("charset")
    label = found if isinstance(found, str) else found[2] if found is not None else ""
    label = label.strip(" '\"").lower()
    return label if _CHARSET.fullmatch(label) else None
