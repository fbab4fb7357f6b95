"""Detection of formats that consist of text but are not read: mails, RTF, saved web pages."""

from __future__ import annotations

import re

_EXAMINED = 64 * 1024
"""The number of bytes at the beginning of a file that are examined. The header of a mail must end in them."""
_FIELD = re.compile(rb"([A-Za-z][A-Za-z0-9-]{1,60}):[ \t\r]?|[ \t]+\S")
"""The beginning of a header field, or of its continuation (RFC 5322 section 2.2)."""
_OF_MAILS = frozenset(
    {b"mime-version", b"message-id", b"received", b"return-path", b"delivered-to", b"dkim-signature", b"x-mailer",
     b"content-transfer-encoding", b"x-mozilla-status"}
)  # fmt: skip
"""Fields that only mail programs write. A memo may begin with From, To and Subject too."""
_BEGINNINGS = (
    (b"{\\rtf", "an RTF document", "DOCX or PDF"),
    (b"%!PS", "a PostScript file", "PDF"),
    (b'<?mso-application progid="Word', "a Word document as XML", "DOCX"),
)


def detect_foreign_format(body: bytes) -> tuple[str, str] | None:
    """Return the name of a text format that is not read, and the formats to save it as; None for other content."""
    start = body[:_EXAMINED].removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginning, name, save_as in _BEGINNINGS:
        if start.startswith(beginning) or (beginning.startswith(b"<?mso") and beginning in start[:1024]):
            return name, save_as
    fields = _read_header_fields(start)
    if not _OF_MAILS & fields.keys():
        return None
    if fields.get(b"content-type", b"").startswith(b"multipart/related") or b"snapshot-content-location" in fields:
        return "a saved web page (MHTML)", "HTML or PDF"
    return "a mail", "PDF"


def _read_header_fields(start: bytes) -> dict[bytes, bytes]:
    """Return the fields of a header by their names, in lower case; empty if no whole header is at the beginning."""
    if start.startswith(b"From "):  # the line before a mail in a mailbox
        start = start.partition(b"\n")[2]
    fields: dict[bytes, bytes] = {}
    for line in start.split(b"\n"):
        if not line.strip():
            return fields
        match = _FIELD.match(line)
        if match is None:
            return {}
        if match[1]:
            fields[match[1].lower()] = line[match.end() :].strip().lower()
    return {}
