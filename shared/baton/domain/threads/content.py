"""The content of messages: text, images and files. What a user sends is validated when it arrives."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable
from typing import Annotated, Any

from ag_ui.core import DataSource, DocumentPart, FileSource, ImagePart, TextPart, UrlSource
from pydantic import Field, PlainSerializer, TypeAdapter, ValidationError

from baton.domain.definition import get_message
from baton.domain.errors import InvalidRequest, MessageTooLarge, UnsupportedPart
from baton.domain.json_values import is_within
from baton.domain.web_url import CREDENTIALS, has_credentials, is_web_url
from baton_documents.media_types import MediaType, is_media_type

MAX_CONTENT_BYTES = 1024 * 1024
MAX_PARTS = 32
MAX_DEPTH = 32
"""Nesting of objects and lists in one part. Events that carry the part must be serialisable."""
MAX_VALUES = 2_000
"""Values in one part. Unknown fields are kept and copied several times."""
FILE_PROVIDER = "baton"
DOWNLOAD_URL = "downloadUrl"
"""The field of a part's metadata with an upload's address. Only the API sets it."""
FILE_ID = re.compile(r"file_[0-9a-f]{32}")

_PARTS: dict[str, TypeAdapter[Any]] = {
    "text": TypeAdapter(TextPart),
    "image": TypeAdapter(ImagePart),
    "document": TypeAdapter(DocumentPart),
}


def part_as_json(part: TextPart | ImagePart | DocumentPart) -> dict[str, Any]:
    """Return the wire form of a part, which is also the stored one."""
    return part.model_dump(by_alias=True, mode="json")


Part = Annotated[TextPart | ImagePart | DocumentPart, Field(discriminator="type"), PlainSerializer(part_as_json)]
Content = str | tuple[Part, ...]


def text_of(content: Content) -> str:
    """Return the texts of a content, joined by line feeds, without parts of other kinds; empty without texts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, TextPart))


def with_text(content: Content, text: str) -> Content:
    """Return the content with ``text``, as its first part, in place of all its texts. Parts of other kinds stay."""
    if isinstance(content, str):
        return text
    return (TextPart(text=text), *(part for part in content if not isinstance(part, TextPart)))


def parse_content(raw: object, field: str = "content") -> Content:
    """Check a message's content: a string, or a list of AG-UI text, image and document parts.

    ``field`` is the name of the content in errors.

    An image or document is base64 data, an http(s) URL, or an upload of this thread (``file`` source, provider
    ``baton``). Raises ``InvalidRequest``, ``UnsupportedPart`` and ``MessageTooLarge`` (over 1 MiB as JSON).
    """
    if isinstance(raw, str):
        content: Content = _check_text(raw, field)
        if not raw.strip():
            raise InvalidRequest(f"{field} must not be empty.")
    elif isinstance(raw, list):
        if not 1 <= len(raw) <= MAX_PARTS:
            raise InvalidRequest(f"{field} must have 1 to {MAX_PARTS} parts.")
        content = tuple(_parse_part(item, f"{field}[{index}]") for index, item in enumerate(raw))
        if all(isinstance(part, TextPart) and not part.text.strip() for part in content):
            raise InvalidRequest(f"{field} must not be empty.")
    else:
        raise InvalidRequest(f"{field} must be a string or a list of parts.")
    if len(write_canonical_json(content)) > MAX_CONTENT_BYTES:
        raise MessageTooLarge
    return content


def write_field_path(location: Iterable[str | int]) -> str:
    """Return the name of a field in errors: ``messages[0].timestamp``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location).removeprefix(".")


def content_as_json(content: Content) -> str | list[dict[str, Any]]:
    """Return the wire form of ``content``."""
    if isinstance(content, str):
        return content
    return [part_as_json(part) for part in content]


def write_canonical_json(content: Content) -> bytes:
    """Return the canonical JSON of the content. It does not depend on the order of keys."""
    return json.dumps(content_as_json(content), ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def derive_content_digest(content: Content) -> str:
    """Return the SHA-256 of the content. The same message id with another digest is a conflict."""
    return hashlib.sha256(write_canonical_json(content)).hexdigest()


def find_part_name(part: ImagePart | DocumentPart) -> str | None:
    """Return the file name in the part's metadata, without characters of paths and markup; None if it has none."""
    if isinstance(part.metadata, dict):
        for key in ("name", "filename", "fileName"):
            name = part.metadata.get(key)
            if isinstance(name, str) and name.strip():
                return re.sub(r"[^\w .,()+@-]", "_", name.strip())[:200]
    return None


def make_preview(content: Content) -> str:
    """Return the text of a content for lists; for content without text, the names of its files."""
    text = text_of(content)
    if text.strip() or isinstance(content, str):
        return text
    files = (part for part in content if isinstance(part, ImagePart | DocumentPart))
    return ", ".join(find_part_name(part) or part.type for part in files)


def check_media_type(mime_type: str, where: str) -> None:
    """Raise ``UnsupportedPart`` for audio and video in any kind of part."""
    kind = MediaType.parse(mime_type).kind
    if kind in ("audio", "video"):
        raise UnsupportedPart(f"{where}: {kind} is not taken. Send text, image or document parts.")


def _check_text(text: str, where: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"{where} holds half of a surrogate pair, which is not text.") from None
    return text


def _parse_part(item: object, where: str) -> Part:
    if not isinstance(item, dict):
        raise InvalidRequest(f"{where} must be an object with a type.")
    kind = item.get("type")
    if not isinstance(kind, str):
        raise InvalidRequest(f"{where}.type must be a string.")
    if kind not in _PARTS:
        raise UnsupportedPart(
            f"{where}: parts of type {kind[:40]!r} are not taken. Send text, image or document parts."
        )
    _check_representable(item, where)
    if not isinstance(item.get("metadata"), dict | None):
        raise InvalidRequest(f"{where}.metadata must be an object.")
    try:
        part: Part = _PARTS[kind].validate_python(without_download_url(item))
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidRequest(f"{write_field_path((where, *first['loc']))}: {get_message(first)[:200]}.") from None
    if isinstance(part, TextPart):
        return part
    _check_source(part, where)
    return part


def without_download_url(part: dict[str, Any]) -> dict[str, Any]:
    """Return the wire form of a part without the address that only Baton sets (``DOWNLOAD_URL``).

    The address is not refused, because AG-UI clients send back messages as they have read them.
    """
    metadata = part.get("metadata")
    if not isinstance(metadata, dict) or DOWNLOAD_URL not in metadata:
        return part
    return {**part, "metadata": {name: value for name, value in metadata.items() if name != DOWNLOAD_URL}}


def _check_representable(item: dict[str, Any], where: str) -> None:
    # Unknown keys are kept, because AG-UI allows them, so the whole part must be valid JSON.
    if not is_within(item, MAX_DEPTH, MAX_VALUES):
        raise InvalidRequest(
            f"{where} is nested more than {MAX_DEPTH} levels deep, or holds more than {MAX_VALUES} values."
        )
    try:
        text = json.dumps(item, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise InvalidRequest(f"{where} holds a number that JSON cannot represent.") from None
    _check_text(text, where)


def _check_source(part: ImagePart | DocumentPart, where: str) -> None:
    source = part.source
    if source.mime_type is not None and not is_media_type(source.mime_type):
        raise InvalidRequest(f"{where}.source.mimeType is not a media type.")
    if source.mime_type is not None:
        check_media_type(source.mime_type, where)
    if isinstance(part, ImagePart) and MediaType.parse(source.mime_type).kind not in ("image", ""):
        raise InvalidRequest(f"{where}.source.mimeType must be an image type.")
    if isinstance(source, DataSource):
        try:
            decoded = base64.b64decode(source.value, validate=True)
        except (binascii.Error, ValueError):
            raise InvalidRequest(f"{where}.source.value is not base64.") from None
        if not decoded:
            raise InvalidRequest(f"{where}.source.value is empty.")
    elif isinstance(source, UrlSource):
        if has_credentials(source.value):
            raise InvalidRequest(f"{where}.source.value {CREDENTIALS}.")
        if not is_web_url(source.value):
            raise InvalidRequest(f"{where}.source.value must be an http or https URL.")
    elif isinstance(source, FileSource) and (source.provider != FILE_PROVIDER or not FILE_ID.fullmatch(source.value)):
        raise UnsupportedPart(f"{where}: only files uploaded to this conversation can be referred to.")
