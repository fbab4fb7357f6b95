"""Presigned addresses, judged by the signature that S3 would compute from what a client sends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.aws.s3_files import MAX_FILE_BYTES, S3Files, create_s3_client, make_content_disposition
from baton.adapters.aws.session import replace_session
from baton.domain.errors import InvalidRequest, MessageTooLarge, UnsupportedPart
from baton.domain.tenants.identity import Scope
from baton.domain.threads.content import FILE_ID

ADA = Scope("acme", "ada")
THREAD = "0d1f6a5e-93a5-4b52-8a0e-2f6f1f8a7b11"
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
FILE = "0123456789abcdef0123456789abcdef"


class Noon:
    def now(self) -> datetime:
        return NOW

    def new_id(self) -> str:
        return "01234567-89ab-cdef-0123-456789abcdef"


@pytest.fixture(scope="module")
def files() -> Iterator[S3Files]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        patched.setenv("AWS_SECRET_ACCESS_KEY", "not-a-real-key")
        patched.delenv("AWS_SESSION_TOKEN", raising=False)
        patched.delenv("AWS_ENDPOINT_URL", raising=False)
        patched.delenv("AWS_ENDPOINT_URL_S3", raising=False)
        patched.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        # The process's session keeps the credentials of the test that first made a client.
        former = replace_session(None)
        yield S3Files(create_s3_client(), "baton-files", Noon())
        replace_session(former)


def would_s3_accept(method: str, url: str, headers: dict[str, str]) -> bool:
    """Return whether the signature in ``url`` is that of a request with these headers and the host of ``url``."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    unsigned, signature = url.split("&X-Amz-Signature=")
    sent = {name.lower(): value for name, value in headers.items()}
    signed = {name: sent.get(name, "") for name in query["X-Amz-SignedHeaders"].split(";") if name != "host"}
    request = AWSRequest(method, unsigned, headers=signed)
    request.context["timestamp"] = query["X-Amz-Date"]
    credentials = Credentials("AKIDEXAMPLE", "not-a-real-key")
    signer = S3SigV4QueryAuth(credentials, "s3", "eu-central-1", int(query["X-Amz-Expires"]))
    canonical = signer.canonical_request(request)
    return bool(signer.signature(signer.string_to_sign(request, canonical), request) == signature)


async def test_the_client_puts_exactly_what_was_announced(files: S3Files) -> None:
    upload = await files.presign_upload(ADA, THREAD, "Überblick 1.pdf", "application/pdf", 1234)

    assert upload.method == "PUT"
    assert upload.headers == {
        "Content-Type": "application/pdf",
        "Content-Length": "1234",
        "x-amz-meta-name": "%C3%9Cberblick%201.pdf",
    }
    assert would_s3_accept("PUT", upload.url, upload.headers)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Content-Length", "1235"),
        ("Content-Length", "0"),
        ("Content-Type", "text/html"),
        ("Content-Type", ""),
        ("x-amz-meta-name", "evil.html"),
        ("x-amz-meta-name", ""),
    ],
)
async def test_anything_else_has_another_signature(files: S3Files, header: str, value: str) -> None:
    upload = await files.presign_upload(ADA, THREAD, "a.pdf", "application/pdf", 1234)
    assert not would_s3_accept("PUT", upload.url, {**upload.headers, header: value})


async def test_an_upload_address_does_nothing_but_upload(files: S3Files) -> None:
    upload = await files.presign_upload(ADA, THREAD, "a.pdf", "application/pdf", 1234)
    for method in ("GET", "DELETE", "POST", "HEAD"):
        assert not would_s3_accept(method, upload.url, upload.headers)
    other = upload.url.replace("/acme/", "/globex/")
    assert other != upload.url
    assert not would_s3_accept("PUT", other, upload.headers)


async def test_the_address_is_the_regions_own_and_lasts_15_minutes(files: S3Files) -> None:
    upload = await files.presign_upload(ADA, THREAD, "a.pdf", "application/pdf", 1)
    parts = urlsplit(upload.url)
    assert (parts.scheme, parts.netloc) == ("https", "baton-files.s3.eu-central-1.amazonaws.com")
    assert parse_qs(parts.query)["X-Amz-Expires"] == ["900"]
    assert (upload.expires_at - NOW).total_seconds() == 900


async def test_a_stand_in_for_s3_is_addressed_by_path(files: S3Files) -> None:
    local = S3Files(create_s3_client("http://localhost:5000"), "baton-files", Noon())
    upload = await local.presign_upload(ADA, THREAD, "a.pdf", "application/pdf", 1)
    assert upload.url.startswith(f"http://localhost:5000/baton-files/acme/{THREAD}/files/file_{FILE}?")


@given(name=st.text(min_size=1, max_size=60).filter(str.isprintable))
async def test_no_name_gets_into_the_key_or_out_of_its_header(name: str) -> None:
    files = S3Files(Signing(), "baton-files", Noon())  # type: ignore[arg-type]
    upload = await files.presign_upload(ADA, THREAD, name, "image/png", 1)

    assert FILE_ID.fullmatch(upload.file_id)
    assert Signing.params["Key"] == f"acme/{THREAD}/files/file_{FILE}"
    stored = upload.headers["x-amz-meta-name"]
    assert Signing.params["Metadata"] == {"name": stored}
    assert stored.isascii()
    assert stored.isprintable()
    assert len(stored) <= 1024
    assert unquote(stored) == name


class Signing:
    """The notes of what would be signed."""

    params: dict[str, Any]

    def generate_presigned_url(self, operation: str, Params: dict[str, Any], ExpiresIn: int) -> str:  # noqa: N803
        type(self).params = Params
        return "https://s3.invalid"


@pytest.mark.parametrize("name", ["", "a\nb", "a\0b", "x" * 256, "é" * 128, "\ud800", "\u202e.exe"])
async def test_a_name_must_be_printable_and_of_255_bytes_at_most(files: S3Files, name: str) -> None:
    with pytest.raises(InvalidRequest):
        await files.presign_upload(ADA, THREAD, name, "image/png", 1)


@pytest.mark.parametrize("content_type", ["audio/mpeg", "video/mp4", "Audio/WAV"])
async def test_what_no_message_may_refer_to_is_not_uploaded(files: S3Files, content_type: str) -> None:
    with pytest.raises(UnsupportedPart):
        await files.presign_upload(ADA, THREAD, "a", content_type, 1)


@pytest.mark.parametrize(
    "content_type", ["png", "image/", "/png", "; charset=utf-8", "a/b\r\nX: y", "a/b/c", "text/csv; " + "x" * 300]
)
async def test_a_content_type_must_be_a_media_type(files: S3Files, content_type: str) -> None:
    with pytest.raises(InvalidRequest):
        await files.presign_upload(ADA, THREAD, "a", content_type, 1)


@pytest.mark.parametrize(
    ("content_type", "stored"),
    [
        ("", "application/octet-stream"),
        ("Text/CSV;charset=UTF-8", "text/csv; charset=utf-8"),
        ('text/csv; header=present; charset="windows-1251"', "text/csv; charset=windows-1251"),
        ("text/csv;\r\nX: y", "text/csv"),
    ],
)
async def test_a_content_type_is_stored_with_its_charset(files: S3Files, content_type: str, stored: str) -> None:
    upload = await files.presign_upload(ADA, THREAD, "a", content_type, 1)
    assert upload.headers["Content-Type"] == stored


async def test_a_file_has_1_byte_to_20_mib(files: S3Files) -> None:
    assert await files.presign_upload(ADA, THREAD, "a", "image/png", 20 * 1024 * 1024)
    with pytest.raises(MessageTooLarge, match="20 MiB"):
        await files.presign_upload(ADA, THREAD, "a", "image/png", MAX_FILE_BYTES + 1)
    for size in (0, -1):
        with pytest.raises(InvalidRequest):
            await files.presign_upload(ADA, THREAD, "a", "image/png", size)


class TestContentDisposition:
    def test_an_ascii_name_is_given_as_it_is(self) -> None:
        header = make_content_disposition("report 1.pdf", inline=False)
        assert header == "attachment; filename=\"report 1.pdf\"; filename*=UTF-8''report%201.pdf"

    def test_a_name_beyond_ascii_has_an_ascii_substitute(self) -> None:
        header = make_content_disposition('Ü"b\\e%r.png', inline=True)
        assert header == "inline; filename=\"__b_e_r.png\"; filename*=UTF-8''%C3%9C%22b%5Ce%25r.png"

    @given(st.text(min_size=1).filter(str.isprintable))
    def test_no_name_breaks_out_of_the_header(self, name: str) -> None:
        header = make_content_disposition(name, inline=False)
        assert header.isascii()
        assert header.isprintable()
        kind, plain, exact = header.split('"')[0], header.split('"')[1], header.split('"')[2]
        assert kind == "attachment; filename="
        assert len(plain) == len(name)
        assert unquote(exact.removeprefix("; filename*=UTF-8''")) == name
