"""The content of messages."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from ag_ui.core import TextPart, UserMessage
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from baton.domain.errors import BatonError, InvalidRequest, MessageTooLarge, UnsupportedPart
from baton.domain.threads.content import (
    MAX_CONTENT_BYTES,
    MAX_DEPTH,
    MAX_PARTS,
    Content,
    content_as_json,
    derive_content_digest,
    parse_content,
    write_canonical_json,
)
from baton.domain.threads.events import Event, make_messages_snapshot, to_body
from baton.domain.threads.message import Role, StoredMessage
from baton_testing.fakes.clock import NOON
from tests.unit.domain.strategies import contents, json_values, raw_contents

STORED: TypeAdapter[Content] = TypeAdapter(Content)
UPLOAD = "file_" + "0123456789abcdef" * 2
FILE = {"type": "file", "value": UPLOAD, "provider": "baton"}


def image(**source: Any) -> list[dict[str, Any]]:
    return [{"type": "image", "source": source}]


def nest(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@given(raw_contents)
def test_whatever_a_client_sends_is_taken_or_refused_in_words(raw: Any) -> None:
    outcome = parse(raw)
    if isinstance(outcome, BatonError):
        assert outcome.status in (413, 422)
        assert len(outcome.detail.encode()) < 1_000
    else:
        assert len(write_canonical_json(outcome)) <= MAX_CONTENT_BYTES


@given(contents)
def test_content_comes_back_as_it_went_in(content: Content) -> None:
    wire = json.loads(json.dumps(content_as_json(content), allow_nan=False))
    assert STORED.validate_python(wire) == content
    assert derive_content_digest(STORED.validate_python(wire)) == derive_content_digest(content)


@given(contents)
def test_what_was_taken_once_is_taken_again(content: Content) -> None:
    assert derive_content_digest(parse_content(content_as_json(content))) == derive_content_digest(content)


@given(contents)
def test_what_was_taken_can_be_shown(content: Content) -> None:
    message = StoredMessage("m", Role.USER, content, 0, "r", NOON, 1)
    assert isinstance(message.as_ag_ui(), UserMessage)
    for frame in Event(to_body(make_messages_snapshot([message]))).split_into_frames():
        json.loads(frame, parse_constant=pytest.fail)


@given(raw_contents.filter(lambda raw: isinstance(raw, list)), st.randoms())
def test_the_order_of_keys_does_not_matter(raw: Any, chance: random.Random) -> None:
    outcome = parse(raw)
    if not isinstance(outcome, BatonError):
        assert derive_content_digest(parse_content(shuffle_keys(raw, chance))) == derive_content_digest(outcome)


@given(st.text(min_size=1), st.text(min_size=1))
def test_other_text_has_another_digest(one: str, other: str) -> None:
    assert (derive_content_digest(one) == derive_content_digest(other)) == (one == other)


def test_text_and_a_text_part_are_not_the_same_content() -> None:
    assert derive_content_digest("Hello") != derive_content_digest((TextPart(text="Hello"),))


@pytest.mark.parametrize("raw", ["", " \n\t", "\u3000", [], [{"type": "text", "text": " "}], None, 5, {}, True, 1.5])
def test_nothing_is_no_message(raw: object) -> None:
    with pytest.raises(InvalidRequest):
        parse_content(raw)


@pytest.mark.parametrize(
    "raw",
    [
        "Hello",
        "\x00",
        [{"type": "text", "text": "Hello", "unknown": {"kept": [1, None]}}],
        [{"type": "text", "text": ""}, {"type": "text", "text": "x"}],
        image(type="data", value="aGk=", mimeType="image/png"),
        image(type="url", value="https://example.com/a.png"),
        image(type="file", value=UPLOAD, provider="baton"),
        image(type="data", value="aGk=", mimeType="IMAGE/PNG; a=b"),
        image(type="data", value="aGk=", mimeType=""),
        [{"type": "document", "source": {"type": "data", "value": "aGk=", "mimeType": "application/pdf"}}],
        [{"type": "document", "source": {"type": "data", "value": "aGk=", "mimeType": "text/csv; charset=utf-8"}}],
        [{"type": "document", "source": {"type": "data", "value": "aGk=", "mimeType": ""}}],
        [{"type": "text", "text": "x", "deep": nest(MAX_DEPTH - 1)}],
    ],
)
def test_text_images_and_documents_are_taken(raw: object) -> None:
    parse_content(raw)


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ([{"type": "text"}], "text"),
        ([{"text": "x"}], "content[0].type"),
        ([{"type": "text", "text": "x"}, 7], "content[1]"),
        ([{"type": "text", "text": 7}], "content[0].text"),
        ("\ud83d", "content"),
        ([{"type": "text", "text": "\ud83d"}], "content[0]"),
        ([{"type": "text", "text": "x", "y": ["\udc00"]}], "content[0]"),
        ([{"type": "text", "text": "x", "y": float("nan")}], "content[0]"),
        ([{"type": "text", "text": "x", "y": float("inf")}], "content[0]"),
        ([{"type": "text", "text": "x", "y": nest(MAX_DEPTH)}], "content[0]"),
        ([{"type": "text", "text": "x", "y": nest(900)}], "content[0]"),
        ([{"type": "text", "text": "x"}] * (MAX_PARTS + 1), "content"),
        (image(type="\ud800", value="x"), "content[0]"),
        (image(type="x" * 100_000, value="x"), "content[0].source"),
        (image(type="data", value="a*b", mimeType="image/png"), "content[0].source.value"),
        (image(type="data", value="", mimeType="image/png"), "content[0].source.value"),
        (image(type="data", value="aGk=", mimeType="text/plain"), "content[0].source.mimeType"),
        (image(type="data", value="aGk=", mimeType="image"), "content[0].source.mimeType"),
        (image(type="url", value="ftp://example.com/"), "content[0].source.value"),
        (image(type="url", value="javascript:alert(1)"), "content[0].source.value"),
        (image(type="url", value="http://[::1"), "content[0].source.value"),
        (image(type="url", value="https://example.com/\r\nX-Evil: 1"), "content[0].source.value"),
        (image(type="url", value="https://exam\nple.com/"), "content[0].source.value"),
        (image(type="url", value="\thttps://example.com/"), "content[0].source.value"),
        (image(type="url", value="https://example.com/a b"), "content[0].source.value"),
        (image(type="url", value="https://example.com\\@evil.example/"), "content[0].source.value"),
        (image(type="url", value="https://example.com:port/"), "content[0].source.value"),
        (image(type="url", value="https://" + "a" * 9_000), "content[0].source.value"),
    ],
)
def test_a_refusal_names_the_field(raw: object, field: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_content(raw)
    assert field in refusal.value.detail
    assert len(refusal.value.detail) < 400
    refusal.value.detail.encode()


@pytest.mark.parametrize("kind", ["audio", "video", "binary", "", "x" * 50_000, "\ud800"])
def test_other_parts_are_unsupported(kind: str) -> None:
    with pytest.raises(UnsupportedPart) as refusal:
        parse_content([{"type": kind, "source": {"type": "url", "value": "https://example.com/"}}])
    assert len(refusal.value.detail) < 200
    refusal.value.detail.encode()


@pytest.mark.parametrize("part", ["document", "image"])
@pytest.mark.parametrize("mime_type", ["audio/mpeg", "video/mp4", "Audio/WAV", " VIDEO/x-msvideo ; a=b"])
def test_audio_and_video_are_unsupported_as_any_part(part: str, mime_type: str) -> None:
    for source in ({"type": "data", "value": "aGk="}, {"type": "url", "value": "https://example.com/a"}, FILE):
        with pytest.raises(UnsupportedPart):
            parse_content([{"type": part, "source": {**source, "mimeType": mime_type}}])


@pytest.mark.parametrize("source", [{"value": UPLOAD, "provider": "openai"}, {"value": "../x", "provider": "baton"}])
def test_files_from_elsewhere_are_unsupported(source: dict[str, str]) -> None:
    with pytest.raises(UnsupportedPart):
        parse_content(image(type="file", **source))


def test_content_may_have_one_mebibyte_as_json() -> None:
    parse_content("x" * (MAX_CONTENT_BYTES - 2))
    for raw in ("x" * (MAX_CONTENT_BYTES - 1), "\n" * (MAX_CONTENT_BYTES // 2) + "x"):
        with pytest.raises(MessageTooLarge):
            parse_content(raw)


@given(st.lists(json_values, max_size=3))
def test_a_list_of_anything_is_refused(raw: list[Any]) -> None:
    with pytest.raises(BatonError):
        parse_content(raw)


def parse(raw: Any) -> Content | BatonError:
    """Its parts."""
    try:
        return parse_content(raw)
    except BatonError as error:
        return error


def shuffle_keys(value: Any, chance: random.Random) -> Any:
    """The same JSON with its keys in another order."""
    if isinstance(value, dict):
        items = [(key, shuffle_keys(inner, chance)) for key, inner in value.items()]
        chance.shuffle(items)
        return dict(items)
    return [shuffle_keys(inner, chance) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", ["text", "image", "document"])
def test_a_download_address_that_a_client_sends_is_not_kept(kind: str) -> None:
    body = {"text": "Hello"} if kind == "text" else {"source": FILE}
    sent = {"type": kind, **body, "metadata": {"name": "a.png", "downloadUrl": "javascript:alert(1)"}}
    content = parse_content([sent])
    [stored] = content_as_json(content)
    assert isinstance(stored, dict)
    assert stored["metadata"] == {"name": "a.png"}
    assert derive_content_digest(content) == derive_content_digest(
        parse_content([{**sent, "metadata": {"name": "a.png"}}])
    )
