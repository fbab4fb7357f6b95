"""Word documents."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import docx
from docx.oxml.ns import qn
from lxml import etree

from baton.adapters.extraction import refusals
from baton.adapters.extraction.tables import table_text
from baton.domain.extracted import BlockKind, ExtractedText, TextBlock

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""An older form of what stands beside it."""
_TRANSPARENT = frozenset(
    qn(name) for name in ("w:body", "w:sdt", "w:sdtContent", "w:ins", "w:customXml", "w:smartTag", "w:moveTo")
)
"""Elements around paragraphs and tables."""
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True)


def extract(body: bytes) -> ExtractedText:
    """Return paragraphs, lists and tables in their order, then the notes. Deleted text is left out."""
    try:
        document = docx.Document(io.BytesIO(body))
        styles = {style.style_id: str(style.name) for style in document.styles if style.name}
        blocks = [*_blocks(document.element.body, styles), *_notes(document)]
        title = document.core_properties.title
    except (KeyError, ValueError, AttributeError, TypeError, etree.LxmlError):
        # What python-docx raises for a file with missing or wrong parts.
        raise refusals.damaged() from None
    return ExtractedText(tuple(blocks), title or None)


def _blocks(body: Any, styles: dict[str, str]) -> Iterator[TextBlock]:
    ahead = [body]
    while ahead:
        element = ahead.pop()
        if element.tag == qn("w:p"):
            text = _text(element).strip()
            if text:
                yield _paragraph(element, text, styles)
        elif element.tag == qn("w:tbl"):
            text = table_text(_rows(element))
            if text:
                yield TextBlock(BlockKind.TABLE, text)
        elif element.tag in _TRANSPARENT:
            ahead.extend(reversed(element))


def _paragraph(element: Any, text: str, styles: dict[str, str]) -> TextBlock:
    style = element.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
    name = styles.get(style.get(qn("w:val")), "") if style is not None else ""
    if found := _HEADING.fullmatch(name):
        return TextBlock(BlockKind.HEADING, text, level=int(found[1]))
    if name.lower() == "title":
        return TextBlock(BlockKind.HEADING, text, level=1)
    outline = element.find(f"{qn('w:pPr')}/{qn('w:outlineLvl')}")
    if outline is not None and outline.get(qn("w:val"), "9").isdigit() and int(outline.get(qn("w:val"), "9")) < 9:
        return TextBlock(BlockKind.HEADING, text, level=int(outline.get(qn("w:val"))) + 1)
    is_item = element.find(f"{qn('w:pPr')}/{qn('w:numPr')}") is not None or name.lower().startswith("list")
    return TextBlock(BlockKind.LIST_ITEM if is_item else BlockKind.PARAGRAPH, text)


def _rows(table: Any) -> Iterator[list[str]]:
    for row in table.iter(qn("w:tr")):
        if next(row.iterancestors(qn("w:tbl"))) is table:
            yield [
                _text(cell, between=" ") for cell in row.iter(qn("w:tc")) if next(cell.iterancestors(qn("w:tr"))) is row
            ]


def _text(element: Any, between: str = "\n") -> str:
    """Return the text of an element: of its runs, with tabs and breaks, and of paragraphs in boxes."""
    parts: list[str] = []
    ahead = [element]
    while ahead:
        each = ahead.pop()
        if each.tag == qn("w:t"):
            parts.append(each.text or "")
        elif each.tag == qn("w:tab"):
            parts.append("\t")
        elif each.tag in (qn("w:br"), qn("w:cr")):
            parts.append("\n")
        elif each.tag == qn("w:noBreakHyphen"):
            parts.append("\u2011")
        elif each.tag not in (_FALLBACK, qn("w:pPr"), qn("w:rPr")):
            if each.tag == qn("w:p") and parts:
                parts.append(between)
            ahead.extend(reversed(each))
    return "".join(parts)


def _notes(document: Any) -> Iterator[TextBlock]:
    for relation in document.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(("/footnotes", "/endnotes")):
            for paragraph in etree.fromstring(relation.target_part.blob, _PARSER).iter(qn("w:p")):
                if text := _text(paragraph).strip():
                    yield TextBlock(BlockKind.PARAGRAPH, text)
