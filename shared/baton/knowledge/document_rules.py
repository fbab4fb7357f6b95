"""The rules for names, sizes and permissions of documents and sources."""

from __future__ import annotations

import re

from baton.domain.documents.document import DOCUMENT_ID, MAX_DOCUMENT_BYTES
from baton.domain.errors import DocumentTooLarge, InvalidRequest, UnsupportedDocument
from baton.domain.tenants.identity import is_printable
from baton.domain.web_url import CREDENTIALS, has_credentials, is_web_url
from baton.knowledge.documents import Details, DocumentRequest
from baton_documents.formats import MEDIA_TYPES
from baton_documents.media_types import MediaType, find_formats

MAX_NAME_BYTES = 255
MAX_TITLE = 300
"""The maximum length of a title, in characters. It precedes every chunk of its document."""
MAX_DOCUMENT_URL = 2048
READABLE = (
    "PDF (.pdf), Word (.docx), PowerPoint (.pptx), Excel (.xlsx), HTML, Markdown (.md), text (.txt) and CSV files"
)
"""The readable formats of documents, for people."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PERMISSION = re.compile(r"[a-z][a-z0-9_-]*(:[a-z0-9_-]+)*")


def check_request(
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
    media_type = check_document_type(content_type, name)
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
    return DocumentRequest(name, str(media_type), size, sha256, document_id, details)


def check_name(name: str) -> None:
    """Raise ``InvalidRequest`` for a file name that is empty, too long or not printable."""
    if not is_printable(name, MAX_NAME_BYTES) or len(name.encode()) > MAX_NAME_BYTES:
        raise InvalidRequest(f"name must be 1 to {MAX_NAME_BYTES} bytes of printable characters.")


def check_title(title: str | None) -> None:
    """Raise ``InvalidRequest`` for a title that is empty, too long or not printable."""
    if title is not None and (not is_printable(title, MAX_TITLE) or not title.strip()):
        raise InvalidRequest(f"title must be 1 to {MAX_TITLE} printable characters.")


def check_permission(permission: str | None) -> None:
    """Raise ``InvalidRequest`` unless it is a permission's name."""
    if permission is not None and (len(permission) > 64 or not _PERMISSION.fullmatch(permission)):
        raise InvalidRequest(
            "requiredPermission must be a permission's name, such as hr:read, of at most 64 characters."
        )


def check_document_type(content_type: str, name: str) -> MediaType:
    """Return the announced type of a document. Raises ``UnsupportedDocument`` if no text is extracted from such files.

    The upload's content is checked against it later.
    """
    media_type = MediaType.parse(content_type)
    if (content_type.strip() and not media_type.essence) or not find_formats(media_type, name):
        raise UnsupportedDocument(
            f"contentType must be one of those of {READABLE}: {', '.join(MEDIA_TYPES)}, or application/octet-stream "
            "with a name that has such an ending."
        )
    return media_type
