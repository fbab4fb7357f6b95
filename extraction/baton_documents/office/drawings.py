"""The texts of shapes, charts and diagrams in Office files (DrawingML)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from baton_documents.office.equations import write_equation
from baton_documents.office.number_words import write_number
from baton_documents.office.xml import qname
from baton_documents.results import BlockKind, TextBlock
from baton_documents.text.inline_text import mark_script
from baton_documents.text.plain_text import format_table
from baton_documents.text.symbol_fonts import decode_symbols

MAX_POINTS = 10_000
"""The most points of a series of a chart. Their indexes in the file must be smaller."""
MAX_SERIES = 255
"""The most series of a chart (a limit of Excel)."""
MAX_LABEL = 1_000
"""The characters after which no further level is added to a label of several levels."""
_P, _RUN, _FIELD, _BREAK = map(qname, ("a:p", "a:r", "a:fld", "a:br"))
_FORMS = {
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "arabic": "decimal",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
    "circleNum": "decimalEnclosedCircle",
    "ea1": "chineseCounting",
}
_ENDINGS = (("ParenBoth", "({})"), ("ParenR", "{})"), ("Period", "{}."), ("Minus", "- {} -"), ("Plain", "{}"))


def read_paragraphs(body: Any, inherited: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Yield the paragraphs of a shape (``a:txBody``) with their numbers. Empty ones are left out.

    ``inherited`` holds the properties of levels from the layout of a slide.
    """
    counts: dict[int, tuple[str, int]] = {}
    properties_of_levels = {**(inherited or {}), **read_levels(body)}
    for paragraph in body.iterfind(_P):
        text = read_paragraph(paragraph).strip()
        if not text:
            continue
        level, scheme, start = _find_list_place(paragraph, properties_of_levels)
        for deeper in [count for count in counts if count > level]:
            del counts[deeper]
        if scheme is None:
            counts.pop(level, None)
            yield text
            continue
        before, count = counts.get(level, ("", 0))
        counts[level] = scheme, count + 1 if before == scheme else start
        yield f"{_format_number(scheme, counts[level][1])} {text}"


def read_levels(body: Any) -> dict[str, Any]:
    """Return the properties of a shape's levels of paragraphs, by their tags, such as ``a:lvl1pPr`` for the first."""
    return {level.tag: level for style in body.iterfind(qname("a:lstStyle")) for level in style if len(level)}


def read_paragraph(paragraph: Any) -> str:
    """Return the text of a paragraph (``a:p``) from its runs, fields, line breaks and equations."""
    parts: list[str] = []
    for child in paragraph:
        if child.tag in (_RUN, _FIELD):
            properties = child.find(qname("a:rPr"))
            text = decode_symbols(child.findtext(qname("a:t")) or "", _find_font(properties))
            parts.append(_mark_shifted(text, properties, parts[-1] if parts else ""))
        elif child.tag == _BREAK:
            parts.append("\n")
        elif child.tag in (qname("m:oMath"), qname("m:oMathPara")):
            parts.append(write_equation(child))
        elif child.tag == qname("a14:m"):
            parts.append(read_paragraph(child))
        elif child.tag == qname("mc:AlternateContent"):
            parts.append(next(filter(None, map(read_paragraph, child)), ""))
    return "".join(parts)


def _mark_shifted(text: str, properties: Any | None, before: str) -> str:
    """Return the text of a run, marked if it is a superscript or a subscript."""
    baseline = (properties.get("baseline") if properties is not None else None) or "0"
    if baseline.strip("0%.") in ("", "-"):
        return text
    return mark_script(text, before, is_raised=not baseline.startswith("-"))


def read_chart(root: Any) -> Iterator[TextBlock]:
    """Yield the title of a chart, and a table of the values with which it was last drawn."""
    title = root.find(f".//{qname('c:chart')}/{qname('c:title')}")
    if title is not None and (text := " ".join(filter(None, map(_read_line, title.iter(_P))))):
        yield TextBlock(BlockKind.PARAGRAPH, text)
    series = list(islice(root.iter(qname("c:ser")), MAX_SERIES))
    names = [" ".join(_read_points(line.find(qname("c:tx"))).values()) for line in series]
    columns = [_read_points(_find_first(line, "c:val", "c:yVal")) for line in series]
    categories: dict[int, str] = {}
    for line in series:
        categories = categories or _read_points(_find_first(line, "c:cat", "c:xVal"))
    places = sorted(set(categories).union(*columns))
    rows = [[categories.get(index, ""), *(column.get(index, "") for column in columns)] for index in places]
    if text := format_table([["", *names], *rows] if any(names) else rows):
        yield TextBlock(BlockKind.TABLE, text)


def read_diagram(root: Any) -> Iterator[TextBlock]:
    """Yield the texts of a diagram (SmartArt) as items of a list."""
    for point in root.iter(qname("dgm:pt")):
        body = point.find(qname("dgm:t"))
        if body is not None and point.get("type", "node") in ("node", "asst"):
            for text in read_paragraphs(body):
                yield TextBlock(BlockKind.LIST_ITEM, text)


def _read_line(paragraph: Any) -> str:
    """Return the text of a paragraph on one line."""
    return " ".join(read_paragraph(paragraph).split())


def _find_first(series: Any, *names: str) -> Any | None:
    return next((child for name in names if (child := series.find(qname(name))) is not None), None)


def _read_points(data: Any | None) -> dict[int, str]:
    """Return the texts of a series by their indexes, below ``MAX_POINTS``. Labels of several levels are joined."""
    points: dict[int, str] = {}
    if data is None:
        return points
    for value in data.findall(qname("c:v")):
        points[0] = value.text or ""
    for point in data.iter(qname("c:pt")):
        index = point.get("idx", "")
        if index.isdecimal() and len(index) < 8 and (number := int(index)) < MAX_POINTS:
            text = point.findtext(qname("c:v")) or ""
            outer = points.get(number, "")
            points[number] = f"{text} {outer}" if 0 < len(outer) < MAX_LABEL else outer or text
    return points


def _find_font(properties: Any | None) -> str | None:
    if properties is None:
        return None
    fonts = (properties.find(qname(name)) for name in ("a:sym", "a:latin"))
    return next((font.get("typeface") for font in fonts if font is not None), None)


def _find_list_place(paragraph: Any, properties_of_levels: Mapping[str, Any]) -> tuple[int, str | None, int]:
    """Return the level of a paragraph, the scheme of its numbers (None without numbers), and the first number."""
    properties = paragraph.find(qname("a:pPr"))
    announced = properties.get("lvl", "0") if properties is not None else "0"
    level = min(int(announced), 8) if announced.isdecimal() and len(announced) < 3 else 0
    inherited = properties_of_levels.get(qname(f"a:lvl{level + 1}pPr"))
    for element in (properties, inherited):
        if element is None:
            continue
        if (numbers := element.find(qname("a:buAutoNum"))) is not None:
            start = numbers.get("startAt", "1")
            return level, numbers.get("type", ""), int(start) if start.isdecimal() and len(start) < 6 else 1
        if any(element.find(qname(name)) is not None for name in ("a:buNone", "a:buChar", "a:buBlip")):
            return level, None, 1
    return level, None, 1


def _format_number(scheme: str, number: int) -> str:
    form = next((form for prefix, form in _FORMS.items() if scheme.startswith(prefix)), "decimal")
    frame = next((frame for ending, frame in _ENDINGS if scheme.endswith(ending)), "{}")
    return frame.format(write_number(number, form))
