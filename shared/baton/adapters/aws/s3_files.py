"""Uploaded files in S3, under ``<tenant>/<thread>/files/<file id>``.

Clients upload and download through presigned addresses. A name that a user chose is never part of a key; it is stored
as metadata of the object.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from botocore.config import Config
from botocore.exceptions import ClientError

from baton.adapters.aws import blocking_calls as aws
from baton.domain.errors import InvalidRequest, MessageTooLarge, NotFound
from baton.domain.tenants.identity import Scope, is_printable
from baton.domain.threads.content import FILE_ID, check_media_type
from baton.ports.clock import Clock, SystemClock, read_machine_time
from baton.ports.documents.files import ThreadFiles, Upload
from baton_documents.media_types import MediaType, is_media_type

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MAX_FILE_BYTES = 20 * 1024 * 1024
MAX_NAME_BYTES = 255
"""The limit of most file systems. Percent-encoded, such a name still fits S3's 2 KB of metadata."""
VALID_FOR = timedelta(minutes=15)
"""The lifetime of presigned addresses."""
NO_FILE = "There is no such file in this conversation."
TOO_LARGE = f"A file may have at most {MAX_FILE_BYTES // (1024 * 1024)} MiB."
SHOWN_INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
"""Images that browsers may display. An SVG can contain scripts and is downloaded like every other file."""

_SIGNED_CONFIG = Config(signature_version="s3v4", request_checksum_calculation="when_required")
_HOST_ADDRESSING = Config(s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"})
_PATH_ADDRESSING = Config(s3={"addressing_style": "path"})


def create_s3_client(endpoint_url: str | None = None) -> S3Client:
    """Return an S3 client whose presigned addresses name the region's own host.

    By default boto3 presigns for the global host, which redirects for buckets of other regions; browsers do not follow
    redirects of a preflight. Local versions of S3 have no host name for each bucket and are addressed by path.
    """
    client: S3Client = aws.create_client("s3", endpoint_url, _SIGNED_CONFIG.merge(_HOST_ADDRESSING))
    if ".amazonaws.com" not in client.meta.endpoint_url:
        client = aws.create_client("s3", endpoint_url, _SIGNED_CONFIG.merge(_PATH_ADDRESSING))
    return client


class S3Files:
    """``ports.documents.files.Files`` in one bucket. The caller must have checked the thread's ownership."""

    def __init__(self, client: S3Client, bucket: str, clock: Clock | None = None) -> None:
        self._client = client
        self._bucket = bucket
        self._clock = clock or SystemClock()

    async def presign_upload(self, scope: Scope, thread_id: str, name: str, content_type: str, size: int) -> Upload:
        """Return an address that accepts, for 15 minutes, one file of exactly ``size`` bytes and ``content_type``.

        Raises the errors of ``check_upload``.
        """
        content_type = check_upload(name, content_type, size)
        file_id = f"file_{self._clock.new_id().replace('-', '')}"
        expires_at = read_machine_time(self._clock) + VALID_FOR
        encoded_name = quote(name, safe="")
        url = await self._presign(
            "put_object",
            Key=_make_key(scope, thread_id, file_id),
            ContentType=content_type,
            ContentLength=size,
            Metadata={"name": encoded_name},
        )
        headers = {"Content-Type": content_type, "Content-Length": str(size), "x-amz-meta-name": encoded_name}
        return Upload(file_id, url, "PUT", headers, expires_at)

    async def keep(self, scope: Scope, thread_id: str, name: str, content_type: str, body: bytes) -> str:
        """Store an agent's file and return its id, which is the same if the file is stored again. See the port.

        Raises the errors of ``check_upload``.
        """
        content_type = check_upload(name, content_type, len(body))
        file_id = derive_file_id(name, content_type, body)
        await aws.call(
            self._client.put_object,
            Bucket=self._bucket,
            Key=_make_key(scope, thread_id, file_id),
            Body=body,
            ContentType=content_type,
            Metadata={"name": quote(name, safe="")},
        )
        return file_id

    async def presign_download(self, scope: Scope, thread_id: str, file_id: str) -> str:
        """Return an address that returns the file under its own name, for 15 minutes. Raises ``NotFound``."""
        key = _make_checked_key(scope, thread_id, file_id)
        try:
            head = await aws.call(self._client.head_object, Bucket=self._bucket, Key=key)
        except ClientError as error:
            raise _map_error(error) from error
        name = unquote(head["Metadata"].get("name", file_id))
        disposition = make_content_disposition(
            name, inline=MediaType.parse(head["ContentType"]).essence in SHOWN_INLINE
        )
        return await self._presign("get_object", Key=key, ResponseContentDisposition=disposition)

    def of_thread(self, scope: Scope, thread_id: str) -> ThreadFiles:
        """Return the files of one thread."""
        return _S3ThreadFiles(self._client, self._bucket, scope, thread_id)

    async def _presign(self, operation: str, **params: Any) -> str:
        # In a thread, because signing may fetch credentials.
        return await aws.call(
            self._client.generate_presigned_url,
            operation,
            Params={"Bucket": self._bucket, **params},
            ExpiresIn=int(VALID_FOR.total_seconds()),
        )


@dataclass(frozen=True, slots=True)
class _S3ThreadFiles:
    client: S3Client
    bucket: str
    scope: Scope
    thread_id: str

    async def read(self, file_id: str) -> bytes:
        """Return the bytes of an upload. Raises ``NotFound``, and ``MessageTooLarge`` over 20 MiB."""
        try:
            return await aws.call(self._read, _make_checked_key(self.scope, self.thread_id, file_id))
        except ClientError as error:
            raise _map_error(error) from error

    def _read(self, key: str) -> bytes:
        answer = self.client.get_object(Bucket=self.bucket, Key=key)
        with answer["Body"] as body:
            if answer["ContentLength"] > MAX_FILE_BYTES:
                raise MessageTooLarge(TOO_LARGE)
            return body.read()


def derive_file_id(name: str, content_type: str, body: bytes) -> str:
    """Return the id of an agent's file in its thread, which a repeated attempt computes again."""
    digest = hashlib.sha256(f"{name}\0{content_type}\0".encode() + body)
    return f"file_{digest.hexdigest()[:32]}"


def check_upload(name: str, content_type: str, size: int) -> str:
    """Return the media type of an upload as it is stored.

    Raises ``InvalidRequest``, ``UnsupportedPart`` or ``MessageTooLarge`` for an upload that is not accepted.
    """
    if not is_printable(name, MAX_NAME_BYTES) or len(name.encode()) > MAX_NAME_BYTES:
        raise InvalidRequest(f"name must be 1 to {MAX_NAME_BYTES} bytes of printable characters.")
    if not is_media_type(content_type):
        raise InvalidRequest("contentType must be a media type, such as application/pdf, or empty if it is unknown.")
    check_media_type(content_type, "contentType")
    if size < 1:
        raise InvalidRequest("size must be at least 1 byte.")
    if size > MAX_FILE_BYTES:
        raise MessageTooLarge(TOO_LARGE)
    return str(MediaType.parse(content_type))


def make_content_disposition(name: str, *, inline: bool) -> str:
    """Return the header that names a download (RFC 6266), in plain ASCII and exactly by RFC 5987."""
    # RFC 6266, appendix D: no escapes and no "%" in the plain form, because clients disagree on them.
    plain = "".join(character if character.isascii() and character not in '"\\%' else "_" for character in name)
    kind = "inline" if inline else "attachment"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _make_key(scope: Scope, thread_id: str, file_id: str) -> str:
    return f"{scope.tenant_id}/{thread_id}/files/{file_id}"


def _make_checked_key(scope: Scope, thread_id: str, file_id: str) -> str:
    """Return the key of a file whose id a client has sent. Raises ``NotFound`` if no file has such an id."""
    if not FILE_ID.fullmatch(file_id):
        raise NotFound(NO_FILE)
    return _make_key(scope, thread_id, file_id)


def _map_error(error: ClientError) -> Exception:
    # The code of HeadObject is its status, because it has no body. A caller without s3:ListBucket gets 403 instead.
    return NotFound(NO_FILE) if aws.error_code(error) in ("404", "NoSuchKey") else error
