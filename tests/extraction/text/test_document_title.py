"""Titles that somebody has given to a document."""

from __future__ import annotations

import pytest

from baton_documents.titles import MAX_LENGTH, clean_title

OF_PROGRAMS = """
Microsoft Word - report.docx
Microsoft Word - Annual report 2025
Microsoft PowerPoint - Quarterly review.pptx
Microsoft Office Word \u2013 Draft
Microsoft Excel - Book1
LibreOffice Writer - notes
report.docx
Final report (2).DOC
minutes.docx (read-only)
C:\\Users\\ada\\Desktop\\Minutes of May
\\\\server\\share\\minutes
/home/ada/minutes
file:///C:/minutes.html
https://example.com/minutes
newsletter_03.indd
Print_Ad.qxd
poster.ai
scan0001.tif
Slide 1
Folie 3
PowerPoint Presentation
PowerPoint-Präsentation
Présentation PowerPoint
Presentación de PowerPoint
Untitled
Untitled-1
Untitled 2
untitled document
Unbenannt-1
Sans titre
Document1
Dokument 1
Book1
Sheet1
Layout 1
about:blank
unknown
null
(unnamed)
(anonymous)
---
\u200b
""".strip("\n")


@pytest.mark.parametrize("title", OF_PROGRAMS.splitlines())
def test_a_title_that_a_program_has_made_is_none(title: str) -> None:
    assert clean_title(title) is None


GIVEN = """
Handbook
Untitled works of the 1920s
Document management in hospitals
Slide rules
Word processing
Microsoft Word for beginners
The page
Version 2.0
Agreement no. 12/2026
Café menu: summer
Working with ASP.NET
Q&A
Report (docx and others)
说明书
1984
""".strip("\n")


@pytest.mark.parametrize("title", GIVEN.splitlines())
def test_a_title_that_somebody_has_given_is_kept(title: str) -> None:
    assert clean_title(title) == title


@pytest.mark.parametrize("title", [None, "", " \n", "\0"])
def test_without_a_title_there_is_none(title: str | None) -> None:
    assert clean_title(title) is None


def test_a_title_is_one_line() -> None:
    assert clean_title(" The\nhandbook\0 of  Baton\t") == "The handbook of Baton"


@pytest.mark.parametrize("repeated", ["x", ".ai (", "Word - ", " "])
def test_a_title_is_cut_before_it_is_looked_at(repeated: str) -> None:
    title = f"The handbook {repeated * 1_000_000}"
    assert clean_title(title) == clean_title(title[:MAX_LENGTH])
