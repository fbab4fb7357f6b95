"""The text of a paragraph in a Word document, as Word shows it without marks of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from baton_documents.office.equations import write_equation
from baton_documents.office.xml import qname, read_toggle
from baton_documents.text.inline_text import mark_script
from baton_documents.text.symbol_fonts import decode_symbol, decode_symbols, is_symbol_font
from baton_documents.word.fields import EMPTY, TICKED, Field, find_ended_fields, find_result, read_form
from baton_documents.word.styles import PLAIN, WordStyle, WordStyles, read_font, read_value

_LEFT_OUT = frozenset(
    map(
        qname,
        (
            "w:pPr",
            "w:rPr",
            "w:sdtPr",
            "w:sdtEndPr",
            "w:smartTagPr",
            "w:customXmlPr",
            "w:rubyPr",
            "w:del",
            "w:moveFrom",
            "w:delText",
            "w:delInstrText",
            "w:fldData",
            "w:ffData",
        ),
    )
)
"""Properties, deleted text, and marks without text."""
_SOFT_HYPHEN = "\u00ad"
_CHECK_BOX = f"{qname('w:sdtPr')}/{qname('w14:checkbox')}"
_PLAIN_TEXTS = {
    qname("w:tab"): "\t",
    qname("w:ptab"): "\t",
    qname("w:br"): "\n",
    qname("w:cr"): "\n",
    qname("w:noBreakHyphen"): "\u2011",
}


@dataclass(frozen=True, slots=True)
class Note:
    """A reference to a footnote or endnote."""

    kind: str
    """``footnote`` or ``endnote``."""
    note_id: str


@dataclass(slots=True)
class ParagraphText:
    """The text of a paragraph, and the notes, text boxes and charts in it."""

    parts: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    """Text boxes, which contain paragraphs."""
    charts: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of ``chart`` or ``diagram`` and the id of the relation to its part."""
    problems: list[str] = field(default_factory=list)
    """Messages about content that could not be read."""

    @property
    def text(self) -> str:
        return "".join(self.parts)


class WordTextReader:
    """A reader of a document's paragraphs, in their order because a field may continue over paragraphs."""

    def __init__(self, styles: WordStyles) -> None:
        self._styles = styles
        self._fields: list[Field] = []
        self._ended: frozenset[Any] = frozenset()
        self._found = ParagraphText()
        self._style = PLAIN
        self._is_hidden_by_table = False
        self._is_visible = True
        self._font: str | None = None
        self._readers: dict[str, Callable[[Any], None]] = {
            qname(name): reader
            for name, reader in {
                "w:r": self._read_run,
                "w:t": self._read_text,
                "w:sym": self._read_symbol,
                "w:instrText": self._read_instruction,
                "w:fldChar": self._read_field_mark,
                "w:fldSimple": self._read_simple_field,
                "w:footnoteReference": self._read_note,
                "w:endnoteReference": self._read_note,
                "w:sdt": self._read_control,
                "w:ruby": self._read_ruby,
                "w:txbxContent": self._read_box,
                "w:object": self._read_object,
                "v:textpath": self._read_word_art,
                "w:control": self._report_form_control,
                "c:chart": self._read_chart,
                "cx:chart": self._report_newer_chart,
                "dgm:relIds": self._read_diagram,
                "mc:AlternateContent": self._read_alternatives,
                "m:oMath": self._read_equation,
                "m:oMathPara": self._read_equations,
            }.items()
        }

    def begin_story(self, story: Any) -> None:
        """Begin a story: the body, a header or footer, or a note. Fields do not continue from the story before it."""
        self._fields = []
        self._ended = find_ended_fields(story)

    def read_paragraph(self, element: Any, style: WordStyle, *, is_hidden_by_table: bool = False) -> ParagraphText:
        """Return the shown text of a paragraph (``w:p``) with a style.

        ``is_hidden_by_table`` is True if the style of the table around the paragraph hides text.
        """
        self._found, self._style, self._is_hidden_by_table = ParagraphText(), style, is_hidden_by_table
        self._walk(element)
        return self._found

    def _walk(self, element: Any) -> None:
        """Read the children of an element. Unknown elements may contain known ones."""
        for child in element:
            tag = child.tag
            if tag in self._readers:
                self._readers[tag](child)
            elif tag in _PLAIN_TEXTS:
                self._show(_PLAIN_TEXTS[tag])
            elif tag not in _LEFT_OUT:
                self._walk(child)

    def _show(self, text: str) -> None:
        """Add text to the paragraph, and to the results of its fields, if it is shown."""
        if text and self._is_shown():
            self._found.parts.append(text)
            for word_field in self._fields:
                word_field.has_result = True

    def _is_shown(self) -> bool:
        """Return whether text at this place is shown: it is not hidden, and not in the instruction of a field."""
        return self._is_visible and all(word_field.is_in_result for word_field in self._fields)

    def _read_run(self, run: Any) -> None:
        properties = run.find(qname("w:rPr"))
        before = self._is_visible, self._font
        style = self._styles.find_style(read_value(properties, "w:rStyle"))
        self._is_visible = before[0] and not self._hides(properties, style)
        self._font = read_font(properties) or style.font or self._style.font or self._styles.document.font
        start = len(self._found.parts)
        self._walk(run)
        self._mark_shifted(start, read_value(properties, "w:vertAlign") or style.shift)
        self._is_visible, self._font = before

    def _mark_shifted(self, start: int, direction: str | None) -> None:
        """Mark the text from the part ``start`` on as a superscript or subscript if ``direction`` says so."""
        text = "".join(self._found.parts[start:])
        if text.strip() and direction in ("superscript", "subscript"):
            before = self._found.parts[start - 1] if start else ""
            self._found.parts[start:] = [mark_script(text, before, is_raised=direction == "superscript")]

    def _hides(self, properties: Any | None, style: WordStyle) -> bool:
        """Return whether text is hidden. Text that two styles hide is shown (ISO/IEC 29500-1 section 17.7.3)."""
        direct = read_toggle(properties, "w:vanish")
        if direct is not None:
            return direct
        style_settings = [setting for setting in (self._style.is_hidden, style.is_hidden) if setting is not None]
        if self._is_hidden_by_table:
            style_settings.append(True)
        return sum(style_settings) % 2 == 1 if style_settings else bool(self._styles.document.is_hidden)

    def _read_text(self, element: Any) -> None:
        text = element.text or ""
        self._show(
            decode_symbols(text.replace(_SOFT_HYPHEN, "") if not is_symbol_font(self._font) else text, self._font)
        )

    def _read_symbol(self, element: Any) -> None:
        self._show(decode_symbol(element.get(qname("w:char"), ""), element.get(qname("w:font"))))

    def _read_instruction(self, element: Any) -> None:
        if self._fields and not self._fields[-1].is_in_result:
            self._fields[-1].instruction.append(element.text or "")

    def _read_field_mark(self, mark: Any) -> None:
        if mark not in self._ended:
            return
        match mark.get(qname("w:fldCharType")):
            case "begin":
                self._fields.append(Field(mark.find(qname("w:ffData"))))
            case "separate" if self._fields:
                self._fields[-1].is_in_result = True
            case "end" if self._fields:
                word_field = self._fields.pop()
                if not word_field.has_result:
                    self._show(word_field.missing_result)
                    if word_field.unread_name and self._is_shown():
                        self._found.problems.append(f"A field ({word_field.unread_name}) cannot be read.")

    def _read_simple_field(self, element: Any) -> None:
        before = len(self._found.parts)
        self._walk(element)
        if len(self._found.parts) == before:
            form = element.find(qname("w:ffData"))
            text = read_form(form) if form is not None else ""
            self._show(text or find_result(element.get(qname("w:instr"), "")))

    def _read_note(self, element: Any) -> None:
        if self._is_shown():
            kind = "footnote" if element.tag == qname("w:footnoteReference") else "endnote"
            self._found.notes.append(Note(kind, element.get(qname("w:id"), "")))

    def _read_control(self, element: Any) -> None:
        """Read a content control. A check box without a mark is shown by its state."""
        box = element.find(_CHECK_BOX)
        before = len(self._found.parts)
        self._walk(element)
        mark = "".join(self._found.parts[before:]).strip()
        if box is not None and (not mark or "\ufffd" in mark):
            del self._found.parts[before:]
            checked = box.find(qname("w14:checked"))
            state = checked.get(qname("w14:val"), "1") if checked is not None else "0"
            self._show(TICKED if state in ("1", "true", "on") else EMPTY)

    def _read_ruby(self, element: Any) -> None:
        """Show a phonetic text in brackets after its base text."""
        for name, before, behind in (("w:rubyBase", "", ""), ("w:rt", "(", ")")):
            child = element.find(qname(name))
            with self._collected() as parts:
                if child is not None:
                    self._walk(child)
            if text := "".join(parts):
                self._found.parts.append(f"{before}{text}{behind}")

    @contextmanager
    def _collected(self) -> Iterator[list[str]]:
        """Collect the text that is read in the ``with`` block separately from the paragraph's text."""
        parts, self._found.parts = self._found.parts, []
        collected = self._found.parts
        try:
            yield collected
        finally:
            self._found.parts = parts

    def _read_box(self, element: Any) -> None:
        if self._is_shown():
            self._found.boxes.append(element)

    def _read_object(self, element: Any) -> None:
        """Report an embedded file of another program, such as an old equation, of which Word shows a picture."""
        self._walk(element)
        embedded = element.find(qname("o:OLEObject"))
        if embedded is not None and self._is_shown():
            name = embedded.get("ProgID", "")[:60] or "of an unknown program"
            self._found.problems.append(f"An embedded object ({name}) cannot be read.")

    def _read_word_art(self, element: Any) -> None:
        self._show(element.get("string", ""))

    def _read_chart(self, element: Any) -> None:
        if self._is_shown():
            self._found.charts.append(("chart", element.get(qname("r:id"), "")))

    def _report_newer_chart(self, element: Any) -> None:
        if self._is_shown():
            self._found.problems.append("A chart of a newer kind cannot be read.")

    def _report_form_control(self, element: Any) -> None:
        """Report a form control whose state has a format that is not read (ActiveX)."""
        if self._is_shown():
            self._found.problems.append(f"A control ({element.get(qname('w:name'), '')[:60]}) cannot be read.")

    def _read_diagram(self, element: Any) -> None:
        if self._is_shown():
            self._found.charts.append(("diagram", element.get(qname("r:dm"), "")))

    def _read_alternatives(self, element: Any) -> None:
        """Read the first of alternative forms that has content."""
        paragraph_text = self._found
        for form in element:
            before = self._count_content(paragraph_text)
            self._walk(form)
            if self._count_content(paragraph_text) != before:
                return

    @staticmethod
    def _count_content(paragraph_text: ParagraphText) -> tuple[int, ...]:
        """Return the numbers of texts and objects of a paragraph, which grow when content is read."""
        return (
            len(paragraph_text.parts),
            len(paragraph_text.boxes),
            len(paragraph_text.charts),
            len(paragraph_text.notes),
            len(paragraph_text.problems),
        )

    def _read_equation(self, element: Any) -> None:
        self._show(write_equation(element))

    def _read_equations(self, element: Any) -> None:
        """Show equations on separate lines."""
        if any(part.strip() for part in self._found.parts):
            self._show("\n")
        self._show(write_equation(element))
        if element.getnext() is not None:
            self._show("\n")
