"""Office files that are built from parts, as other programs than the tests' libraries write them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

OFFICE = "application/vnd.openxmlformats-officedocument."
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NAMES = " ".join(
    f'xmlns:{prefix}="{uri}"'
    for prefix, uri in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "r": RELATIONS,
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "a14": "http://schemas.microsoft.com/office/drawing/2010/main",
        "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
        "cx": "http://schemas.microsoft.com/office/drawing/2014/chartex",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
        "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
        "v": "urn:schemas-microsoft-com:vml",
        "o": "urn:schemas-microsoft-com:office:office",
        "xdr": "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    }.items()
)
SHEET_NAMES = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{RELATIONS}"'
WORD_MAIN = f"{OFFICE}wordprocessingml.document.main+xml"
SLIDES_MAIN = f"{OFFICE}presentationml.presentation.main+xml"
SHEETS_MAIN = f"{OFFICE}spreadsheetml.sheet.main+xml"
_STRICT = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "http://purl.oclc.org/ooxml/wordprocessingml/main",
    "http://schemas.openxmlformats.org/presentationml/2006/main": "http://purl.oclc.org/ooxml/presentationml/main",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "http://purl.oclc.org/ooxml/spreadsheetml/main",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "http://purl.oclc.org/ooxml/drawingml/main",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "http://purl.oclc.org/ooxml/officeDocument/math",
    RELATIONS: "http://purl.oclc.org/ooxml/officeDocument/relationships",
}


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """Return an archive of parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, body in parts.items():
            zip_file.writestr(name, body)
    return out.getvalue()


def package(main: str, content_type: str, parts: Mapping[str, str | bytes]) -> dict[str, str | bytes]:
    """Return the parts of a file, including those that name its main part."""
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="{content_type}"/></Types>'
    )
    roots = relations({"rId1": ("officeDocument", main)})
    return {"[Content_Types].xml": types, "_rels/.rels": roots, **parts}


def relations(targets: Mapping[str, tuple[str, str]]) -> str:
    """Return a part with relations, given by their ids as kinds and targets."""
    entry = "".join(
        f'<Relationship Id="{key}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{entry}</Relationships>'
    )


def strict(parts: Mapping[str, str | bytes]) -> dict[str, str | bytes]:
    """Return the parts with the name spaces of the strict form."""
    changed: dict[str, str | bytes] = {}
    for name, body in parts.items():
        text = body if isinstance(body, str) else body.decode()
        for transitional, other in _STRICT.items():
            text = text.replace(transitional, other)
        changed[name] = text
    return changed


def word_parts(
    body: str,
    *,
    styles: str = "",
    numbering: str = "",
    footnotes: str = "",
    endnotes: str = "",
    others: Mapping[str, str] | None = None,
    linked: Mapping[str, tuple[str, str]] | None = None,
) -> dict[str, str | bytes]:
    """Return the parts of a Word document. Arguments are the contents of the parts' roots."""
    targets = {
        kind: (kind, f"{kind}.xml")
        for kind, content in (
            ("styles", styles),
            ("numbering", numbering),
            ("footnotes", footnotes),
            ("endnotes", endnotes),
        )
        if content
    }
    parts: dict[str, str | bytes] = {
        "word/document.xml": f"<w:document {NAMES}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": relations({**targets, **(linked or {})}),
        "word/styles.xml": f"<w:styles {NAMES}>{styles}</w:styles>",
        "word/numbering.xml": f"<w:numbering {NAMES}>{numbering}</w:numbering>",
        "word/footnotes.xml": f"<w:footnotes {NAMES}>{footnotes}</w:footnotes>",
        "word/endnotes.xml": f"<w:endnotes {NAMES}>{endnotes}</w:endnotes>",
    }
    return package("word/document.xml", WORD_MAIN, {**parts, **(others or {})})


def slide_parts(
    *slides: str, linked: Mapping[str, tuple[str, str]] | None = None, **others: str
) -> dict[str, str | bytes]:
    """Return the parts of a presentation. ``slides`` are the shapes of each slide, or whole slides."""
    ids = "".join(f'<p:sldId id="{256 + number}" r:id="rId{number}"/>' for number in range(len(slides)))
    targets = {f"rId{number}": ("slide", f"slides/slide{number}.xml") for number in range(len(slides))}
    parts: dict[str, str | bytes] = {
        "ppt/presentation.xml": f"<p:presentation {NAMES}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(targets),
    }
    for number, shapes in enumerate(slides):
        whole = shapes if shapes.startswith("<p:sld ") else f"<p:sld {NAMES}>{slide_content(shapes)}</p:sld>"
        parts[f"ppt/slides/slide{number}.xml"] = whole
        parts[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations(linked or {})
    parts.update({f"ppt/{name}.xml": body for name, body in others.items()})
    return package("ppt/presentation.xml", SLIDES_MAIN, parts)


def slide_content(shapes: str) -> str:
    """Return the content of a slide with shapes."""
    return f"<p:cSld><p:spTree><p:nvGrpSpPr/><p:grpSpPr/>{shapes}</p:spTree></p:cSld>"


def shape(paragraphs: str, *, properties: str = "", placeholder: str = "") -> str:
    """Return a shape with paragraphs (``a:p``)."""
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="a" {properties}/><p:cNvSpPr/><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr>'
        f"<p:spPr/><p:txBody><a:bodyPr/>{paragraphs}</p:txBody></p:sp>"
    )


def sheet_parts(
    rows: str,
    *,
    before: str = "",
    behind: str = "",
    formats: Mapping[str, str] | None = None,
    shared: str | None = None,
    workbook: str = "",
    sheets: str = '<sheet name="S" sheetId="1" r:id="rId1"/>',
    **others: str,
) -> dict[str, str | bytes]:
    """Return the parts of a workbook with the rows of a sheet. A cell with style n has the nth format, from 1."""
    codes = list((formats or {}).values())
    xfs = "".join(f'<xf numFmtId="{200 + number}"/>' for number in range(len(codes)))
    instance = "".join(f'<numFmt numFmtId="{200 + number}" formatCode="{code}"/>' for number, code in enumerate(codes))
    targets = {"rId1": ("worksheet", "worksheets/sheet1.xml"), "rId9": ("styles", "styles.xml")}
    parts: dict[str, str | bytes] = {
        "xl/worksheets/sheet1.xml": f"<worksheet {SHEET_NAMES}>{before}<sheetData>{rows}</sheetData>{behind}</worksheet>",
        "xl/styles.xml": f"<styleSheet {SHEET_NAMES}><numFmts>{instance}</numFmts>"
        f'<cellXfs><xf numFmtId="0"/>{xfs}</cellXfs></styleSheet>',
    }
    if shared is not None:
        targets["rId8"] = ("sharedStrings", "sharedStrings.xml")
        parts["xl/sharedStrings.xml"] = f"<sst {SHEET_NAMES}>{shared}</sst>"
    for number, (name, body) in enumerate(others.items()):
        targets[f"rId{20 + number}"] = ("worksheet", f"worksheets/{name}.xml")
        parts[f"xl/worksheets/{name}.xml"] = f"<worksheet {SHEET_NAMES}><sheetData>{body}</sheetData></worksheet>"
    parts["xl/workbook.xml"] = f"<workbook {SHEET_NAMES}>{workbook}<sheets>{sheets}</sheets></workbook>"
    parts["xl/_rels/workbook.xml.rels"] = relations(targets)
    return package("xl/workbook.xml", SHEETS_MAIN, parts)
