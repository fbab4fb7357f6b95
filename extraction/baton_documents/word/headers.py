"""Headers and footers of Word documents: which are shown, and which paragraphs only number pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_documents.office.package import Relation
from baton_documents.office.xml import qname, read_toggle
from baton_documents.word.fields import COUNTS

MOST_WORDS = 3
"""The most words besides numbers of a paragraph that only numbers pages, as in "Page 1 of 3"."""
_REFERENCES = (qname("w:headerReference"), qname("w:footerReference"))


def find_used_parts(body: Any, settings: Any | None, relations: Mapping[str, Relation]) -> list[str]:
    """Return the names of the parts with headers, and then of those with footers, that any section shows.

    A name occurs once. Headers and footers for first and even pages are shown only if the section or the document says
    so (ISO/IEC 29500-1 sections 17.10.1 and 17.10.6).
    """
    has_even = bool(read_toggle(settings, "w:evenAndOddHeaders"))
    names: dict[str, dict[str, None]] = {reference: {} for reference in _REFERENCES}
    for section in body.iter(qname("w:sectPr")):
        kinds = {"default": True, "first": bool(read_toggle(section, "w:titlePg")), "even": has_even}
        for reference in section.iterchildren(*_REFERENCES):
            relation = relations.get(reference.get(qname("r:id"), ""))
            if relation is not None and kinds.get(reference.get(qname("w:type"), "default"), False):
                names[reference.tag][relation.target] = None
    return [name for parts in names.values() for name in parts]


def remove_page_numbers(root: Any) -> None:
    """Remove the paragraphs that only number pages: with a field of ``COUNTS``, and few other words."""
    for paragraph in list(root.iter(qname("w:p"))):
        instructions = [element.text or "" for element in paragraph.iter(qname("w:instrText"))]
        instructions += [field.get(qname("w:instr"), "") for field in paragraph.iter(qname("w:fldSimple"))]
        if not any(COUNTS.intersection(instruction.upper().split()[:1]) for instruction in instructions):
            continue
        words = "".join(text.text or "" for text in paragraph.iter(qname("w:t"))).split()
        parent = paragraph.getparent()
        if sum(not word.strip("/|-").isdigit() for word in words) <= MOST_WORDS and parent is not None:
            parent.remove(paragraph)
