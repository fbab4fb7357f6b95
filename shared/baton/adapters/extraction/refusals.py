"""Why documents cannot be read: stable codes, and what the uploader can do."""

from __future__ import annotations

from baton.domain.errors import DocumentUnreadable


def empty() -> DocumentUnreadable:
    return DocumentUnreadable("document_empty", "The file has no content. Upload one that has.")


def without_text() -> DocumentUnreadable:
    return DocumentUnreadable(
        "document_without_text",
        "The document has no text that could be read, perhaps because it was scanned. Upload one with a text layer.",
    )


def encrypted() -> DocumentUnreadable:
    return DocumentUnreadable(
        "document_encrypted", "The document is protected with a password. Remove the protection and upload it again."
    )


def damaged() -> DocumentUnreadable:
    return DocumentUnreadable(
        "document_damaged", "The document is damaged or incomplete. Save it anew and upload it again."
    )


def mislabelled(announced: str, found: str) -> DocumentUnreadable:
    return DocumentUnreadable(
        "document_mislabelled",
        f"The content is not {announced} but {found}. Upload it with the content type that it has.",
    )


def unsupported(content_type: str) -> DocumentUnreadable:
    return DocumentUnreadable(
        "document_unsupported",
        f"{content_type} is no format that is read. PDF, DOCX, PPTX, XLSX, HTML, Markdown, text and CSV are.",
    )


def with_macros() -> DocumentUnreadable:
    return DocumentUnreadable(
        "document_macros", "Documents with macros are not accepted. Save it without macros and upload it again."
    )


def bomb() -> DocumentUnreadable:
    return DocumentUnreadable(
        "document_too_large_unpacked", "The document is too large when it is unpacked. Divide it into several."
    )


def too_long() -> DocumentUnreadable:
    return DocumentUnreadable("document_too_long", "The document has too much text. Divide it into several.")
