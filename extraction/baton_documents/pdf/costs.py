"""Costs of pages of PDF files, counted before PDFium reads them.

PDFium creates objects for everything that a page draws, and again for each call of a form XObject: some kilobytes of a
file may need gigabytes of memory. This module executes nothing: it counts calls in the streams, and multiplies them
along each path. The glyphs of Type 3 fonts are streams too, but PDFium executes each of them only once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pdfminer.pdftypes import PDFStream

from baton_documents.pdf.bounds import CALL, MAX_TREE, PdfGraph, decode_name, identify, read_name
from baton_documents.pdf.streams import unpack

MAX_EXECUTIONS = 10_000
"""The most executions of streams by one page: its own, glyphs, and each call of a form XObject."""
MAX_MARKERS = 100_000
"""The most direct calls of form XObjects that call nothing. A chart has one for each of its points."""
MAX_LEVELS = 25
"""The deepest nesting of form XObjects. A browser writes one for each transparent element. PDFium follows 40 levels."""
MAX_CONTENT = 32 * 1024 * 1024
"""The most bytes of streams that one page executes. PDFium needs up to 40 times as much memory."""
MAX_CHARACTERS = 1_000_000
"""The most bytes of strings that one page shows. PDFium needs up to 700 bytes for a character."""
MAX_ANNOTATIONS = 2_000
"""The most notes, links and fields of one page."""
MAX_WRITTEN_GLYPHS = 10
"""The most fonts of a page whose glyphs show text, in other fonts or in each other."""
_STRING = re.compile(rb"\((?:[^()\\]|\\.)*+\)|<[0-9A-Fa-f\s]*+>", re.DOTALL)
_SHOWN = re.compile(rb"T[jJ]|['\"]")
"""Operators that show a string."""


class Cost(NamedTuple):
    """The resources that the execution of a stream needs, including the streams that it calls."""

    executions: int = 0
    content: int = 0
    """The bytes of executed streams."""
    characters: int = 0
    """The bytes of shown strings."""
    levels: int = 0
    """The levels of calls of form XObjects."""
    markers: int = 0
    """The direct calls of form XObjects that call nothing."""

    @property
    def is_too_high(self) -> bool:
        """Whether the cost exceeds a limit."""
        return (
            self.executions > MAX_EXECUTIONS
            or self.content > MAX_CONTENT
            or self.characters > MAX_CHARACTERS
            or self.levels > MAX_LEVELS
            or self.markers > MAX_MARKERS
        )

    def add(self, other: Cost, times: int = 1) -> Cost:
        """Return the sum of this cost and ``times`` the cost of another stream."""
        return Cost(
            self.executions + times * other.executions,
            self.content + times * other.content,
            self.characters + times * other.characters,
            max(self.levels, other.levels),
            self.markers + times * other.markers,
        )


BOUNDLESS = Cost(executions=MAX_EXECUTIONS + 1)
"""The cost of a stream that is too large or calls itself."""


@dataclass(slots=True)
class PageCosts:
    """The costs of the pages of one file."""

    graph: PdfGraph
    count: int = 0
    """The number of pages that were examined."""
    _streams: dict[tuple[object, object], Cost] = field(default_factory=dict)
    _fonts: dict[object, tuple[Cost, bool]] = field(default_factory=dict)
    """For each font, the cost of its glyphs, and whether some of them show text."""
    _around: set[tuple[object, object]] = field(default_factory=set)
    """Forms whose cost is being counted. A form that calls itself has no bounded cost."""

    def find_costly_pages(self, first: int, last: int) -> set[int]:
        """Return the numbers of pages in a range whose cost is too high.

        Raises ``DocumentRefused`` if the file has too many pages.
        """
        pages = set()
        for number, page in enumerate(self.graph.walk_pages(), 1):
            if number > last:
                break
            self.count = number
            if number >= first and self._measure_page(page).is_too_high:
                pages.add(number)
        return pages

    def _measure_page(self, page: Mapping[str, Any]) -> Cost:
        """Return the cost of a page; ``BOUNDLESS`` if it has too many annotations or a bomb."""
        contents = self.graph.resolve(page.get("Contents"))
        streams = contents if isinstance(contents, list) else [contents]
        by_identity = {identify(stream): stream for stream in streams}
        resources = page.get("Resources")
        if len(self.graph.read_array(page.get("Annots"))) > MAX_ANNOTATIONS or self.graph.has_bomb(resources):
            return BOUNDLESS
        total = self._measure_glyphs(resources)
        for key, times in Counter(map(identify, streams)).items():
            if total.is_too_high:
                break
            total = total.add(self._measure_stream(by_identity[key], resources, 0), times)
        return total

    def _measure_stream(self, reference: Any, resources: Any, level: int) -> Cost:
        """Return the cost of a stream at a level of calls. A form without resources uses those of the caller."""
        stream = self.graph.resolve(reference)
        if not isinstance(stream, PDFStream):
            return Cost()
        resources = stream.attrs.get("Resources", resources) if level else resources
        key = identify(reference), identify(resources)
        if key in self._streams:
            return self._streams[key]
        if key in self._around or level > MAX_TREE:
            return BOUNDLESS
        self._around.add(key)
        content = unpack(stream)
        if content is None:
            cost = BOUNDLESS
        else:
            characters = len(content)
            # In a page with fewer bytes, the exact number hardly matters.
            if level or characters > MAX_CHARACTERS // 100:
                characters = sum(match.end() - match.start() for match in _STRING.finditer(content))
            cost = Cost(1, len(content), characters).add(self._measure_calls(content, resources, level))
        self._around.discard(key)
        self._streams[key] = cost
        return cost

    def _measure_calls(self, content: bytes, resources: Any, level: int) -> Cost:
        """Return the cost of the calls in the content of a page (level 0) or form."""
        names = (match[1] for match in CALL.finditer(content))
        calls = Counter(decode_name(name) if name is not None else None for name in names)
        forms = self.graph.find_forms(resources) if calls else {}
        # A name that is written in an unusual way may be that of any form.
        called = forms.keys() if None in calls else forms.keys() & calls.keys()
        costs = {name: self._measure_stream(forms[name], resources, level + 1) for name in called}
        if not level:
            costs = {name: _as_marker(cost) for name, cost in costs.items()}
        total = Cost()
        for name, times in calls.items():
            if name in costs:
                total = total.add(costs[name], times)
            elif name is None and costs:
                total = total.add(max(costs.values()), times)
        return total._replace(levels=total.levels + 1) if calls and costs else total

    def _measure_glyphs(self, resources: Any) -> Cost:
        """Return the cost of the glyphs of all Type 3 fonts that a page, its forms and its glyphs may use."""
        total, written = Cost(), 0
        passed: set[object] = set()
        ahead = [resources]
        while ahead and not total.is_too_high:
            resources = ahead.pop()
            if identify(resources) in passed:
                continue
            passed.add(identify(resources))
            for reference, font in self._find_glyph_fonts(resources):
                if identify(reference) in passed:
                    continue
                passed.add(identify(reference))
                # A font without resources uses those of the page, which include the font.
                own = font.get("Resources", resources)
                cost, is_written = self._measure_font(reference, font, own)
                total, written = total.add(cost), written + is_written
                ahead.append(own)
            ahead += [
                self.graph.read_dictionary(form).get("Resources") for form in self.graph.find_forms(resources).values()
            ]
        return BOUNDLESS if written > MAX_WRITTEN_GLYPHS else total

    def _find_glyph_fonts(self, resources: Any) -> Iterator[tuple[Any, Mapping[str, Any]]]:
        """Yield the references to Type 3 fonts, each with the font."""
        for reference in self.graph.read_dictionary(self.graph.read_dictionary(resources).get("Font")).values():
            font = self.graph.read_dictionary(reference)
            if read_name(self.graph.resolve(font.get("Subtype"))) == "Type3":
                yield reference, font

    def _measure_font(self, reference: Any, font: Mapping[str, Any], resources: Any) -> tuple[Cost, bool]:
        """Return the cost of all glyphs of a Type 3 font, and whether some of them show text."""
        key = identify(reference), identify(resources)
        if key not in self._fonts:
            total, is_written = Cost(), False
            for glyph in self.graph.read_dictionary(font.get("CharProcs")).values():
                total = total.add(self._measure_stream(glyph, resources, 1))
                if total.is_too_high:
                    break
                is_written = is_written or self._shows_text(glyph)
            self._fonts[key] = total, is_written
        return self._fonts[key]

    def _shows_text(self, glyph: Any) -> bool:
        stream = self.graph.resolve(glyph)
        return isinstance(stream, PDFStream) and _SHOWN.search(unpack(stream) or b"") is not None


def _as_marker(cost: Cost) -> Cost:
    """Return the cost of a form that calls nothing as that of a marker, and other costs unchanged."""
    return cost._replace(executions=0, markers=1) if cost.executions == 1 else cost
