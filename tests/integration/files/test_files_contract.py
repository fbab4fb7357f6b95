"""The stores of files: in memory, and in S3 as moto serves it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import httpx
import pytest
from moto.server import ThreadedMotoServer

from baton.adapters.aws.s3_files import S3Files, create_s3_client
from baton.domain.errors import InvalidRequest, MessageTooLarge, NotFound, UnsupportedPart
from baton.domain.tenants.identity import Scope
from baton.ports.documents.files import Files, Upload
from baton_testing.fakes.documents.files import FakeFiles

ADA = Scope("acme", "ada")
BUCKET = "contract-files"
"""Of no other test: all of moto's servers in a process share their buckets."""
THREAD = "0d1f6a5e-93a5-4b52-8a0e-2f6f1f8a7b11"
OTHER_THREAD = "0d1f6a5e-93a5-4b52-8a0e-2f6f1f8a7b12"
UNKNOWN = "file_" + "0" * 32


@dataclass
class Store:
    """A store, how a client puts to it, and how a body of any size gets in without asking."""

    files: Files
    put: Callable[[Upload, bytes], Awaitable[None]]
    plant: Callable[[str, bytes], None]


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["memory", "s3"])
def store(request: pytest.FixtureRequest) -> Store:
    return memory() if request.param == "memory" else s3(request.getfixturevalue("s3_client_of_moto"))


@pytest.fixture
def s3_client_of_moto(moto: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    client = create_s3_client(moto)
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    yield client
    boto3.resource("s3", endpoint_url=moto).Bucket(BUCKET).objects.delete()
    client.delete_bucket(Bucket=BUCKET)
    client.close()


def memory() -> Store:
    files = FakeFiles()

    async def put(upload: Upload, body: bytes) -> None:
        files.put(upload, body)

    def plant(file_id: str, body: bytes) -> None:
        files.bodies["acme", THREAD, file_id] = body

    return Store(files, put, plant)


def s3(client: Any) -> Store:
    async def put(upload: Upload, body: bytes) -> None:
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.request(upload.method, upload.url, headers=upload.headers, content=body)
        assert answer.status_code == 200

    def plant(file_id: str, body: bytes) -> None:
        client.put_object(Bucket=BUCKET, Key=f"acme/{THREAD}/files/{file_id}", Body=body)

    return Store(S3Files(client, BUCKET), put, plant)


async def test_what_was_put_is_read(store: Store) -> None:
    body = bytes(range(256)) * 40
    upload = await store.files.presign_upload(ADA, THREAD, "Überblick.pdf", "application/pdf", len(body))
    await store.put(upload, body)

    assert await store.files.of_thread(ADA, THREAD).read(upload.file_id) == body


async def test_every_upload_is_a_file_of_its_own(store: Store) -> None:
    ids = {(await store.files.presign_upload(ADA, THREAD, "a", "image/png", 1)).file_id for _ in range(3)}
    assert len(ids) == 3


async def test_nothing_is_there_before_it_was_put(store: Store) -> None:
    upload = await store.files.presign_upload(ADA, THREAD, "a", "image/png", 1)
    for file_id in (upload.file_id, UNKNOWN):
        with pytest.raises(NotFound):
            await store.files.of_thread(ADA, THREAD).read(file_id)
        with pytest.raises(NotFound):
            await store.files.presign_download(ADA, THREAD, file_id)


@pytest.mark.parametrize(
    "file_id", ["", "x", f"../{THREAD}/files/{UNKNOWN}", UNKNOWN + "\n", UNKNOWN.upper(), "\ud800"]
)
async def test_what_is_no_file_id_is_not_found(store: Store, file_id: str) -> None:
    with pytest.raises(NotFound):
        await store.files.of_thread(ADA, THREAD).read(file_id)
    with pytest.raises(NotFound):
        await store.files.presign_download(ADA, THREAD, file_id)


async def test_a_file_is_in_its_tenants_thread_only(store: Store) -> None:
    upload = await store.files.presign_upload(ADA, THREAD, "a", "image/png", 1)
    await store.put(upload, b"x")
    for scope, thread_id in ((Scope("globex", "ada"), THREAD), (ADA, OTHER_THREAD)):
        with pytest.raises(NotFound):
            await store.files.of_thread(scope, thread_id).read(upload.file_id)
        with pytest.raises(NotFound):
            await store.files.presign_download(scope, thread_id, upload.file_id)


async def test_a_file_that_an_agent_gives_is_kept_under_the_same_rules(store: Store) -> None:
    file_id = await store.files.keep(ADA, THREAD, "Übersicht.pdf", "application/pdf", b"body")
    assert await store.files.of_thread(ADA, THREAD).read(file_id) == b"body"
    assert file_id in await store.files.presign_download(ADA, THREAD, file_id)
    for name, content_type in (("a\n", "application/pdf"), ("a", "audio/mpeg"), ("a", "nothing")):
        with pytest.raises((InvalidRequest, UnsupportedPart)):
            await store.files.keep(ADA, THREAD, name, content_type, b"body")


async def test_a_file_over_20_mib_is_not_read(store: Store) -> None:
    store.plant(UNKNOWN, bytes(20 * 1024 * 1024 + 1))
    with pytest.raises(MessageTooLarge):
        await store.files.of_thread(ADA, THREAD).read(UNKNOWN)


@pytest.mark.parametrize(
    ("content_type", "kind"), [("image/png", "inline"), ("image/svg+xml", "attachment"), ("text/html", "attachment")]
)
async def test_a_download_has_its_name_and_only_images_are_shown(
    s3_client_of_moto: Any, content_type: str, kind: str
) -> None:
    store = s3(s3_client_of_moto)
    upload = await store.files.presign_upload(ADA, THREAD, 'Ü"1".x', content_type, 3)
    await store.put(upload, b"abc")

    url = await store.files.presign_download(ADA, THREAD, upload.file_id)

    assert parse_qs(urlsplit(url).query)["X-Amz-Expires"] == ["900"]
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.get(url)
    assert (answer.content, answer.headers["Content-Type"]) == (b"abc", content_type)
    disposition = f"{kind}; filename=\"__1_.x\"; filename*=UTF-8''%C3%9C%221%22.x"
    assert answer.headers["Content-Disposition"] == disposition


async def test_a_file_without_a_name_is_downloaded_under_its_id(s3_client_of_moto: Any) -> None:
    store = s3(s3_client_of_moto)
    store.plant(UNKNOWN, b"x")
    url = await store.files.presign_download(ADA, THREAD, UNKNOWN)
    assert UNKNOWN in parse_qs(urlsplit(url).query)["response-content-disposition"][0]
