"""Word documents in Word's markup, and functions that read them."""

from __future__ import annotations

from baton_documents.reader import Extractor
from baton_documents.results import ExtractedText
from tests import documents


def read(body: bytes) -> ExtractedText:
    extractor = Extractor()
    form = extractor.detect(body, "a.docx", documents.DOCX)
    (part,) = extractor.list_parts(body, form)
    return extractor.extract(body, form, part)


def texts(body: bytes) -> list[str]:
    return [block.text for block in read(body).blocks]


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(runs)}</w:p>"


def math(content: str) -> str:
    return f"<m:oMath>{content}</m:oMath>"


def term(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def field(instruction: str, result: str | None, form: str = "") -> str:
    """Return a field; one without a result if that is None."""
    separated = "" if result is None else f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{result}'
    return (
        f'<w:r><w:fldChar w:fldCharType="begin">{form}</w:fldChar></w:r><w:r><w:instrText>{instruction}</w:instrText></w:r>'
        f'{separated}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def box(content: str) -> str:
    """Return a text box in both forms that Word writes."""
    inner = f"<w:txbxContent>{content}</w:txbxContent>"
    return (
        f'<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:inline><wps:txbx>{inner}</wps:txbx>'
        f"</wp:inline></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox>{inner}</v:textbox></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )


STYLES = """
<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="Secret"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Below"><w:name w:val="Below"/><w:basedOn w:val="Secret"/></w:style>
<w:style w:type="paragraph" w:styleId="Shown"><w:name w:val="Shown"/><w:basedOn w:val="Secret"/>
<w:rPr><w:vanish w:val="0"/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Quiet"><w:name w:val="Quiet"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Quieter"><w:name w:val="Quieter"/><w:basedOn w:val="Quiet"/></w:style>
<w:style w:type="character" w:styleId="Boxes"><w:name w:val="Boxes"/><w:rPr><w:rFonts w:ascii="Wingdings"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Pool"/></w:style>
<w:style w:type="paragraph" w:styleId="Pool"><w:name w:val="Pool"/><w:basedOn w:val="Loop"/></w:style>
<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/><w:basedOn w:val="H1"/>
<w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Our heading"/><w:basedOn w:val="H2"/></w:style>
<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Part"><w:name w:val="Part"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>
<w:style w:type="numbering" w:styleId="Shared"><w:name w:val="Shared"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="table" w:styleId="Veil"><w:name w:val="Veil"/><w:rPr><w:vanish/></w:rPr></w:style>
"""


def style(name: str) -> str:
    return f'<w:pStyle w:val="{name}"/>'


def char(name: str) -> str:
    return f'<w:rStyle w:val="{name}"/>'
