"""Prompts in the form of Chat Completions."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from ag_ui.core import DataSource, DocumentPart, FileSource, ImagePart, TextPart, UrlSource

from baton.adapters.models.attachments.file_types import MAX_CHARACTERS
from baton.adapters.models.openai.messages import make_wire_messages
from baton.domain.errors import StoreUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.content import Part
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Prompt
from tests.fakes.thread_files import MemoryThreadFiles

PNG = b"\x89PNG\r\n\x1a\n and so on"
FILE_ID = "file_" + "0" * 32


async def content_of(*parts: Part, files: dict[str, bytes] | None = None) -> Any:
    [message] = await make_wire_messages([Prompt(Role.USER, parts)], MemoryThreadFiles(files or {}))
    assert message["role"] == "user"
    return message["content"]


def data(content: bytes, mime_type: str) -> DataSource:
    return DataSource(value=base64.b64encode(content).decode(), mime_type=mime_type)


def upload(mime_type: str | None = None) -> FileSource:
    return FileSource(value=FILE_ID, provider="baton", mime_type=mime_type)


async def test_parts_that_are_all_text_are_one_string() -> None:
    assert await content_of(TextPart(text="One."), TextPart(text="Two.")) == "One.\n\nTwo."


async def test_text_beside_tool_calls_is_kept() -> None:
    prompt = Prompt(Role.ASSISTANT, "One moment.", tool_calls=(ToolCall("c1", "add", "{}"),))
    [message] = await make_wire_messages([prompt], MemoryThreadFiles())
    assert message.get("content") == "One moment."


async def test_a_tools_output_without_its_call_is_reported_with_a_users_authority() -> None:
    [message] = await make_wire_messages([Prompt(Role.TOOL, "It rains.")], MemoryThreadFiles())
    assert message == {"role": "user", "content": "It rains."}


@pytest.mark.parametrize("arguments", ["", "[]", "1", '{"x": ', "[" * 100_000])
async def test_arguments_that_are_no_object_do_not_spoil_the_conversation(arguments: str) -> None:
    prompt = Prompt(Role.ASSISTANT, "", tool_calls=(ToolCall("c1", "add", arguments),))
    [message] = await make_wire_messages([prompt], MemoryThreadFiles())
    [call] = message["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"malformed": arguments}


async def test_an_image_at_an_address_is_passed_as_that_address() -> None:
    url = "https://example.com/cat.png"
    assert await content_of(TextPart(text="A cat?"), ImagePart(source=UrlSource(value=url))) == [
        {"type": "text", "text": "A cat?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]


async def test_an_image_as_data_becomes_a_data_url() -> None:
    encoded = base64.b64encode(PNG).decode()
    assert await content_of(ImagePart(source=data(PNG, "image/png"))) == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}}
    ]


@pytest.mark.parametrize(
    ("magic", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF....WEBP", "image/webp"),
    ],
)
async def test_an_uploaded_image_without_a_type_is_recognised_by_its_first_bytes(magic: bytes, mime_type: str) -> None:
    [image] = await content_of(ImagePart(source=upload()), files={FILE_ID: magic})
    assert image["image_url"]["url"].startswith(f"data:{mime_type};base64,")


@pytest.mark.parametrize(
    "mime_type", ["text/plain", "text/csv", "text/markdown", "application/json", "application/ld+json"]
)
async def test_a_text_like_document_is_inlined_with_its_name(mime_type: str) -> None:
    part = DocumentPart(source=data("größe;1".encode(), mime_type), metadata={"name": "sizes.csv"})
    assert await content_of(part) == f'<document name="sizes.csv" type="{mime_type}" bytes="9">\ngröße;1\n</document>'


async def test_an_upload_without_a_type_is_recognised_by_its_name() -> None:
    part = DocumentPart(source=upload("application/octet-stream"), metadata={"name": "notes.txt"})
    assert "Buy milk." in await content_of(part, files={FILE_ID: b"Buy milk."})


async def test_a_pdf_becomes_a_file_part() -> None:
    part = DocumentPart(source=upload("application/pdf"), metadata={"name": "report.pdf"})
    encoded = base64.b64encode(b"%PDF-1.7").decode()
    assert await content_of(part, files={FILE_ID: b"%PDF-1.7"}) == [
        {"type": "file", "file": {"filename": "report.pdf", "file_data": f"data:application/pdf;base64,{encoded}"}}
    ]


async def test_a_document_without_a_name_gets_one() -> None:
    [part] = await content_of(DocumentPart(source=data(b"%PDF-1.7", "application/pdf")))
    assert part["file"]["filename"] == "document.pdf"


async def test_a_document_at_an_address_is_named_but_never_fetched() -> None:
    part = DocumentPart(source=UrlSource(value="https://example.com/a.pdf"), metadata={"name": "a.pdf"})
    assert await content_of(part) == "[Document a.pdf at https://example.com/a.pdf]"


async def test_an_upload_that_never_came_is_reported_instead_of_failing_the_turn() -> None:
    part = DocumentPart(source=upload("application/pdf"), metadata={"name": "report.pdf"})
    assert await content_of(part) == "[The document report.pdf has not been uploaded.]"


async def test_an_outage_of_the_files_is_not_hidden() -> None:
    class Down(MemoryThreadFiles):
        async def read(self, file_id: str) -> bytes:
            raise StoreUnavailable

    with pytest.raises(StoreUnavailable):
        await make_wire_messages([Prompt(Role.USER, (ImagePart(source=upload()),))], Down())


async def test_a_long_document_is_cut_and_the_model_learns_it() -> None:
    text = await content_of(DocumentPart(source=data(b"x" * (MAX_CHARACTERS + 1), "text/plain")))
    assert f"[cut: the document has {MAX_CHARACTERS + 1} characters]" in text
    assert len(text) < MAX_CHARACTERS + 300


async def test_a_documents_name_cannot_break_out_of_its_frame() -> None:
    part = DocumentPart(source=data(b"x", "text/plain"), metadata={"name": 'a">\n<b'})
    assert '<document name="a____b"' in await content_of(part)


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"\xef\xbb\xbfbom", "bom"), ("wide".encode("utf-16"), "wide"), (b"caf\xe9\x00", "caf\xe9\ufffd")],
)
async def test_text_is_decoded_whatever_its_encoding(content: bytes, text: str) -> None:
    assert f"\n{text}\n" in await content_of(DocumentPart(source=data(content, "text/plain")))
