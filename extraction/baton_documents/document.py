"""A document as a whole: its sections, pages, tables and text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from baton_documents.formats import DocumentFormat
from baton_documents.results import BlockKind, PageError, TextBlock

CELL_SEPARATOR = " | "
_RULE = re.compile(r":?-+:?")


@dataclass(frozen=True, slots=True)
class Section:
    """The blocks below one heading, up to the next heading of any level."""

    headings: tuple[str, ...]
    """The path of headings, outermost first; empty for the blocks before the first heading."""
    blocks: tuple[TextBlock, ...]
    """The blocks below the heading, without the heading."""

    @property
    def page(self) -> int | None:
        """The page of the first block; None without blocks, and in formats without pages."""
        return self.blocks[0].page if self.blocks else None

    @property
    def text(self) -> str:
        """The blocks as Markdown, separated by blank lines."""
        return _join(self.blocks)


@dataclass(frozen=True, slots=True)
class Page:
    """A page, slide or sheet."""

    number: int
    """From 1."""
    blocks: tuple[TextBlock, ...]
    error: str | None = None
    """The reason for which the page could not be read; None if it was read."""

    @property
    def text(self) -> str:
        """The blocks as Markdown, separated by blank lines."""
        return _join(self.blocks)


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Empty rows, and empty cells at the ends of rows, are left out except in Markdown."""

    rows: tuple[tuple[str, ...], ...]
    """The rows of cells. The first row is the header if the table has one."""
    page: int | None = None
    """The page, slide or sheet; None in formats without them."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was read."""

    format: DocumentFormat
    blocks: tuple[TextBlock, ...]
    """In the order of reading."""
    title: str | None = None
    """The title in the file's own data; None if it has none, or one that a program has generated, and for workbooks."""
    page_count: int | None = None
    """The number of pages, slides or sheets; None in formats without them."""
    page_errors: tuple[PageError, ...] = ()

    @property
    def text(self) -> str:
        """All blocks as Markdown, separated by blank lines."""
        return _join(self.blocks)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections in the order of reading."""
        return tuple(_divide_into_sections(self.blocks))

    @property
    def pages(self) -> tuple[Page, ...]:
        """The pages, slides or sheets; empty in formats without them."""
        blocks: dict[int, list[TextBlock]] = {number: [] for number in range(1, (self.page_count or 0) + 1)}
        for block in self.blocks:
            if block.page is not None:
                blocks.setdefault(block.page, []).append(block)
        errors = {error.page: error.message for error in self.page_errors}
        return tuple(Page(number, tuple(content), errors.get(number)) for number, content in sorted(blocks.items()))

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables in the order of reading. A cell that contains " | ", or "|" in Markdown, becomes several cells."""
        cells = _split_markdown_row if self.format is DocumentFormat.MARKDOWN else _split_row
        return tuple(
            Table(tuple(row for line in block.text.split("\n") if (row := cells(line))), block.page)
            for block in self.blocks
            if block.kind is BlockKind.TABLE
        )


def _split_row(line: str) -> tuple[str, ...]:
    return tuple(line.split(CELL_SEPARATOR))


def _split_markdown_row(line: str) -> tuple[str, ...]:
    """Return the cells of a row in Markdown; empty for the line below the header."""
    cells = tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))
    return () if all(_RULE.fullmatch(cell) for cell in cells) else cells


def _join(blocks: Iterable[TextBlock]) -> str:
    return "\n\n".join(block.markdown for block in blocks)


def _divide_into_sections(blocks: Iterable[TextBlock]) -> Iterator[Section]:
    path: list[TextBlock] = []
    content: list[TextBlock] = []
    for block in blocks:
        if block.kind is not BlockKind.HEADING:
            content.append(block)
            continue
        if path or content:
            yield _make_section(path, content)
        path = [heading for heading in path if (heading.level or 1) < (block.level or 1)] + [block]
        content = []
    if path or content:
        yield _make_section(path, content)


def _make_section(path: Iterable[TextBlock], content: Iterable[TextBlock]) -> Section:
    return Section(tuple(heading.text for heading in path), tuple(content))
