"""Distinction of titles that people have given to documents from those that programs generate."""

from __future__ import annotations

import re

MAX_LENGTH = 1_000
"""The most characters of a title. The rest is cut off."""
_OF_PROGRAMS = re.compile(
    r"(?:untitled(?: document| page| presentation| spreadsheet)?|unbenannt|ohne titel|sans titre|sans nom|sin t[ií]tulo"
    r"|senza titolo|sem t[ií]tulo|naamloos|unnamed|anonymous|noname|no title|unknown|none|null|undefined|title"
    r"|titel|titre|t[ií]tulo|titolo|(?:new |word |pdf |scanned |neues )?(?:document|dokument|documento)"
    r"|(?:new |blank )?page|layout|image|scan|print(?:out)?"
    r"|(?:powerpoint[ -])?pr[äée]sent(?:ation|aci[óo]n)(?: powerpoint| de powerpoint)?|slide|folie|diapositiva"
    r"|(?:excel )?workbook|book|mappe|classeur|libro|sheet|tabelle|spreadsheet"
    r"|microsoft (?:word|powerpoint|excel)(?: document| presentation| worksheet)?)[ _-]*\(?[0-9]*\)?",
    re.IGNORECASE,
)
"""Default names of new files, and words for a missing title."""
_PROGRAM = re.compile(
    r"(?:microsoft\s+(?:office\s+)?(?:word|powerpoint|excel|visio|publisher|outlook)|(?:libre|open)office\S*(?:\s\w+)?"
    r"|adobe\s+(?:indesign|illustrator|photoshop)|wordpad|notepad)\s+[-\u2013\u2014]\s+.*",
    re.IGNORECASE | re.DOTALL,
)
"""A program's name before the name of its file, as printer drivers write it."""
_FILE = re.compile(
    r".*\.(?:docx?|docm|dotx?|odt|rtf|wpd|pptx?|pptm|ppsx?|odp|xlsx?|xlsm|xlsb|ods|csv|tsv|txt|md|pdf"
    r"|e?ps|ai|indd|indb|idml|qxp|qxd|vsdx?|dwg|dxf|psd|svg|html?|xhtml|php|aspx?|jsp|tex|dvi|tmp|xml|jpe?g|png|tiff?|gif|bmp)"
    r"(?:\s*\(.*\)|\s*\[.*\])?",
    re.IGNORECASE | re.DOTALL,
)
_PATH = re.compile(
    r"(?:[a-z]:[\\/]|\\\\|~?/|\.{1,2}[\\/]|[a-z][a-z+.-]*:/).*|about:.*|data:.*", re.IGNORECASE | re.DOTALL
)


def clean_title(title: str | None) -> str | None:
    """Return a title on one line, without what exceeds ``MAX_LENGTH``.

    None if it has neither letters nor digits, or if a program has generated it.
    """
    text = " ".join((title or "")[:MAX_LENGTH].replace("\0", "").split())
    if not any(character.isalnum() for character in text):
        return None
    if _OF_PROGRAMS.fullmatch(text.strip("()[]<> ")) or any(
        pattern.fullmatch(text) for pattern in (_PROGRAM, _FILE, _PATH)
    ):
        return None
    return text
