"""What documents and sources may be called, may weigh and may require."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from baton.domain.document import DOCUMENT_ID, MAX_DOCUMENT_BYTES, MEDIA_TYPES
from baton.domain.errors import DocumentTooLarge, InvalidRequest, UnsupportedDocument
from baton.domain.identity import is_printable
from baton.domain.web_url import CREDENTIALS, has_credentials, is_web_url
from baton.knowledge.documents import Details, DocumentRequest

MAX_NAME_BYTES = 255
MAX_TITLE = 300
"""Characters. A title stands in front of every chunk of its document."""
MAX_DOCUMENT_URL = 2048

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PERMISSION = re.compile(r"[a-z][a-z0-9_-]*(:[a-z0-9_-]+)*")
_BY_ENDING = {
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".csv": "text/csv",
}
_UNTOLD = frozenset({"", "application/octet-stream", "binary/octet-stream"})
"""Types of a server or bucket that does not know better."""


def checked_request(
    *, name: str, content_type: str, size: int, sha256: str | None, document_id: str | None, details: Details
) -> DocumentRequest:
    """Return the request if it is acceptable.

    Raises ``InvalidRequest`` for names, ids, titles and addresses, ``UnsupportedDocument`` for the type and
    ``DocumentTooLarge`` for the size.
    """
    check_name(name)
    if document_id is not None and not DOCUMENT_ID.fullmatch(document_id):
        raise InvalidRequest("documentId must be doc_ and 32 hexadecimal digits in lower case, as of a UUID.")
    if sha256 is not None and not _SHA256.fullmatch(sha256):
        raise InvalidRequest("sha256 must be the 64 hexadecimal digits, in lower case, of the file's SHA-256.")
    check_content_type(content_type)
    if size < 1:
        raise InvalidRequest("size must be at least 1 byte.")
    if size > MAX_DOCUMENT_BYTES:
        raise DocumentTooLarge
    check_title(details.get("title"))
    check_permission(details.get("required_permission"))
    url = details.get("url")
    if url is not None and has_credentials(url):
        raise InvalidRequest(f"url {CREDENTIALS}.")
    if url is not None and not is_web_url(url, MAX_DOCUMENT_URL):
        raise InvalidRequest(f"url must be an absolute http or https address of at most {MAX_DOCUMENT_URL} characters.")
    return DocumentRequest(name, content_type, size, sha256, document_id, details)


def check_name(name: str) -> None:
    """Raise ``InvalidRequest`` for a file name that is empty, too long or not printable."""
    if not is_printable(name, MAX_NAME_BYTES) or len(name.encode()) > MAX_NAME_BYTES:
        raise InvalidRequest(f"name must be 1 to {MAX_NAME_BYTES} bytes of printable characters.")


def check_title(title: str | None) -> None:
    """Raise ``InvalidRequest`` for a title that is empty, too long or not printable."""
    if title is not None and (not is_printable(title, MAX_TITLE) or not title.strip()):
        raise InvalidRequest(f"title must be 1 to {MAX_TITLE} printable characters.")


def check_permission(permission: str | None) -> None:
    """Raise ``InvalidRequest`` for what is no name of a permission."""
    if permission is not None and (len(permission) > 64 or not _PERMISSION.fullmatch(permission)):
        raise InvalidRequest(
            "requiredPermission must be a permission's name, such as hr:read, of at most 64 characters."
        )


def check_content_type(content_type: str) -> None:
    """Raise ``UnsupportedDocument`` for a type that no text is extracted from."""
    if content_type not in MEDIA_TYPES:
        raise UnsupportedDocument(
            f"contentType must be one of {', '.join(MEDIA_TYPES)}, in lower case and without parameters."
        )


def type_of(told: str, path: str) -> str | None:
    """Return the type of a page or an object: what its server tells, or what the ending of its path means.

    Returns None for what is no document. The pipeline checks the content against it.
    """
    if told in MEDIA_TYPES:
        ending = _BY_ENDING.get(PurePosixPath(path).suffix.lower())
        return ending if told == "text/plain" and ending in ("text/markdown", "text/csv") else told
    return _BY_ENDING.get(PurePosixPath(path).suffix.lower()) if told in _UNTOLD else None
