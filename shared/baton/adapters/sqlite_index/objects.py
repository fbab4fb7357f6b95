"""Objects of the index in S3. All methods block, and raise ``StoreUnavailable`` for outages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from baton.adapters.aws import blocking_calls as aws

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MEDIA_TYPE = "application/vnd.sqlite3"
WRITE = "write"
"""The metadata with the id of the write that made an object."""
_CHANGED = frozenset({"ConditionalRequestConflict", "NoSuchKey", "PreconditionFailed", "404", "409", "412"})


class ObjectChanged(Exception):
    """Somebody else has written or deleted the object since it was read."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An object as it was read."""

    tag: str
    """The entity tag: another one for every content."""
    write_id: str


@dataclass(frozen=True, slots=True)
class IndexObjects:
    """The objects of one bucket, which has no versions: what is written over or deleted is gone."""

    client: S3Client
    bucket: str

    def read(self, key: str, copied: StoredFile | None, into: Path) -> StoredFile | None:
        """Write an object into a file. Return ``copied`` if it is still that, and None if there is no object."""
        condition: Any = {"IfNoneMatch": copied.tag} if copied is not None else {}
        try:
            with aws.outages():
                answer = self.client.get_object(Bucket=self.bucket, Key=key, **condition)
                with answer["Body"] as body, into.open("wb") as file:
                    shutil.copyfileobj(body, file, 1024 * 1024)
        except ClientError as error:
            code = aws.error_code(error)
            if code in ("304", "NotModified"):
                return copied
            if code in ("404", "NoSuchKey"):
                return None
            raise
        return StoredFile(answer["ETag"], answer.get("Metadata", {}).get(WRITE, ""))

    def write(self, key: str, file: Path, replaced: StoredFile | None, write_id: str) -> StoredFile:
        """Store a file in place of the one that was read, or as a new object. Raises ``ObjectChanged``."""
        condition: Any = {"IfMatch": replaced.tag} if replaced is not None else {"IfNoneMatch": "*"}
        with file.open("rb") as body:
            answer = self._change(
                "put_object", Key=key, Body=body, Metadata={WRITE: write_id}, ContentType=MEDIA_TYPE, **condition
            )
        return StoredFile(answer["ETag"], write_id)

    def delete(self, key: str, deleted: StoredFile) -> None:
        """Delete the object that was read. Raises ``ObjectChanged``."""
        self._change("delete_object", Key=key, IfMatch=deleted.tag)

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin so, in their order."""
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix}
        while True:
            with aws.outages():
                page = self.client.list_objects_v2(**request)
            yield from (content["Key"] for content in page.get("Contents", []))
            if not page.get("IsTruncated"):
                return
            request["ContinuationToken"] = page["NextContinuationToken"]

    def _change(self, operation: str, **request: Any) -> Any:
        try:
            with aws.outages():
                return getattr(self.client, operation)(Bucket=self.bucket, **request)
        except ClientError as error:
            if aws.error_code(error) in _CHANGED:
                raise ObjectChanged from error
            raise
