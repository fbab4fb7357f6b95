"""The objects that a page of a PDF file draws: hidden text, pictures, and the lines around cells of tables."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw as pdfium_c
from pdfminer.utils import decode_text

from baton_documents.pdf.layers import FormCall, Layers
from baton_documents.pdf.places import Box, PagePlaces

MAX_OBJECTS = 50_000
"""The most objects of a page that are examined. A page with more is a drawing, and all its text counts as visible."""
MAX_POINTS = 200_000
"""The most points of paths and clips of a page that are examined."""
MAX_GROUNDS = 300
"""The most coloured areas that are searched for the background of white text. With more, white text is visible."""
MAX_LINES = 1_500
"""The most drawn lines. A page with more shows a picture. The time to find tables grows with their square."""
_MAX_LEVELS = 25
"""The deepest nesting of forms whose objects are examined."""
_LONG = 4.0
"""The shortest line that may be one of a table, in points."""
_WHITE = 250
"""The least red, green and blue, of at most 255, of a colour that counts as white."""
_LONGEST_SPAN = 16
"""The longest replacement text (ActualText) that is used, in characters."""
_INVISIBLE = frozenset({pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium_c.FPDF_TEXTRENDERMODE_CLIP})
_Matrix = tuple[float, float, float, float, float, float]
_SAME: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(slots=True)
class Span:
    """Text objects that show one text together, which the file states."""

    text: str
    box: Box


@dataclass(slots=True)
class PageObjects:
    """Facts about the objects of one page. Text objects are known by their addresses in memory."""

    hidden: set[int] = field(default_factory=set)
    """Text objects that are not shown."""
    invisible: set[int] = field(default_factory=set)
    """Text objects that are drawn without ink, as OCR programs do."""
    pictures: list[Box] = field(default_factory=list)
    points: int = 0
    """The number of points of paths and clips that were examined."""
    shapes: int = 0
    """The number of filled paths."""
    lines: list[Box] = field(default_factory=list)
    """Drawn lines and edges, each without width or height."""
    spans: dict[int, Span] = field(default_factory=dict)
    """The spans of text objects, by the objects' addresses. Objects of one span share it."""

    def measure_cover(self, page: Box) -> float:
        """Return the share of the page that the largest picture covers."""
        return max((picture.intersect(page).area for picture in self.pictures), default=0.0) / max(page.area, 1.0)


def read(page: Any, places: PagePlaces, layers: Layers, *, with_spans: bool = False) -> PageObjects:
    """Return the objects of a page. Text in ``layers`` is hidden. Spans are only found ``with_spans``.

    Of a page with more than ``MAX_OBJECTS``, only pictures are returned.
    """
    objects = PageObjects()
    spans: dict[int, Span] = {}  # by the addresses of their marks
    white: list[tuple[int, Box]] = []
    grounds: list[Box] = []
    for number, (item, matrix, is_off) in enumerate(_walk_objects(page, layers)):
        if number >= MAX_OBJECTS:
            return PageObjects(pictures=objects.pictures)
        kind = pdfium_c.FPDFPageObj_GetType(item)
        if kind == pdfium_c.FPDF_PAGEOBJ_TEXT:
            address = find_address(item)
            if with_spans:
                _add_span(item, matrix, places, spans, objects)
            color = _read_fill_color(item)
            if is_off or color[3] == 0 or _is_clipped(item, objects):
                objects.hidden.add(address)
            elif pdfium_c.FPDFTextObj_GetTextRenderMode(item) in _INVISIBLE:
                objects.invisible.add(address)
            elif min(color[:3]) >= _WHITE and pdfium_c.FPDFTextObj_GetTextRenderMode(item) == 0:
                box = _find_bounds(item, matrix, places)
                if len(grounds) <= MAX_GROUNDS and not any(ground.holds(box) for ground in grounds):
                    white.append((address, box))
        elif is_off:
            continue
        elif kind == pdfium_c.FPDF_PAGEOBJ_PATH:
            _read_path(item, matrix, places, objects)
            if _is_filled(item):
                objects.shapes += 1
                if min(_read_fill_color(item)[:3]) < _WHITE:
                    grounds.append(_find_bounds(item, matrix, places))
        elif kind in (pdfium_c.FPDF_PAGEOBJ_IMAGE, pdfium_c.FPDF_PAGEOBJ_SHADING):
            box = _find_bounds(item, matrix, places)
            grounds.append(box)
            if kind == pdfium_c.FPDF_PAGEOBJ_IMAGE:
                objects.pictures.append(box)
    objects.hidden.update(address for address, _ in white)
    return objects


def find_address(item: Any) -> int:
    """Return the address of an object in memory, which identifies it."""
    return ctypes.cast(item, ctypes.c_void_p).value or 0


@dataclass(slots=True)
class _Level:
    """The objects of a page or form, and the index of the next one."""

    parent: Any
    get_object: Callable[[Any, int], Any]
    count: int
    matrix: _Matrix = _SAME
    is_off: bool = False
    calls: tuple[FormCall, ...] = ()
    index: int = 0
    forms: int = 0

    def take_call(self) -> FormCall:
        """Return the call of the next form, and pass it. Without a known call, the form is shown."""
        self.forms += 1
        return self.calls[self.forms - 1] if self.forms <= len(self.calls) else FormCall(is_hidden=False)


def _walk_objects(page: Any, layers: Layers) -> Iterator[tuple[Any, _Matrix, bool]]:
    """Yield the objects in the order of drawing, each with the matrix of its form, and whether its layer is hidden.

    The objects of a form follow the form.
    """
    raw = page.raw
    count = pdfium_c.FPDFPage_CountObjects(raw)
    ahead = [_Level(raw, pdfium_c.FPDFPage_GetObject, count, calls=layers.calls)]
    while ahead:
        level = ahead[-1]
        if level.index >= level.count:
            ahead.pop()
            continue
        item = level.get_object(level.parent, level.index)
        level.index += 1
        is_off = level.is_off or (bool(layers.names) and _is_in_layer(item, layers.names))
        yield item, level.matrix, is_off
        if pdfium_c.FPDFPageObj_GetType(item) == pdfium_c.FPDF_PAGEOBJ_FORM and len(ahead) <= _MAX_LEVELS:
            call = level.take_call()
            inside = _multiply(_read_matrix(item), level.matrix)
            count = pdfium_c.FPDFFormObj_CountObjects(item)
            is_off = is_off or call.is_hidden
            ahead.append(_Level(item, pdfium_c.FPDFFormObj_GetObject, count, inside, is_off, call.inner))


def _add_span(
    item: Any, matrix: _Matrix, places: PagePlaces, spans: dict[int, Span], page_objects: PageObjects
) -> None:
    """Add the innermost span of a text object. A long span is left out, because it has no places of its letters."""
    for number in reversed(range(pdfium_c.FPDFPageObj_CountMarks(item))):
        mark = pdfium_c.FPDFPageObj_GetMark(item, number)
        if pdfium_c.FPDFPageObjMark_GetParamValueType(mark, b"ActualText") != pdfium_c.FPDF_OBJECT_STRING:
            continue
        text = _read_parameter(mark, b"ActualText")
        if len(text) <= _LONGEST_SPAN and not any(map(str.isspace, text)):
            box = _find_bounds(item, matrix, places)
            span = spans.setdefault(find_address(mark), Span(text, box))
            span.box = span.box.unite(box)
            page_objects.spans[find_address(item)] = span
        return


def _is_in_layer(item: Any, hidden_layers: frozenset[str]) -> bool:
    """Return whether a mark of an object refers to one of the layers."""
    for number in range(pdfium_c.FPDFPageObj_CountMarks(item)):
        mark = pdfium_c.FPDFPageObj_GetMark(item, number)
        if _read_name(mark) == "OC" and _read_parameter(mark, b"Name") in hidden_layers:
            return True
    return False


def _read_parameter(mark: Any, key: bytes) -> str:
    """Return a text parameter of a mark, decoded from its bytes, because PDFium's own function would assume UTF-8."""
    size = ctypes.c_ulong()
    if not pdfium_c.FPDFPageObjMark_GetParamBlobValue(mark, key, None, 0, size) or not size.value:
        return ""
    buffer = (ctypes.c_ubyte * size.value)()
    pdfium_c.FPDFPageObjMark_GetParamBlobValue(mark, key, buffer, size.value, size)
    return str(decode_text(bytes(buffer)))


def _read_name(mark: Any) -> str:
    """Return the name of a mark; empty without one."""
    size = ctypes.c_ulong()
    if not pdfium_c.FPDFPageObjMark_GetName(mark, None, 0, size) or not size.value:
        return ""
    # The size is in bytes, with the terminating zero.
    buffer = (pdfium_c.FPDF_WCHAR * (size.value // 2 + 1))()
    pdfium_c.FPDFPageObjMark_GetName(mark, buffer, size.value, size)
    return bytes(buffer)[: size.value].decode("utf-16-le", "replace").rstrip("\0")


def _read_matrix(item: Any) -> _Matrix:
    """Return the matrix of an object; ``_SAME`` without one."""
    matrix = pdfium_c.FS_MATRIX()
    if not pdfium_c.FPDFPageObj_GetMatrix(item, matrix):
        return _SAME
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _multiply(first: _Matrix, then: _Matrix) -> _Matrix:
    """Return the matrix that transforms as ``first`` and then ``then`` do."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = then
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _transform(x: float, y: float, matrix: _Matrix) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _read_corners(item: Any) -> tuple[float, float, float, float]:
    """Return the left, bottom, right and top edges of an object in the coordinates of its page or form."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    pdfium_c.FPDFPageObj_GetBounds(item, left, bottom, right, top)
    return left.value, bottom.value, right.value, top.value


def _find_bounds(item: Any, matrix: _Matrix, places: PagePlaces) -> Box:
    """Return the box of an object on the shown page."""
    left, bottom, right, top = _read_corners(item)
    points = [_transform(x, y, matrix) for x in (left, right) for y in (bottom, top)]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return places.place_box(min(xs), min(ys), max(xs), max(ys))


def _read_fill_color(item: Any) -> tuple[int, int, int, int]:
    """Return the red, green, blue and opacity with which an object is filled, from 0 to 255; black without a colour."""
    values = [ctypes.c_uint() for _ in range(4)]
    if not pdfium_c.FPDFPageObj_GetFillColor(item, *values):
        return 0, 0, 0, 255
    red, green, blue, alpha = (value.value for value in values)
    return red, green, blue, alpha


def _is_filled(item: Any) -> bool:
    mode, stroke = ctypes.c_int(), pdfium_c.FPDF_BOOL()
    return bool(pdfium_c.FPDFPath_GetDrawMode(item, mode, stroke)) and mode.value != pdfium_c.FPDF_FILLMODE_NONE


def _is_clipped(item: Any, page_objects: PageObjects) -> bool:
    """Return whether the clip of an object hides all of it. PDFium leaves out clips that hide nothing."""
    clip = pdfium_c.FPDFPageObj_GetClipPath(item)
    count = pdfium_c.FPDFClipPath_CountPaths(clip) if clip else 0
    left, bottom, right, top = _read_corners(item)
    for number in range(max(count, 0)):
        segments = max(pdfium_c.FPDFClipPath_CountPathSegments(clip, number), 0)
        page_objects.points += segments
        if page_objects.points > MAX_POINTS:
            return False
        points = [_read_point(pdfium_c.FPDFClipPath_GetPathSegment(clip, number, index)) for index in range(segments)]
        if points:
            left, right = max(left, min(x for x, _ in points)), min(right, max(x for x, _ in points))
            bottom, top = max(bottom, min(y for _, y in points)), min(top, max(y for _, y in points))
    return count > 0 and (left >= right or bottom >= top)


def _read_point(segment: Any) -> tuple[float, float]:
    x, y = ctypes.c_float(), ctypes.c_float()
    pdfium_c.FPDFPathSegment_GetPoint(segment, x, y)
    return x.value, y.value


def _read_path(item: Any, matrix: _Matrix, places: PagePlaces, page_objects: PageObjects) -> None:
    """Add the horizontal and vertical lines of a path."""
    lines, count = page_objects.lines, pdfium_c.FPDFPath_CountSegments(item)
    page_objects.points += max(count, 0)
    if len(lines) > MAX_LINES or page_objects.points > MAX_POINTS:
        return
    own = _multiply(_read_matrix(item), matrix)
    start = before = (0.0, 0.0)
    for number in range(count):
        segment = pdfium_c.FPDFPath_GetPathSegment(item, number)
        point = places.place_point(*_transform(*_read_point(segment), own))
        kind = pdfium_c.FPDFPathSegment_GetType(segment)
        if kind == pdfium_c.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == pdfium_c.FPDF_SEGMENT_LINETO:
            _add_line(before, point, lines)
        before = point
        if pdfium_c.FPDFPathSegment_GetClose(segment):
            _add_line(before, start, lines)
            before = start


def _add_line(start: tuple[float, float], end: tuple[float, float], lines: list[Box]) -> None:
    """Add a line if it is horizontal or vertical, and long enough."""
    width, height = abs(start[0] - end[0]), abs(start[1] - end[1])
    if (width < 1) != (height < 1) and max(width, height) >= _LONG:
        lines.append(Box(min(start[0], end[0]), min(start[1], end[1]), max(start[0], end[0]), max(start[1], end[1])))
