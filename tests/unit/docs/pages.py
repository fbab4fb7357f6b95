"""Reading the project's Markdown: fenced blocks, tables, links and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
_FENCE = re.compile(r"^( {0,3})(```+)(\w*)[^\n]*\n(.*?)^\1\2[ ]*$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!--\s*(\w+)(?::\s*(\S+))?\s*-->\s*\Z")
_LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block and the word in the HTML comment right above it, if any: ``word``, or ``word: name``."""

    language: str
    mark: str | None
    text: str
    line: int
    name: str | None = None


def pages() -> list[Path]:
    """Every page the project shows: those at its root and those in docs/."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def name(page: Path) -> str:
    """The page's path, for test ids."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    results = []
    for match in _FENCE.finditer(text):
        mark = _MARK.search(text[: match.start()])
        line = text.count("\n", 0, match.start()) + 1
        results.append(Block(match[3], mark[1] if mark else None, match[4], line, mark[2] if mark else None))
    return results


def block(page: Path, mark: str) -> str:
    """The text of the page's only block with this mark."""
    [result] = [block.text for block in blocks(page) if block.mark == mark]
    return result


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def table(page: Path, first_column: str) -> dict[str, list[str]]:
    """The rows of every table whose first column is headed ``first_column``, by their first cell without back-ticks."""
    rows: dict[str, list[str]] = {}
    inside = False
    for line in prose(page).splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[0] == first_column:
            inside = True
        elif inside and not set(cells[0]) <= set("-: "):
            assert cells[0] not in rows, f"{name(page)} has two rows for {cells[0]}"
            rows[cells[0].strip("`")] = cells[1:]
    return rows


def links(page: Path) -> Iterator[str]:
    """Addresses of the page's links and images."""
    yield from _LINK.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """The anchors GitHub makes of the page's headings."""
    headings = re.findall(r"^#{1,6}\s+(.+?)\s*$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
