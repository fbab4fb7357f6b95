"""The files that are compared, with phrases that their texts must contain."""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

RIGHT = "right"
_IGNORED = re.compile(r"[\s*_#|\\`>\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
"""White space, marks of Markdown, and invisible marks of direction."""
FILES = Path(__file__).parents[2] / "tests" / "extraction" / "files"


@dataclass(frozen=True)
class Case:
    """A file, with the visible phrases that its text must contain in this order."""

    subject: str
    """The format and the difficulty of the file."""
    name: str
    phrases: Sequence[str | tuple[str, ...]]
    """The phrases. Any one of a tuple's phrases is enough."""
    hidden: Sequence[str] = ()
    """Phrases that the file contains but does not show."""
    content: bytes | None = None
    """The bytes; None for a test file with this name."""

    @property
    def body(self) -> bytes:
        """The bytes of the file."""
        return (FILES / self.name).read_bytes() if self.content is None else self.content

    def find_outcome(self, text: str) -> str:
        """Return ``RIGHT``, or the number of phrases in a text and whether it has hidden ones.

        White space and marks of Markdown are ignored.
        """
        text = _normalize(text)
        end = count = 0
        for phrase in self.phrases:
            places = (text.find(_normalize(form), end) for form in ((phrase,) if isinstance(phrase, str) else phrase))
            start = min((index for index in places if index >= 0), default=None)
            if start is not None:
                end, count = start + 1, count + 1
        shows_hidden = any(_normalize(phrase) in text for phrase in self.hidden)
        if count == len(self.phrases) and not shows_hidden:
            return RIGHT
        return f"{count} of {len(self.phrases)}" + (", hidden text" if shows_hidden else "")


def _normalize(text: str) -> str:
    """Return a text without what is ignored, and with the characters of HTML references."""
    return _IGNORED.sub("", html.unescape(text))


def _read_lines(name: str) -> list[str]:
    return (FILES / name).read_text("utf-8").splitlines()


def _make_open_document_text() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.2">'
            '<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.text"/>'
            '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>',
        )
        archive.writestr(
            "content.xml",
            '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
            ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2"><office:body><office:text>'
            '<text:h text:outline-level="1">Handbook</text:h><text:p>Switch off the pump first.</text:p>'
            "</office:text></office:body></office:document-content>",
        )
    return packed.getvalue()


CASES = (
    Case("PDF, letters of Type 3 fonts", "pdf/report-with-chart.pdf", ("Limit: 7.1 mm/s.",)),
    Case(
        "PDF, a chart as a page",
        "pdf/chart.pdf",
        (
            "Vibration of pump P-17 over time",
            "Limit: 7.1 mm/s. Above it the pump is stopped",
            "and the bearing is replaced.",
        ),
    ),
    Case("PDF, Japanese, printed by Chrome", "pdf/printed-by-chrome.pdf", _read_lines("pdf/printed-by-chrome.txt")),
    Case("PDF, OpenType font", "pdf/opentype-font-chrome.pdf", _read_lines("pdf/opentype-font-chrome.txt")),
    Case("PDF, many scripts", "pdf/scripts-chrome.pdf", _read_lines("pdf/scripts-chrome.txt")),
    Case("PDF, Hebrew, from Chrome", "pdf/hebrew-chrome.pdf", _read_lines("pdf/hebrew-chrome.txt")),
    Case("PDF, Hebrew, from LibreOffice", "pdf/hebrew-libreoffice.pdf", _read_lines("pdf/hebrew-libreoffice.txt")),
    Case("PDF, Hebrew in two columns", "pdf/hebrew-columns-chrome.pdf", _read_lines("pdf/hebrew-columns-chrome.txt")),
    Case("PDF, Arabic, from Chrome", "pdf/arabic-chrome.pdf", _read_lines("pdf/arabic-chrome.txt")),
    Case("PDF, Arabic, from WeasyPrint", "pdf/arabic-weasyprint.pdf", _read_lines("pdf/arabic-weasyprint.txt")),
    Case("PDF, vertical Japanese", "pdf/vertical-cmap.pdf", _read_lines("pdf/vertical-cmap.txt")),
    Case(
        "Word, equation, moved and hidden text, numbered clauses",
        "agreement.docx",
        (
            "1. Delivery takes place",
            ("P = 0.05 × V × d", r"P = 0.05 \times V \times d"),
            "Newtown",
            ("☑ Express shipping", "☒ Express shipping", "🗹 Express shipping", "[x] Express shipping"),
            ("☐ Insurance", "🞎 Insurance", "[ ] Insurance"),
        ),
        hidden=("Oldtown", "Internal floor"),
    ),
    Case(
        "Word, headers, footers, superscripts",
        "office/warranty.docx",
        (
            "Contract 77/2026",
            "The warranty covers parts",
            ("40 m²", "40 m^2", "40 m2^", "40 m<sup>2</sup>"),
            "Order A\u201112",
        ),
    ),
    Case(
        "Word, from LibreOffice",
        "office/libreoffice.docx",
        (
            "Contract 88/2026 of Harbour Works",
            "Pump manual",
            ("40 m²", "40 m^2", "40 m<sup>2</sup>"),
            "25 Nm",
            "תקנון M8-40",
        ),
    ),
    Case(
        "PowerPoint, boxes drawn in another order",
        "office/rollout.pptx",
        ("Step 1: switch the pump off", "Right: wear gloves", "Step 2: drain the tank", "Step 3: close the valve"),
    ),
    Case(
        "Excel, formulas without results, long numbers, percents",
        "prices.xlsx",
        ("Lamp", "19.99", "19%", ("B2*(1+C2)", "23.79"), "2026-03-01", "4532015112830366", "0049-30-1"),
        hidden=("4532015112830366.0", "NaN"),
    ),
    Case(
        "Web page, tabs",
        "pages/tabs.html",
        ("Run install.sh as root.", "Run setup.exe as administrator.", "Use brew on macOS."),
    ),
    Case(
        "Web page, closed sections and ticks of a wiki",
        "pages/confluence.html",
        (
            "Install profile 77 first.",
            ("☑ Token ordered", "[x] Token ordered"),
            ("☐ Token collected", "[ ] Token collected"),
        ),
    ),
    Case(
        "Web page, windows-1252 that is called iso-8859-1",
        "subscription.html",
        ("L’abonnement coûte 30 € par mois",),
        content="<meta charset=iso-8859-1><p>L’abonnement coûte 30 € par mois.</p>".encode("cp1252"),
    ),
    Case(
        "CSV, Cyrillic without a declaration",
        "stock.csv",
        ("Деталь", "Поставщик", "Насос", "Москва"),
        content="Деталь;Поставщик;Город\r\nНасос центробежный;Гидромаш;Москва\r\nКлапан обратный;Арматура;Казань\r\n".encode(
            "cp1251"
        ),
    ),
    Case("Mail", "mail.eml", ("Reisekosten", "Ein Hotel darf 140 Euro kosten.")),
    Case("RTF", "handbook.rtf", ("Travel policy: 140 euros.",), hidden=(r"\rtf",)),
    Case(
        "OpenDocument text",
        "handbook.odt",
        ("Handbook", "Switch off the pump first."),
        content=_make_open_document_text(),
    ),
)
