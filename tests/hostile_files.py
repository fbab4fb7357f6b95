"""Small files that take much memory or time to read."""

from __future__ import annotations

import io
import zipfile

_OFFICE = "application/vnd.openxmlformats-officedocument.wordprocessingml."
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_OPEN = "urn:oasis:names:tc:opendocument:xmlns:"


def pdf_bomb(levels: int) -> bytes:
    """Return a PDF file in which each form XObject draws the next one twice."""
    box = b"0 0 612 792"
    text = b"BT /F 12 Tf 10 700 Td (Hello there) Tj ET /X Do"
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[%s]/Contents 5 0 R"
        b"/Resources<</Font<</F 4 0 R>>/XObject<</X 10 0 R>>>>>>" % box,
        4: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        5: b"<</Length %d>>stream\n%s\nendstream" % (len(text), text),
    }
    for level in range(levels):
        is_last = level == levels - 1
        body = b"BT /F 1 Tf 1 1 Td (a) Tj ET" if is_last else b"/X Do /X Do "
        resources = b"/Font<</F 4 0 R>>" if is_last else b"/XObject<</X %d 0 R>>" % (11 + level)
        objects[10 + level] = (
            b"<</Type/XObject/Subtype/Form/BBox[%s]/Resources<<%s>>/Length %d>>stream\n%s\nendstream"
            % ((box, resources, len(body), body))
        )
    out, places = bytearray(b"%PDF-1.7\n"), {}
    for number, content in sorted(objects.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    size, table = max(objects) + 1, len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 %s \n" % (places.get(number, 0), b"n" if number in places else b"f")
    out += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (size, table)
    return bytes(out)


def ods_bomb(columns: int, rows: int) -> bytes:
    """Return an OpenDocument spreadsheet with one repeated cell, which also has the entries of a workbook."""
    cell = f'<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="{columns}">'
    content = (
        f'<office:document-content xmlns:office="{_OPEN}office:1.0" xmlns:table="{_OPEN}table:1.0" '
        f'xmlns:text="{_OPEN}text:1.0" office:version="1.2"><office:body><office:spreadsheet>'
        f'<table:table table:name="S"><table:table-row table:number-rows-repeated="{rows}">{cell}<text:p>1</text:p>'
        "</table:table-cell></table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    )
    return _archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "content.xml": content,
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{_OPEN}manifest:1.0"/>',
            "[Content_Types].xml": "<Types/>",
            "xl/workbook.xml": "<x/>",
        }
    )


def docx_bomb(parts: int, mib: int) -> bytes:
    """Return a Word file with ``parts`` headers of ``mib`` MiB each, which consist of empty paragraphs."""
    names = [f"header{number}.xml" for number in range(parts)]
    types = "".join(f'<Override PartName="/word/{name}" ContentType="{_OFFICE}header+xml"/>' for name in names)
    relations = "".join(
        f'<Relationship Id="h{number}" Type="{_RELATIONS}header" Target="{name}"/>' for number, name in enumerate(names)
    )
    header = f"<w:hdr {_WORD}>" + "<w:p/>" * ((mib * 1024 * 1024 - 200) // 6) + "</w:hdr>"
    return _archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{_OFFICE}document.main+xml"/>{types}</Types>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}relationships"><Relationship Id="r1" '
            f'Type="{_RELATIONS}officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}relationships">{relations}'
            "</Relationships>",
            "word/document.xml": f"<w:document {_WORD}><w:body><w:p><w:r><w:t>Hello</w:t></w:r></w:p></w:body>"
            "</w:document>",
        }
        | {f"word/{name}": header for name in names}
    )


def make_nested_tables(depth: int) -> bytes:
    """Return a web page with nested tables."""
    return b"<!doctype html><body>" + (b"<table><tr><td>" + b"a" * 1_500) * depth


def markdown_in_one_line(size: int) -> bytes:
    """Return a line of opening brackets, each of which may begin an image."""
    return b"![" * (size // 2)


def _archive(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return out.getvalue()
