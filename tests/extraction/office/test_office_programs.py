"""Files as word processors and presentation programs write them are read whole, in the order in which people read."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton_documents.errors import DocumentRefused
from baton_documents.reader import Extractor
from tests import documents
from tests.office_files import RELATIONS, archive, relations, shape, slide_parts, word_parts

FILES = Path(__file__).parents[1] / "files" / "office"
TYPES = {".docx": documents.DOCX, ".pptx": documents.PPTX}
TEXTS = {
    "libreoffice.docx": [
        "Contract 88/2026 of Harbour Works",
        "Confidential, do not copy",
        "Pump manual",
        "Area 40 m², water is H2O, see note¹ there.",
        "First step",
        "Second step",
        "Part | Torque\nM8-40 | 25 Nm",
        "תקנון M8-40 בתוקף מ-12/05/2026.",
    ],
    "libreoffice.pptx": [
        "First: switch off",
        "Beside it: wear gloves",
        "Group left",
        "Group right",
        "Third: close the valve",
    ],
    "warranty.docx": [
        "Contract 77/2026",
        "Confidential",
        "Warranty",
        "The warranty covers parts¹ for 24 months.",
        "Area: 40 m²",
        "Model | Limit\nModel | min | max\nK7 inner a, inner b | 5 | 9",
        "Reisekosten Order A\u201112",
        "Delivery\t14 days\nafter order",
    ],
    "rollout.pptx": [
        "Rollout plan",
        "Phase | Owner | Due\nPilot | Levi Ono | 1 May\nRollout | Levi Ono | 1 June",
        "Say that the pilot costs 4000 euros.",
        "Do not mention the vendor.",
        "Step 1: switch the pump off",
        "Right: wear gloves",
        "Step 2: drain the tank",
        "Step 3: close the valve",
        "Details",
        "Area 40 m²",
        "sub item",
        "Handbook",
    ],
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_is_read_whole_without_a_problem(name: str) -> None:
    extractor = Extractor()
    body = (FILES / name).read_bytes()
    inspected = extractor.inspect(body, name, TYPES[Path(name).suffix])
    read = [extractor.extract(body, inspected.form, part) for part in inspected.parts]
    assert [block.text for text in read for block in text.blocks] == TEXTS[name]
    assert [error for text in read for error in text.page_errors] == []


@pytest.mark.parametrize(("name", "title"), [("1.psmdcp", "Pump manual"), ("1.properties", None)])
@pytest.mark.parametrize("main", ["word/document.xml", "ppt/presentation.xml"])
def test_properties_may_have_any_name(main: str, name: str, title: str | None) -> None:
    """The name that .NET gives to properties ends with ``.psmdcp``."""
    parts = word_parts("<w:p/>") if main.startswith("word") else slide_parts(shape("<a:p/>"))
    kind = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"
    linked = relations({"rId1": ("officeDocument", main), "rId2": ("properties", name)})
    parts["_rels/.rels"] = linked.replace(f"{RELATIONS}/properties", kind)
    parts[name] = '<properties><title xmlns="http://purl.org/dc/elements/1.1/">Pump manual</title></properties>'
    body = archive(parts)
    form = Extractor().detect(body, "", "")
    assert Extractor().extract(body, form, (1, 1)).title == title


@pytest.mark.parametrize("main", ["word/document.xml", "ppt/presentation.xml"])
def test_damaged_properties_leave_the_document_readable(main: str) -> None:
    parts = word_parts("<w:p/>") if main.startswith("word") else slide_parts(shape("<a:p/>"))
    kind = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"
    linked = relations({"rId1": ("officeDocument", main), "rId2": ("properties", "core.xml")})
    parts["_rels/.rels"] = linked.replace(f"{RELATIONS}/properties", kind)
    parts["core.xml"] = '<properties xmlns:dc="\u00b2"/>'
    body = archive(parts)
    form = Extractor().detect(body, "", "")
    assert Extractor().extract(body, form, (1, 1)).title is None


def test_an_unknown_encoding_of_a_part_is_a_damage() -> None:
    parts = word_parts("<w:p/>", others={"word/notes.xml": '<?xml version="1.0" encoding="none"?><notes/>'})
    with pytest.raises(DocumentRefused, match="damaged"):
        Extractor().detect(archive(parts), "", "")
