"""The command ``baton-documents``, which prints the content of a file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from baton_documents.chunks.division import divide_into_chunks
from baton_documents.document import Document
from baton_documents.errors import DocumentError
from baton_documents.processes import DEFAULT_LIMITS, MIB, ProcessLimits, read_in_process

STANDARD_INPUT = "-"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. Exit with 1 if the file cannot be read, with 2 if the arguments are wrong."""
    options = _make_parser().parse_args(arguments)
    limits = ProcessLimits(options.memory * MIB, options.seconds, DEFAULT_LIMITS.answer_bytes)
    try:
        name = options.name or ("" if options.file == STANDARD_INPUT else Path(options.file).name)
        document = read_in_process(_read_file(options.file), name, options.type, limits=limits)
    except OSError as problem:
        sys.exit(f"{options.file} cannot be opened: {problem.strerror}. Name a file, or - for standard input.")
    except DocumentError as problem:
        sys.exit(f"{options.file}: {problem}")
    if hasattr(sys.stdout, "reconfigure"):  # characters that the terminal lacks must not cause an error
        sys.stdout.reconfigure(errors="replace")
    if options.json:
        values = chunks_as_json(document) if options.chunks else as_json(document)
        print(json.dumps(values, ensure_ascii=False, indent=2))
    else:
        print("\n".join(format_chunks(document) if options.chunks else format_document(document)))


def as_json(document: Document) -> dict[str, Any]:
    """Return the title, format, sections, pages, tables and text of a document as JSON values."""
    return {
        "title": document.title,
        "format": document.format.value,
        "sections": [
            {"headings": section.headings, "page": section.page, "text": section.text} for section in document.sections
        ],
        "pages": [{"number": page.number, "text": page.text, "error": page.error} for page in document.pages],
        "tables": [{"page": table.page, "rows": table.rows} for table in document.tables],
        "text": document.text,
    }


def format_document(document: Document) -> Iterator[str]:
    """Yield the lines of a summary of a document, and then its text, with the number before each page.

    The reason follows the number of a page that could not be read.
    """
    counts = ((len(document.pages), "page"), (len(document.sections), "section"), (len(document.tables), "table"))
    numbers = (f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count)
    yield f"{document.title or '(no title)'}: {', '.join((document.format.value.upper(), *numbers))}"
    if not document.pages:
        yield from ("", document.text)
    for page in document.pages:
        yield from ("", f"[{page.number}{f': {page.error}' if page.error else ''}]")
        if page.text:
            yield from ("", page.text)


def chunks_as_json(document: Document) -> list[dict[str, Any]]:
    """Return the chunks of a document as JSON values."""
    return [asdict(chunk) for chunk in divide_into_chunks(document.blocks)]


def format_chunks(document: Document) -> Iterator[str]:
    """Yield the chunks of a document, each after a line with its number (from 0), headings and pages.

    The columns of a table precede a chunk that begins inside the table.
    """
    for chunk in divide_into_chunks(document.blocks):
        pages = dict.fromkeys(page for page in (chunk.first_page, chunk.last_page) if page is not None)
        head = (str(chunk.ordinal), " > ".join(chunk.headings), "-".join(map(str, pages)))
        yield f"[{' | '.join(filter(None, head))}]"
        if chunk.table_header:
            yield chunk.table_header
        yield from (chunk.text, "")


def _read_file(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == STANDARD_INPUT else Path(file).read_bytes()


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="baton-documents", description="Read documents as text.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    read = commands.add_parser("read", help="print the title, sections, pages, tables and text of a file")
    read.add_argument("file", metavar="FILE", help="a file, or - for standard input")
    read.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    read.add_argument("--chunks", action="store_true", help="print the chunks for a search, each with its place")
    read.add_argument("--name", default="", help="the name that shows the format, such as notes.md for standard input")
    read.add_argument("--type", default="", help="the media type that it must have, such as text/csv; charset=koi8-r")
    read.add_argument(
        "--memory", type=int, default=DEFAULT_LIMITS.memory_bytes // MIB, help="MiB that reading may take"
    )
    read.add_argument(
        "--seconds", type=int, default=DEFAULT_LIMITS.seconds, help="processor time that reading may take"
    )
    return parser
