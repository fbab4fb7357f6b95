"""Reasons for refusing documents: stable codes, and sentences that say what the uploader can do.

The functions make errors to raise.
"""

from __future__ import annotations

from baton_documents.errors import DocumentRefused
from baton_documents.formats import DocumentFormat


def describe_left_out(count: int, noun: str) -> str:
    """Return the sentence that says how many things, named by a singular noun, are left out."""
    return f"1 {noun} is left out." if count == 1 else f"{count} {noun}s are left out."


def empty() -> DocumentRefused:
    return DocumentRefused(reason="document_empty", detail="The file has no content. Upload one that has.")


def without_text(form: DocumentFormat) -> DocumentRefused:
    return DocumentRefused(
        reason="document_without_text",
        detail="The document has no text that could be read, perhaps because it was scanned. "
        "Upload one with a text layer."
        if form is DocumentFormat.PDF
        else "The document has no text that could be read. Upload one that has.",
    )


def encrypted() -> DocumentRefused:
    return DocumentRefused(
        reason="document_encrypted",
        detail="The document is protected with a password. Remove the protection and upload it again.",
    )


def damaged() -> DocumentRefused:
    return DocumentRefused(
        reason="document_damaged",
        detail="The document is damaged or incomplete. Save it again and upload the new file.",
    )


def mislabelled(announced: str, actual: str) -> DocumentRefused:
    return DocumentRefused(
        reason="document_mislabelled",
        detail=f"The content is not {announced} but {actual}. Upload it with the content type that it has.",
    )


def other_format(name: str, save_as: str) -> DocumentRefused:
    return DocumentRefused(
        reason="document_mislabelled",
        detail=f"The file is {name}, which is not read. Save it as {save_as} and upload that.",
    )


def unsupported(content_type: str) -> DocumentRefused:
    return DocumentRefused(
        reason="document_unsupported",
        detail=f"{content_type or 'The content of this file'} is no format that is read. "
        "PDF, DOCX, PPTX, XLSX, HTML, Markdown, text and CSV are.",
    )


def with_macros() -> DocumentRefused:
    return DocumentRefused(
        reason="document_macros",
        detail="Documents with macros are not accepted. Save it without macros and upload it again.",
    )


def bomb() -> DocumentRefused:
    """Return the refusal of a file that is small but takes much memory, such as a packed archive."""
    return DocumentRefused(
        reason="document_too_large_unpacked",
        detail="The document is too large when it is unpacked. Divide it into several.",
    )


def too_many_elements() -> DocumentRefused:
    return DocumentRefused(
        reason="document_too_large_unpacked",
        detail="The page has too many elements or attributes to be read. Divide it into several.",
    )


def too_long() -> DocumentRefused:
    return DocumentRefused(reason="document_too_long", detail="The document has too much text. Divide it into several.")


def too_wide(last_column: int, last_row: int) -> DocumentRefused:
    return DocumentRefused(
        reason="document_too_long",
        detail=f"A sheet reaches to column {last_column:,} and row {last_row:,}, which is too far. Delete what is far "
        "from its table, or divide it into several.",
    )


def unsafe() -> DocumentRefused:
    return DocumentRefused(
        reason="document_unsafe",
        detail="The document defines entities, which are not read. Save it again and upload the new file.",
    )


def too_deep() -> DocumentRefused:
    return DocumentRefused(
        reason="document_too_deep",
        detail="The elements of the document are nested too deeply to be read. Save it in a simpler format.",
    )


def no_sitemap(detail: str) -> DocumentRefused:
    return DocumentRefused(reason="document_no_sitemap", detail=detail)


def too_complex() -> DocumentRefused:
    return DocumentRefused(
        reason="document_too_complex",
        detail="Reading the document takes more memory than there is, or ends the program that reads it. "
        "Divide it into several, or save it in a simpler format.",
    )


def too_slow() -> DocumentRefused:
    return DocumentRefused(
        reason="document_too_slow",
        detail="Reading the document takes too long. Divide it into several, or save it in a simpler format.",
    )
