"""Letters of fonts that are only known by the names of their glyphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pdfminer.encodingdb import name2unicode
from pdfminer.psparser import PSLiteral

from baton_documents.pdf.bounds import PdfGraph, identity, name_of

MAX_FONTS = 1_000
"""The most fonts of a page that are examined."""
_NUMBERED = re.compile(r"[A-Za-z]{1,2}(\d{1,3})")
"""A name that only contains the letter's code, as TeX writes it for bitmap fonts."""


@dataclass(slots=True)
class GlyphNames:
    """The names of the glyphs of a page's fonts."""

    graph: PdfGraph | None
    page_number: int
    _fonts: dict[str, dict[int, str]] | None = field(default=None)

    def letter(self, font: str, code: int) -> str:
        """Return the letter of a code in a font; empty if it is unknown, or if fonts of the same name differ."""
        if self._fonts is None:
            self._fonts = {}
            for name, differences in self._named_fonts():
                letters = self._fonts.setdefault(name, {})
                for number, letter in _letters(differences):
                    letters[number] = letter if letters.get(number, letter) == letter else ""
        return self._fonts.get(font, {}).get(code, "")

    def _named_fonts(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the names of fonts, each with the codes and names of its glyphs."""
        graph = self.graph
        if graph is None:
            return
        ahead = [graph.page(self.page_number).get("Resources")]
        passed: set[object] = set()
        while ahead and len(passed) < MAX_FONTS:
            resources = ahead.pop()
            if identity(resources) in passed:
                continue
            passed.add(identity(resources))
            ahead += [graph.dictionary(form).get("Resources") for _, form in graph.forms(resources)]
            for reference in graph.dictionary(graph.dictionary(resources).get("Font")).values():
                font: Mapping[str, Any] = graph.dictionary(reference)
                encoding = graph.dictionary(font.get("Encoding"))
                if "ToUnicode" not in font and "Differences" in encoding:
                    yield name_of(graph.resolved(font.get("BaseFont"))), graph.array(encoding["Differences"])


def _letters(differences: list[Any]) -> Iterator[tuple[int, str]]:
    code = 0
    for difference in differences:
        if isinstance(difference, int):
            code = difference
        elif isinstance(difference, PSLiteral):
            letter = _letter(str(difference.name), code)
            if letter:
                yield code, letter
            code += 1


def _letter(name: str, code: int) -> str:
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None and int(numbered[1]) == code:
        return chr(code) if 0x20 < code < 0x7F else ""
    try:
        return str(name2unicode(name))
    except (KeyError, ValueError):
        return ""
