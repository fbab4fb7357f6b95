"""Values of form fields, and notes on the pages of a PDF file."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pypdfium2.raw as pdfium_c
from pdfminer.utils import decode_text

from baton_documents.pdf.bounds import PdfGraph, read_name
from baton_documents.pdf.places import Box, PagePlaces
from baton_documents.pdf.words import Line, Word

CHECKED, UNCHECKED = "\u2611", "\u2610"
"""The marks of check boxes and radio buttons."""
MAX_OPTIONS = 1_000
"""The most options of one field that are read."""
MAX_PARENTS = 32
"""The most fields around a button."""
_NOT_SHOWN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13
"""The flag of text fields whose value is not shown (ISO 32000-1, 12.7.4.3)."""


@contextmanager
def open_form(document: Any) -> Iterator[Any]:
    """Open the form of a document; None if it has no form.

    pypdfium2's own function cannot be used: it must be called before the number of pages is read.
    """
    if document.get_formtype() == pdfium_c.FORMTYPE_NONE:
        yield None
        return
    settings = pdfium_c.FPDF_FORMFILLINFO(version=2)
    form = pdfium_c.FPDFDOC_InitFormFillEnvironment(document.raw, settings)
    try:
        yield form or None
    finally:
        if form:
            pdfium_c.FPDFDOC_ExitFormFillEnvironment(form)


def read_states(page: Any, graph: PdfGraph | None, page_number: int) -> dict[int, str]:
    """Return the stored states of a page's fields, by their indexes among its annotations; empty for unknown ones.

    Must be called before the form is opened, because PDFium then changes the states.
    """
    stored: dict[int, str] = {}
    for number, annotation in _open_annotations(page):
        if pdfium_c.FPDFAnnot_GetSubtype(annotation) == pdfium_c.FPDF_ANNOT_WIDGET:
            state = _read_string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"AS")
            stored[number] = state or _read_string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"V")
    if graph is not None and not all(stored.values()):
        annotations = graph.read_array(graph.find_page(page_number).get("Annots"))
        for number, state in stored.items():
            if not state and number < len(annotations):
                stored[number] = _find_button_state(graph, annotations[number])
    return stored


def _find_button_state(graph: PdfGraph, reference: Any) -> str:
    """Return the value of the group of a button without a state if it selects this button; otherwise empty."""
    button = graph.read_dictionary(reference)
    values = graph.read_dictionary(graph.read_dictionary(button.get("AP")).get("N")).keys() - {"Off"}
    value = options = None
    node = button
    for _ in range(MAX_PARENTS):
        value = graph.resolve(node.get("V")) if value is None else value
        options = node.get("Opt") if options is None else options
        if "Parent" not in node:
            break
        node = graph.read_dictionary(node["Parent"])
    chosen = _decode_value(value)
    # In a group with options, the buttons' names are the options' numbers.
    called = enumerate(graph.read_array(options)[:MAX_OPTIONS])
    numbers = [str(number) for number, reference in called if _decode_value(graph.resolve(reference)) == chosen]
    return chosen if chosen and not values.isdisjoint([chosen, *numbers]) else ""


def _decode_value(value: Any) -> str:
    """Return the text of a name or a string; empty for any other object."""
    return read_name(value) or (decode_text(value) if isinstance(value, bytes) else "")


def read_values(page: Any, form: Any, places: PagePlaces, states: Mapping[int, str]) -> Iterator[Word]:
    """Yield the values and marks of the visible fields of a page."""
    for number, annotation in _open_annotations(page):
        if number in states and _is_shown(annotation):
            yield from _make_word(annotation, _read_value(annotation, form, states[number]), places)


def read_notes(page: Any, places: PagePlaces) -> Iterator[Word]:
    """Yield the texts of notes that are visible on the page, unlike notes behind an icon."""
    for _, annotation in _open_annotations(page):
        is_note = pdfium_c.FPDFAnnot_GetSubtype(annotation) == pdfium_c.FPDF_ANNOT_FREETEXT
        if is_note and _is_shown(annotation):
            yield from _make_word(
                annotation, _read_string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Contents"), places
            )


def _open_annotations(page: Any) -> Iterator[tuple[int, Any]]:
    """Yield the annotations of a page with their indexes. An annotation is closed when the next one is requested."""
    for number in range(max(pdfium_c.FPDFPage_GetAnnotCount(page.raw), 0)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page.raw, number)
        if annotation:
            try:
                yield number, annotation
            finally:
                pdfium_c.FPDFPage_CloseAnnot(annotation)


def _is_shown(annotation: Any) -> bool:
    return not pdfium_c.FPDFAnnot_GetFlags(annotation) & _NOT_SHOWN


def _make_word(annotation: Any, text: str, places: PagePlaces) -> Iterator[Word]:
    """Yield the text of an annotation as one word, unless it is empty or outside the page."""
    box, text = _find_box(annotation, places), text.strip().replace("\r\n", "\n").replace("\r", "\n")
    if text and box.intersect(places.whole).area > 0:
        yield Word(text, box, is_value=True)


def put_in(lines: list[Line], values: Sequence[Word]) -> list[Line]:
    """Insert values into lines, next to the closest words at their height or as separate lines. Return the lines."""
    boxes = [line.box for line in lines]
    for value in sorted(values, key=lambda value: (value.box.top, value.box.left)):
        beside = [
            (_measure_distance(line, value), index)
            for index, (line, box) in enumerate(zip(lines, boxes, strict=True))
            if line.is_upright and _is_beside(box, value.box)
        ]
        if beside:
            index = min(beside)[1]
            words = lines[index].words
            words.insert(sum(word.box.left < value.box.left for word in words), value)
            boxes[index] = boxes[index].unite(value.box)
            continue
        above = [index for index, box in enumerate(boxes) if box.bottom <= value.box.middle]
        index = max(above, key=lambda index: boxes[index].bottom) + 1 if above else 0
        lines.insert(index, Line([value], lines[index - 1].size if above else 0.0))
        boxes.insert(index, value.box)
    return lines


def _is_beside(line: Box, value: Box) -> bool:
    """Return whether a value is at the height of a line."""
    return value.top <= line.middle <= value.bottom or line.top <= value.middle <= line.bottom


def _measure_distance(line: Line, value: Word) -> float:
    """Return the distance of a value from the closest word of a line, in points."""
    return min(max(word.box.left - value.box.right, value.box.left - word.box.right, 0.0) for word in line.words)


def _read_value(annotation: Any, form: Any, state: str) -> str:
    """Return the shown text or mark of a field; empty for buttons and passwords."""
    match pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation):
        case pdfium_c.FPDF_FORMFIELD_CHECKBOX | pdfium_c.FPDF_FORMFIELD_RADIOBUTTON:
            return UNCHECKED if state in ("", "Off") else CHECKED
        case pdfium_c.FPDF_FORMFIELD_TEXTFIELD:
            if pdfium_c.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
                return ""
            return _read_string(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)
        case pdfium_c.FPDF_FORMFIELD_COMBOBOX | pdfium_c.FPDF_FORMFIELD_LISTBOX:
            return _read_selection(annotation, form)
    return ""


def _read_selection(annotation: Any, form: Any) -> str:
    """Return the selected options of a list, joined with commas."""
    count = min(pdfium_c.FPDFAnnot_GetOptionCount(form, annotation), MAX_OPTIONS)
    chosen = [
        _read_string(pdfium_c.FPDFAnnot_GetOptionLabel, form, annotation, number)
        for number in range(max(count, 0))
        if pdfium_c.FPDFAnnot_IsOptionSelected(form, annotation, number)
    ]
    # A list that also accepts other values may have a value that is not an option.
    return ", ".join(chosen) or _read_string(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)


def _read_string(getter: Any, *arguments: Any) -> str:
    """Return the string that a function of PDFium writes into a buffer; empty without one."""
    size = getter(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = (pdfium_c.FPDF_WCHAR * (size // 2))()
    getter(*arguments, buffer, size)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")


def _find_box(annotation: Any, places: PagePlaces) -> Box:
    """Return the box of an annotation on the shown page."""
    rectangle = pdfium_c.FS_RECTF()
    pdfium_c.FPDFAnnot_GetRect(annotation, ctypes.byref(rectangle))
    left, right = sorted((rectangle.left, rectangle.right))
    bottom, top = sorted((rectangle.bottom, rectangle.top))
    return places.place_box(left, bottom, right, top)
