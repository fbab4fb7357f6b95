"""Values of form fields, and notes on the pages of a PDF file."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pypdfium2.raw as pdfium_c
from pdfminer.utils import decode_text

from baton_documents.pdf.bounds import PdfGraph, name_of
from baton_documents.pdf.places import Box, PagePlaces
from baton_documents.pdf.words import Line, Word

CHECKED, UNCHECKED = "\u2611", "\u2610"
MAX_OPTIONS = 1_000
"""The most options of one field that are read."""
MAX_PARENTS = 32
"""The most fields around a button."""
_NOT_SHOWN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13
"""The flag of text fields whose value is not shown (ISO 32000-1, 12.7.4.3)."""


@contextmanager
def form_of(document: Any) -> Iterator[Any]:
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


def states(page: Any, graph: PdfGraph | None, page_number: int) -> dict[int, str]:
    """Return the stored states of a page's fields, by their indexes among its annotations.

    Must be called before the form is opened, because PDFium then changes the states.
    """
    states_by_name: dict[int, str] = {}
    for number, annotation in _annotations(page):
        if pdfium_c.FPDFAnnot_GetSubtype(annotation) == pdfium_c.FPDF_ANNOT_WIDGET:
            state = _string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"AS")
            states_by_name[number] = state or _string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"V")
    if graph is not None and not all(states_by_name.values()):
        annotations = graph.array(graph.page(page_number).get("Annots"))
        for number, state in states_by_name.items():
            if not state and number < len(annotations):
                states_by_name[number] = _choose(graph, annotations[number])
    return states_by_name


def _choose(graph: PdfGraph, reference: Any) -> str:
    """Return the value of the group of a button without a state if it selects this button; otherwise empty."""
    button = graph.dictionary(reference)
    values = graph.dictionary(graph.dictionary(button.get("AP")).get("N")).keys() - {"Off"}
    value = options = None
    node = button
    for _ in range(MAX_PARENTS):
        value = graph.resolved(node.get("V")) if value is None else value
        options = node.get("Opt") if options is None else options
        if "Parent" not in node:
            break
        node = graph.dictionary(node["Parent"])
    chosen = _text(value)
    # In a group with options, the buttons' names are the options' numbers.
    called = enumerate(graph.array(options)[:MAX_OPTIONS])
    numbers = [str(number) for number, reference in called if _text(graph.resolved(reference)) == chosen]
    return chosen if chosen and not values.isdisjoint([chosen, *numbers]) else ""


def _text(value: Any) -> str:
    return name_of(value) or (decode_text(value) if isinstance(value, bytes) else "")


def values(page: Any, form: Any, places: PagePlaces, states: Mapping[int, str]) -> Iterator[Word]:
    """Yield the values and marks of the visible fields of a page."""
    for number, annotation in _annotations(page):
        if number in states and _is_shown(annotation):
            yield from _word(annotation, _value(annotation, form, states[number]), places)


def notes(page: Any, places: PagePlaces) -> Iterator[Word]:
    """Yield the texts of notes that are visible on the page, unlike notes behind an icon."""
    for _, annotation in _annotations(page):
        is_note = pdfium_c.FPDFAnnot_GetSubtype(annotation) == pdfium_c.FPDF_ANNOT_FREETEXT
        if is_note and _is_shown(annotation):
            yield from _word(annotation, _string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Contents"), places)


def _annotations(page: Any) -> Iterator[tuple[int, Any]]:
    for number in range(max(pdfium_c.FPDFPage_GetAnnotCount(page.raw), 0)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page.raw, number)
        if annotation:
            try:
                yield number, annotation
            finally:
                pdfium_c.FPDFPage_CloseAnnot(annotation)


def _is_shown(annotation: Any) -> bool:
    return not pdfium_c.FPDFAnnot_GetFlags(annotation) & _NOT_SHOWN


def _word(annotation: Any, text: str, places: PagePlaces) -> Iterator[Word]:
    box, text = _box(annotation, places), text.strip().replace("\r\n", "\n").replace("\r", "\n")
    if text and box.within(places.whole).area > 0:
        yield Word(text, box, is_value=True)


def put_in(lines: list[Line], values: Sequence[Word]) -> list[Line]:
    """Insert values into lines, next to the closest words at their height or as separate lines. Return the lines."""
    boxes = [line.box for line in lines]
    for value in sorted(values, key=lambda value: (value.box.top, value.box.left)):
        beside = [
            (_distance(line, value), index)
            for index, (line, box) in enumerate(zip(lines, boxes, strict=True))
            if line.is_upright and _is_beside(box, value.box)
        ]
        if beside:
            index = min(beside)[1]
            words = lines[index].words
            words.insert(sum(word.box.left < value.box.left for word in words), value)
            boxes[index] = boxes[index].around(value.box)
            continue
        above = [index for index, box in enumerate(boxes) if box.bottom <= value.box.middle]
        index = max(above, key=lambda index: boxes[index].bottom) + 1 if above else 0
        lines.insert(index, Line([value], lines[index - 1].size if above else 0.0))
        boxes.insert(index, value.box)
    return lines


def _is_beside(line: Box, value: Box) -> bool:
    return value.top <= line.middle <= value.bottom or line.top <= value.middle <= line.bottom


def _distance(line: Line, value: Word) -> float:
    return min(max(word.box.left - value.box.right, value.box.left - word.box.right, 0.0) for word in line.words)


def _value(annotation: Any, form: Any, state: str) -> str:
    match pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation):
        case pdfium_c.FPDF_FORMFIELD_CHECKBOX | pdfium_c.FPDF_FORMFIELD_RADIOBUTTON:
            return UNCHECKED if state in ("", "Off") else CHECKED
        case pdfium_c.FPDF_FORMFIELD_TEXTFIELD:
            if pdfium_c.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
                return ""
            return _string(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)
        case pdfium_c.FPDF_FORMFIELD_COMBOBOX | pdfium_c.FPDF_FORMFIELD_LISTBOX:
            return _select(annotation, form)
    return ""


def _select(annotation: Any, form: Any) -> str:
    count = min(pdfium_c.FPDFAnnot_GetOptionCount(form, annotation), MAX_OPTIONS)
    chosen = [
        _string(pdfium_c.FPDFAnnot_GetOptionLabel, form, annotation, number)
        for number in range(max(count, 0))
        if pdfium_c.FPDFAnnot_IsOptionSelected(form, annotation, number)
    ]
    # A list that also accepts other values may have a value that is not an option.
    return ", ".join(chosen) or _string(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)


def _string(getter: Any, *arguments: Any) -> str:
    size = getter(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = (pdfium_c.FPDF_WCHAR * (size // 2))()
    getter(*arguments, buffer, size)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")


def _box(annotation: Any, places: PagePlaces) -> Box:
    rectangle = pdfium_c.FS_RECTF()
    pdfium_c.FPDFAnnot_GetRect(annotation, ctypes.byref(rectangle))
    left, right = sorted((rectangle.left, rectangle.right))
    bottom, top = sorted((rectangle.bottom, rectangle.top))
    return places.box(left, bottom, right, top)
