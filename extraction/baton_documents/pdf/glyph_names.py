"""Letters of fonts that are only known by the names of their glyphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pdfminer.encodingdb import name2unicode
from pdfminer.psparser import PSLiteral

from baton_documents.pdf.bounds import PdfGraph, identify, read_name

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
    """The letters of codes, by the names of fonts; None before the first call."""

    def find_letter(self, font: str, code: int) -> str:
        """Return the letter of a code in a font; empty if it is unknown, or if fonts of the same name differ."""
        if self._fonts is None:
            self._fonts = {}
            for name, differences in self._find_fonts():
                letters = self._fonts.setdefault(name, {})
                for number, letter in _read_letters(differences):
                    letters[number] = letter if letters.get(number, letter) == letter else ""
        return self._fonts.get(font, {}).get(code, "")

    def _find_fonts(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the names of fonts, each with the codes and names of its glyphs."""
        graph = self.graph
        if graph is None:
            return
        ahead = [graph.find_page(self.page_number).get("Resources")]
        passed: set[object] = set()
        while ahead and len(passed) < MAX_FONTS:
            resources = ahead.pop()
            if identify(resources) in passed:
                continue
            passed.add(identify(resources))
            ahead += [graph.read_dictionary(form).get("Resources") for form in graph.find_forms(resources).values()]
            for reference in graph.read_dictionary(graph.read_dictionary(resources).get("Font")).values():
                font: Mapping[str, Any] = graph.read_dictionary(reference)
                encoding = graph.read_dictionary(font.get("Encoding"))
                if "ToUnicode" not in font and "Differences" in encoding:
                    yield read_name(graph.resolve(font.get("BaseFont"))), graph.read_array(encoding["Differences"])


def _read_letters(differences: list[Any]) -> Iterator[tuple[int, str]]:
    """Yield the codes of known letters, each with the letter, from the differences of an encoding."""
    code = 0
    for difference in differences:
        if isinstance(difference, int):
            code = difference
        elif isinstance(difference, PSLiteral):
            letter = _read_letter(str(difference.name), code)
            if letter:
                yield code, letter
            code += 1


def _read_letter(name: str, code: int) -> str:
    """Return the letter that the name of a glyph means; empty if it is unknown."""
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None and int(numbered[1]) == code:
        return chr(code) if 0x20 < code < 0x7F else ""
    try:
        return str(name2unicode(name))
    except (KeyError, ValueError):
        return ""
