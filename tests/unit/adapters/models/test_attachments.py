"""Attachments in the form that a model reads."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass, field

import pytest
from ag_ui.core import DocumentPart, FileSource, ImagePart, TextPart, UrlSource
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.documents.document_reader import ChildProcessReader
from baton.adapters.models.attachments.content import Media, MediaKind, Piece
from baton.adapters.models.attachments.file_types import MAX_CHARACTERS
from baton.adapters.models.attachments.laid_out_attachments import MAX_HELD_BYTES, MAX_READING_SECONDS, Attachments
from baton.adapters.models.profiles.profile import ModelProfile
from baton.domain.errors import DocumentUnreadable, StoreUnavailable
from baton.domain.threads.content import Content, Part, parse_content
from baton_documents.formats import DocumentFormat
from baton_documents.results import DocumentText
from tests import documents
from tests.fakes.thread_files import MemoryThreadFiles
from tests.unit.adapters.models.parts import FILE_ID, document, image, upload

PNG = b"\x89PNG\r\n\x1a\n and so on"
PDF = b"%PDF-1.7 and so on"
TEXT = DocumentText("[page 1]\n\nThe text.", 1)
RUSSIAN = "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему. "  # noqa: RUF001
EVERYTHING = ModelProfile()
TEXT_ONLY = ModelProfile(images=False, documents=frozenset())


@dataclass
class CountingReader:
    """``DocumentReader`` that answers with one text or refusal, and records its calls."""

    text: DocumentText = TEXT
    problem: DocumentUnreadable | None = None
    calls: list[tuple[str, DocumentFormat, float]] = field(default_factory=list)

    async def read(self, body: bytes, name: str, form: DocumentFormat, *, seconds: float) -> DocumentText:
        self.calls.append((name, form, seconds))
        if self.problem is not None:
            raise self.problem
        return self.text


@dataclass
class CountingFiles(MemoryThreadFiles):
    """Uploads that count how often they are read."""

    reads: int = 0

    async def read(self, file_id: str) -> bytes:
        self.reads += 1
        return await super().read(file_id)


async def pieces_of(attachments: Attachments, content: Content, profile: ModelProfile) -> tuple[Piece, ...]:
    [pieces] = await attachments.make_all_pieces([content], profile)
    return pieces


async def piece_of(part: Part, profile: ModelProfile = EVERYTHING, reader: CountingReader | None = None) -> Piece:
    [piece] = await pieces_of(Attachments(MemoryThreadFiles(), reader), (part,), profile)
    return piece


def make_ole_file(stream: str) -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + stream.encode("utf-16-le") + b"\0" * 100


def make_archive(**entries: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in entries.items():
            packed.writestr(name, content)
    return out.getvalue()


# Text


async def test_text_keeps_its_order_and_blank_text_is_left_out() -> None:
    parts = (TextPart(text="One."), image(PNG), TextPart(text=" "), TextPart(text="Two."))
    pieces = await pieces_of(Attachments(MemoryThreadFiles(), None), parts, EVERYTHING)
    assert [piece if isinstance(piece, str) else piece.kind for piece in pieces] == ["One.", MediaKind.IMAGE, "Two."]


@pytest.mark.parametrize(("content", "pieces"), [("Hello.", ("Hello.",)), ("", ()), (" \n", ())])
async def test_a_string_is_one_piece_unless_it_is_blank(content: str, pieces: tuple[str, ...]) -> None:
    assert await pieces_of(Attachments(MemoryThreadFiles(), None), content, EVERYTHING) == pieces


async def test_a_csv_file_that_windows_calls_a_workbook_is_text() -> None:
    message = json.loads(
        '[{"type": "text", "text": "What is in the file?"}, {"type": "document", "source": {"type": "data",'
        ' "value": "YTtiCjE7Mgo=", "mimeType": "application/vnd.ms-excel"}, "metadata": {"name": "data.csv"}}]'
    )
    pieces = await pieces_of(Attachments(MemoryThreadFiles(), None), parse_content(message), TEXT_ONLY)
    framed = '<document name="data.csv" type="text/csv" bytes="8">\na;b\n1;2\n\n</document>'
    assert pieces == ("What is in the file?", framed)


@pytest.mark.parametrize(
    ("announced", "name", "visible"),
    [
        ("text/csv", "data.csv", "text/csv"),
        ("text/csv; charset=utf-16", "data.csv", "text/csv"),
        ("TEXT/CSV", None, "text/csv"),
        ("application/csv", None, "application/csv"),
        ("text/x-markdown; charset=utf-8", "a.txt", "text/x-markdown"),
        ("application/octet-stream", "a.tsv", "text/csv"),
        ("binary/octet-stream", "A.MD", "text/markdown"),
        ("application/ld+json", None, "application/ld+json"),
        ("application/octet-stream", "notes.txt", "text/plain"),
        ("application/octet-stream", "no-ending", "text/plain"),
        ("application/vnd.ms-excel", "DATA.CSV", "text/csv"),
        ("application/vnd.ms-excel", None, "text/plain"),
        ("application/x-msdownload", "page.html", "text/html"),
        ("application/pdf", "report.pdf", "text/plain"),
        ("binary/octet-stream", "a.json", "application/json"),
        ("", None, "text/plain"),
        ("nonsense", None, "text/plain"),
    ],
)
async def test_text_is_text_whatever_it_was_announced_as(announced: str, name: str | None, visible: str) -> None:
    framed = await piece_of(document(b"a,b\n1,2", announced, name), TEXT_ONLY)
    assert framed == f'<document name="{name or "document"}" type="{visible}" bytes="7">\na,b\n1,2\n</document>'


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"]
)
async def test_text_is_read_in_its_encoding(encoding: str) -> None:
    text = "Straße;Ort;Gebühr\nMüllerstraße 5;Köln;12,50\n"
    framed = await piece_of(document(text.encode(encoding), "text/csv", "latin1.csv"))
    assert isinstance(framed, str)
    assert f"\n{text}\n</document>" in framed


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "utf-16-le"])
async def test_text_of_another_script_is_read_in_its_encoding(encoding: str) -> None:
    text = RUSSIAN * 3
    framed = await piece_of(document(text.encode(encoding), "text/plain"))
    assert isinstance(framed, str)
    assert text in framed


async def test_a_page_without_a_type_is_read_in_the_encoding_that_it_declares() -> None:
    page = "<!doctype html><meta charset=koi8-r><p>Да."
    framed = await piece_of(document(page.encode("koi8-r"), ""))
    assert framed == f'<document name="document" type="text/html" bytes="{len(page)}">\n{page}\n</document>'


async def test_announced_text_with_a_damaged_character_is_text() -> None:
    framed = await piece_of(document(b"caf\xe9\x00", "text/plain"))
    assert isinstance(framed, str)
    assert "\ncaf\xe9\ufffd\n" in framed


async def test_a_drawing_of_markup_is_text() -> None:
    framed = await piece_of(image(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "logo.svg"))
    assert isinstance(framed, str)
    assert framed.startswith('<document name="logo.svg" type="image/svg+xml"')


async def test_a_long_text_is_cut_and_the_model_learns_it() -> None:
    framed = await piece_of(document(b"x" * (MAX_CHARACTERS + 1), "text/plain"))
    assert isinstance(framed, str)
    assert f"[cut: the document has {MAX_CHARACTERS + 1} characters]" in framed
    assert len(framed) < MAX_CHARACTERS + 300


async def test_a_name_cannot_break_out_of_its_frame() -> None:
    framed = await piece_of(document(b"x", "text/plain", 'a">\n<b'))
    assert isinstance(framed, str)
    assert framed.startswith('<document name="a____b" ')


async def test_two_files_of_one_name_are_both_given() -> None:
    parts = (document(b"one", "text/plain", "a.txt"), document(b"two", "text/plain", "a.txt"))
    pieces = await pieces_of(Attachments(MemoryThreadFiles(), None), parts, EVERYTHING)
    assert ["one" in str(pieces[0]), "two" in str(pieces[1])] == [True, True]


# Images


@pytest.mark.parametrize(
    ("content", "mime_type", "name"),
    [
        (PNG, "image/png", "image.png"),
        (b"\xff\xd8\xff\xe0 and so on", "image/jpeg", "image.jpg"),
        (b"GIF89a and so on", "image/gif", "image.gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp", "image.webp"),
    ],
)
@pytest.mark.parametrize("announced", ["image/png", "image/jpg", "image/x-png", "image/pjpeg"])
async def test_an_image_has_the_type_of_its_content(content: bytes, mime_type: str, name: str, announced: str) -> None:
    assert await piece_of(image(content, announced)) == Media(MediaKind.IMAGE, name, mime_type, content)


async def test_an_image_that_was_sent_as_a_document_is_an_image() -> None:
    media = await piece_of(document(PNG, "application/octet-stream", "photo"))
    assert media == Media(MediaKind.IMAGE, "photo.png", "image/png", PNG)


async def test_a_model_without_images_is_given_the_name() -> None:
    sentence = await piece_of(image(PNG, name="cat.png"), TEXT_ONLY)
    assert sentence == "[The image cat.png was not given to the model, because it reads no images.]"


@pytest.mark.parametrize(
    ("content", "announced", "label"),
    [
        (b"BM\x10\0\0\0\0\0\0\0\x36\0\0\0", "image/bmp", "a BMP image"),
        (b"II*\0\x08\0\0\0", "image/tiff", "a TIFF image"),
        (b"MM\0*\0\0\0\x08", "image/tiff", "a TIFF image"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic", "an HEIF image"),
        (b"\0\0\1\0\1\0\x10\x10", "image/x-icon", "an icon"),
    ],
)
async def test_an_image_that_no_model_reads_is_named(content: bytes, announced: str, label: str) -> None:
    sentence = await piece_of(image(content, announced, "scan"))
    assert sentence == f"[The image scan was not given to the model, because it is {label}.]"


async def test_an_image_at_an_address_stays_one() -> None:
    part = ImagePart(source=UrlSource(value="https://example.com/cat.png"), metadata={"name": "cat.png"})
    assert await piece_of(part) == Media(MediaKind.IMAGE, "cat.png", "", None, "https://example.com/cat.png")


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        (TEXT_ONLY, "it reads no images"),
        (ModelProfile(image_urls=False), "it reads no images by their address"),
        (ModelProfile(max_images=0), "it reads only 0 images of a message"),
    ],
)
async def test_an_image_at_an_address_that_a_model_does_not_take_is_named(profile: ModelProfile, reason: str) -> None:
    part = ImagePart(source=UrlSource(value="https://example.com/cat.png"))
    sentence = await piece_of(part, profile)
    assert sentence == f"[The image at https://example.com/cat.png was not given to the model, because {reason}.]"


async def test_images_beyond_a_models_limits_are_named() -> None:
    parts = (image(PNG, name="a.png"), image(PNG * 9, name="b.png"), image(PNG, name="c.png"), image(PNG, name="d.png"))
    profile = ModelProfile(max_images=2, max_image_bytes=100)
    pieces = await pieces_of(Attachments(MemoryThreadFiles(), None), parts, profile)
    assert [piece if isinstance(piece, str) else piece.name for piece in pieces] == [
        "a.png",
        "[The image b.png was not given to the model, because it reads images of at most 100 bytes.]",
        "c.png",
        "[The image d.png was not given to the model, because it reads only 2 images of a message.]",
    ]


# Documents


@pytest.mark.parametrize(
    "announced", ["application/pdf", "application/x-pdf", "application/octet-stream", "text/plain"]
)
async def test_a_pdf_stays_one_for_models_that_read_it(announced: str) -> None:
    reader = CountingReader()
    assert await piece_of(document(PDF, announced), EVERYTHING, reader) == Media(
        MediaKind.DOCUMENT, "document.pdf", "application/pdf", PDF
    )
    assert not reader.calls


async def test_a_model_that_reads_no_pdf_is_given_its_text() -> None:
    reader = CountingReader()
    framed = await piece_of(document(PDF, "application/pdf", "report.pdf"), TEXT_ONLY, reader)
    assert framed == (
        '<document name="report.pdf" type="application/pdf" bytes="18" pages="1">\n[page 1]\n\nThe text.\n</document>'
    )


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (documents.word(("Normal", "Hello.")), DocumentFormat.DOCX),
        (documents.workbook(One=[["a", "b"]]), DocumentFormat.XLSX),
        (documents.presentation(("Title", ["Text"])), DocumentFormat.PPTX),
    ],
)
@pytest.mark.parametrize("announced", ["application/zip", "application/octet-stream", "application/msword", "text/csv"])
async def test_office_files_are_recognised_by_their_content(
    content: bytes, form: DocumentFormat, announced: str
) -> None:
    reader = CountingReader()
    await piece_of(document(content, announced, "file"), EVERYTHING, reader)
    assert reader.calls == [(f"file.{form.value}", form, MAX_READING_SECONDS)]


async def test_an_office_file_stays_one_for_models_that_read_it() -> None:
    content = documents.workbook(One=[["a", "b"]])
    media = await piece_of(document(content, name="a.xlsx"), ModelProfile(documents=frozenset({documents.XLSX})))
    assert media == Media(MediaKind.DOCUMENT, "a.xlsx", documents.XLSX, content)


async def test_documents_beyond_a_models_limits_are_given_as_text() -> None:
    parts = (document(PDF, name="a.pdf"), document(PDF * 9, name="b.pdf"), document(PDF, name="c.pdf"))
    pieces = await pieces_of(
        Attachments(MemoryThreadFiles(), CountingReader()), parts, ModelProfile(max_documents=1, max_document_bytes=100)
    )
    assert [piece[:22] if isinstance(piece, str) else piece.name for piece in pieces] == [
        "a.pdf",
        '<document name="b.pdf"',
        '<document name="c.pdf"',
    ]


async def test_a_cut_document_says_so() -> None:
    reader = CountingReader(DocumentText("x" * 10, 80, is_cut=True))
    framed = await piece_of(document(PDF), TEXT_ONLY, reader)
    assert isinstance(framed, str)
    assert framed.endswith("xxxxxxxxxx\n[cut: the document has more than 10 characters]\n</document>")


async def test_a_document_that_cannot_be_read_is_named_with_the_reason() -> None:
    reader = CountingReader(problem=DocumentUnreadable("The document is protected with a password."))
    sentence = await piece_of(document(PDF, name="secret.pdf"), TEXT_ONLY, reader)
    assert (
        sentence == "[The document secret.pdf was not given to the model. The document is protected with a password.]"
    )


async def test_a_workbook_reaches_a_model_of_text_sheet_by_sheet() -> None:
    content = documents.workbook(Prices=[["Item", "Price"], ["Tea", 3]], Stock=[["Tea", 7]])
    part = document(content, "application/vnd.ms-excel", "tea.xlsx")
    [framed] = await pieces_of(Attachments(MemoryThreadFiles(), ChildProcessReader()), (part,), TEXT_ONLY)
    assert framed == (
        f'<document name="tea.xlsx" type="{documents.XLSX}" bytes="{len(content)}" pages="2">\n'
        "[sheet 1]\n\n# Prices\n\nItem | Price\nTea | 3\n\n[sheet 2]\n\n# Stock\n\nTea | 7\n</document>"
    )


async def test_without_a_reader_a_document_is_named() -> None:
    sentence = await piece_of(document(PDF, name="a.pdf"), TEXT_ONLY)
    assert sentence == (
        "[The document a.pdf was not given to the model, because it is a PDF document, which it does not read.]"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (make_ole_file("WordDocument"), "it is an older Word document, which is not read"),
        (make_ole_file("Workbook"), "it is an older workbook, which is not read"),
        (make_ole_file("PowerPoint Document"), "it is an older presentation, which is not read"),
        (make_ole_file("EncryptedPackage"), "it is protected with a password"),
        (make_ole_file("Else"), "it is an older Office file"),
        (
            make_archive(mimetype="application/vnd.oasis.opendocument.text"),
            "it is an OpenDocument file, which is not read",
        ),
        (make_archive(a="b"), "it is an archive"),
        (b"PK\x03\x04 and no archive", "it is an archive"),
        (b"\x1f\x8b\x08\0", "it is a compressed file"),
        (b"\0\1\2\3" * 10, "it is neither text nor a known kind of document or image"),
        (b"\0\0\0\x18ftypisom", "it is a video"),
    ],
)
async def test_what_no_model_reads_is_named_with_the_reason(content: bytes, reason: str) -> None:
    sentence = await piece_of(document(content, "application/pdf", "file.pdf"), EVERYTHING, CountingReader())
    assert sentence == f"[The document file.pdf was not given to the model, because {reason}.]"


async def test_a_part_of_an_office_file_is_no_archive_but_damaged() -> None:
    content = documents.word(("Normal", "Text."))[:-40]
    for announced, name in ((documents.DOCX, None), ("application/octet-stream", "a.docx")):
        sentence = await piece_of(document(content, announced, name), EVERYTHING, CountingReader())
        assert isinstance(sentence, str)
        assert sentence.endswith("was not given to the model, because it is damaged or incomplete.]")


async def test_an_older_office_file_stays_one_for_models_that_read_it() -> None:
    content = make_ole_file("Workbook")
    profile = ModelProfile(documents=frozenset({"application/vnd.ms-excel"}))
    assert await piece_of(document(content, "text/csv", "a.xls"), profile) == Media(
        MediaKind.DOCUMENT, "a.xls", "application/vnd.ms-excel", content
    )


async def test_an_announced_pdf_may_begin_with_other_text() -> None:
    body = b"junk\n" * 100 + PDF
    assert await piece_of(document(body, "application/pdf", "a.pdf"), EVERYTHING, CountingReader()) == Media(
        MediaKind.DOCUMENT, "a.pdf", "application/pdf", body
    )


async def test_a_program_that_mentions_pdf_files_is_text() -> None:
    framed = await piece_of(document(b'MARK = b"%PDF-1.7"\n', "text/x-python", "mark.py"))
    assert isinstance(framed, str)
    assert framed.startswith('<document name="mark.py" type="text/x-python"')


async def test_a_document_at_an_address_is_named_but_never_fetched() -> None:
    part = DocumentPart(source=UrlSource(value="https://example.com/a.pdf"), metadata={"name": "a.pdf"})
    assert await piece_of(part) == "[Document a.pdf at https://example.com/a.pdf]"


# Uploads and repetitions


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (upload(name="report.pdf"), "[The document report.pdf has not been uploaded.]"),
        (upload(), "[The document that was announced has not been uploaded.]"),
        (
            ImagePart(source=FileSource(value=FILE_ID, provider="baton")),
            "[The image that was announced has not been uploaded.]",
        ),
    ],
)
async def test_an_upload_that_never_came_is_named(part: Part, sentence: str) -> None:
    assert await piece_of(part) == sentence


async def test_an_empty_upload_is_named() -> None:
    [sentence] = await pieces_of(
        Attachments(MemoryThreadFiles({FILE_ID: b""}), None), (upload(name="a.txt"),), EVERYTHING
    )
    assert sentence == "[The document a.txt was not given to the model, because it is empty.]"


async def test_an_outage_of_the_files_is_not_hidden() -> None:
    class Down(MemoryThreadFiles):
        async def read(self, file_id: str) -> bytes:
            raise StoreUnavailable

    with pytest.raises(StoreUnavailable):
        await pieces_of(Attachments(Down(), None), (upload(),), EVERYTHING)


async def test_a_request_that_is_repeated_for_another_profile_reads_nothing_twice() -> None:
    files, reader = CountingFiles({FILE_ID: PDF}), CountingReader()
    attachments = Attachments(files, reader)
    parts = (upload(name="a.pdf"),)
    first = await pieces_of(attachments, parts, EVERYTHING)
    second = await pieces_of(attachments, parts, TEXT_ONLY)
    assert isinstance(first[0], Media)
    assert isinstance(second[0], str)
    assert await pieces_of(attachments, parts, TEXT_ONLY) == second
    assert (files.reads, len(reader.calls)) == (1, 1)


async def test_all_documents_of_a_request_share_the_time_to_read_them() -> None:
    now = 0.0
    reader = CountingReader()
    attachments = Attachments(MemoryThreadFiles(), reader, monotonic=lambda: now)
    await pieces_of(attachments, (document(PDF, name="a.pdf"),), TEXT_ONLY)
    now = 25.0
    await pieces_of(attachments, (document(PDF, name="b.pdf"),), TEXT_ONLY)
    now = 99.0
    await pieces_of(attachments, (document(PDF, name="c.pdf"),), TEXT_ONLY)
    assert [seconds for _, _, seconds in reader.calls] == [MAX_READING_SECONDS, 5.0, 0.0]


async def test_the_media_of_a_request_have_a_limit_that_repetitions_do_not_use_up() -> None:
    large = PNG + b"\0" * (MAX_HELD_BYTES // 2)
    attachments = Attachments(MemoryThreadFiles({"a": large, "b": large}), None)
    contents = ((upload("a", "old.png"),), "And this one?", (upload("b", "new.png"),))
    for _ in range(2):
        [[earlier], text, [newest]] = await attachments.make_all_pieces(contents, EVERYTHING)
        assert text == ("And this one?",)
        assert isinstance(newest, Media)
        assert earlier == (
            "[The image old.png was not given to the model, because the attachments of the conversation are too large "
            "to be given together.]"
        )


async def test_texts_of_a_request_have_a_limit_in_favour_of_the_latest() -> None:
    profile = ModelProfile(context_tokens=1_000)
    contents = [(document(letter.encode() * 900, "text/plain", f"{letter}.txt"),) for letter in "abc"]
    [[first], [second], [third]] = await Attachments(MemoryThreadFiles(), None).make_all_pieces(contents, profile)
    assert ["a" * 200 in str(first), "b" * 900 in str(second), "c" * 900 in str(third)] == [False, True, True]
    assert first == (
        "[The document a.txt was not given to the model, because the documents of the conversation are too long to be "
        "given together.]"
    )


async def test_a_long_text_is_cut_to_half_of_what_a_model_reads() -> None:
    part = document(b"x" * 9_000, "text/plain")
    framed = await piece_of(part, ModelProfile(context_tokens=1_000))
    assert isinstance(framed, str)
    assert framed.endswith(f"\n{'x' * 2_000}\n[cut: the document has 9000 characters]\n</document>")


async def test_an_archive_of_very_many_entries_is_not_listed() -> None:
    content = documents.workbook(One=[["a"]]) + b"PK\x01\x02" * 20_001
    sentence = await piece_of(document(content, documents.XLSX, "a.xlsx"), EVERYTHING, CountingReader())
    assert sentence == "[The document a.xlsx was not given to the model, because it is an archive.]"


STARTS = [
    b"",
    b"%PDF-",
    PNG[:8],
    b"PK\x03\x04",
    make_archive(a="b")[:-9],
    make_ole_file("WordDocument"),
    b"RIFF",
    b"\xff\xfe",
    b"<",
]


@given(st.sampled_from(STARTS), st.binary(max_size=400), st.text(max_size=40), st.text(max_size=40), st.booleans())
async def test_no_bytes_name_or_type_make_it_fail(
    start: bytes, rest: bytes, name: str, announced: str, reads: bool
) -> None:
    content = start + rest
    part = DocumentPart(
        source=FileSource(value=FILE_ID, provider="baton", mime_type=announced), metadata={"name": name}
    )
    attachments = Attachments(MemoryThreadFiles({FILE_ID: content}), CountingReader() if reads else None)
    for profile in (EVERYTHING, TEXT_ONLY):
        [piece] = await pieces_of(attachments, (part,), profile)
        assert piece.data == content if isinstance(piece, Media) else piece.strip()
