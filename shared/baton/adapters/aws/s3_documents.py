"""Documents in S3, under ``<tenant>/~documents/<agent>/<document>/<version>/``, and objects that sources may read.

Ids of threads are UUIDs, so ``~documents`` is not one of them. No key contains text of users, such as a file's name.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from baton.adapters.aws import blocking_calls as aws
from baton.adapters.aws.s3_erasure import S3Erasure
from baton.adapters.aws.s3_files import VALID_FOR
from baton.domain.documents.document import Document
from baton.domain.errors import MessageTooLarge, StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock, read_machine_time
from baton.ports.documents.documents import MAX_STORED_BYTES, ORIGINAL
from baton.ports.documents.files import Upload
from baton.ports.documents.sources import PageContent, PageUnavailable, StoredObject

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


_UNAVAILABLE = "S3 does not answer at the moment."


class S3SourceObjects:
    """``SourceObjects`` that are read with the permissions of the function."""

    def __init__(self, client: S3Client) -> None:
        self._client = client

    async def list_objects(self, bucket: str, prefix: str, *, limit: int) -> Sequence[StoredObject]:
        try:
            return await aws.call(self._list, bucket, prefix, limit)
        except ClientError as error:
            raise PageUnavailable(f"s3://{bucket}/{prefix} cannot be listed: {aws.error_code(error)}.") from error
        except StoreUnavailable as error:
            raise PageUnavailable(_UNAVAILABLE) from error

    async def read(self, bucket: str, key: str, *, limit: int) -> PageContent:
        try:
            return await aws.call(self._read, bucket, key, limit)
        except ClientError as error:
            code = aws.error_code(error)
            raise PageUnavailable(f"S3 answers {code}.", is_gone=code in ("404", "NoSuchKey")) from error
        except StoreUnavailable as error:
            raise PageUnavailable(_UNAVAILABLE) from error

    def _list(self, bucket: str, prefix: str, limit: int) -> list[StoredObject]:
        stored_objects: list[StoredObject] = []
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=prefix, PaginationConfig={"MaxItems": limit}
        )
        for page in pages:
            stored_objects += [
                StoredObject(content["Key"], content["ETag"].strip('"'), content["Size"])
                for content in page.get("Contents", [])
            ]
        return stored_objects

    def _read(self, bucket: str, key: str, limit: int) -> PageContent:
        answer = self._client.get_object(Bucket=bucket, Key=key)
        with answer["Body"] as body:
            if answer["ContentLength"] > limit:
                raise PageUnavailable(f"The object has more than {limit} bytes.")
            return PageContent(body.read(), answer.get("ContentType", ""), answer["ETag"].strip('"'))


@dataclass(frozen=True, slots=True)
class S3Documents:
    """``DocumentFiles`` in one bucket."""

    client: S3Client
    """A client that presigns addresses for the region's host (``s3_files.create_s3_client``)."""
    bucket: str
    clock: Clock

    async def presign_upload(
        self, scope: Scope, document: Document, version: int, content_type: str, size: int, sha256: str | None
    ) -> Upload:
        headers = {"Content-Type": content_type, "Content-Length": str(size), "If-None-Match": "*"}
        params: dict[str, Any] = {
            "Bucket": self.bucket,
            "Key": _make_key(scope, document, version, ORIGINAL),
            "ContentType": content_type,
            "ContentLength": size,
            "IfNoneMatch": "*",  # a second upload is refused, so the bytes cannot change while they are read
        }
        if sha256 is not None:
            params["ChecksumSHA256"] = base64.b64encode(bytes.fromhex(sha256)).decode()
            headers["x-amz-checksum-sha256"] = params["ChecksumSHA256"]
        expires_at = read_machine_time(self.clock) + VALID_FOR
        url = await aws.call(
            self.client.generate_presigned_url, "put_object", Params=params, ExpiresIn=int(VALID_FOR.total_seconds())
        )
        return Upload(document.id, url, "PUT", headers, expires_at)

    async def write(self, scope: Scope, document: Document, version: int, name: str, body: bytes) -> None:
        key = _make_key(scope, document, version, name)
        await aws.call(self.client.put_object, Bucket=self.bucket, Key=key, Body=body)

    async def read(self, scope: Scope, document: Document, version: int, name: str) -> bytes | None:
        try:
            return await aws.call(self._read, _make_key(scope, document, version, name))
        except ClientError as error:
            if aws.error_code(error) in ("404", "NoSuchKey"):
                return None
            raise

    def _read(self, key: str) -> bytes:
        answer = self.client.get_object(Bucket=self.bucket, Key=key)
        with answer["Body"] as body:
            if answer["ContentLength"] > MAX_STORED_BYTES:
                raise MessageTooLarge("A stored file is too large to be read.")
            return body.read()

    async def remove(self, scope: Scope, document: Document, version: int, *, with_original: bool) -> int:
        prefix = _make_key(scope, document, version, "" if with_original else "steps/")
        return await S3Erasure(self.client, self.bucket).sweep_below(prefix)

    async def list_owners(self, scope: Scope) -> Sequence[str]:
        return await aws.call(self._list_owners, f"{scope.tenant_id}/~documents/")

    def _list_owners(self, prefix: str) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix, Delimiter="/")
        folders = [entry["Prefix"] for page in pages for entry in page.get("CommonPrefixes", [])]
        return [folder.removeprefix(prefix).rstrip("/") for folder in folders]


def _make_key(scope: Scope, document: Document, version: int, name: str) -> str:
    """Return the key of a version's object; for an empty name and for ``steps/`` the prefix of keys."""
    suffix = name if name in ("", "steps/", ORIGINAL) else f"steps/{name}"
    return f"{scope.tenant_id}/~documents/{document.agent_id}/{document.id}/{version}/{suffix}"
