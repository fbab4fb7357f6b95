"""Objects of the index in S3. All methods block, and raise ``StoreUnavailable`` for outages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from baton.adapters.aws import blocking_calls as aws
from baton.adapters.sqlite_index.owners import SUFFIX

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MEDIA_TYPE = "application/vnd.sqlite3"
WRITE = "write"
"""The metadata with the id of the write that made an object."""
MOVED = "moved"
"""The metadata of a mark: the owner's documents are in OpenSearch."""
MARK_BYTES = 1024
"""A mark is smaller than this, and every file is larger."""
_CHANGED = frozenset({"ConditionalRequestConflict", "NoSuchKey", "PreconditionFailed", "404", "409", "412"})


class ObjectChanged(Exception):
    """Somebody else has written or deleted the object since it was read."""


class NoFile(Exception):
    """The owner has no file: its documents were moved, or are somewhere else."""

    def __init__(self, *, is_moved: bool) -> None:
        """``is_moved``: there is a mark."""
        super().__init__()
        self.is_moved = is_moved


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An object as it was read."""

    tag: str
    """The entity tag: another one for every content."""
    write_id: str


@dataclass(frozen=True, slots=True)
class Note:
    """A small object that is no file."""

    body: bytes
    tag: str


@dataclass(frozen=True, slots=True)
class IndexObjects:
    """The objects of one bucket, which has no versions: what is written over or deleted is gone."""

    client: S3Client
    bucket: str

    def read(self, key: str, copied: StoredFile | None, into: Path) -> StoredFile | None:
        """Write an object into a file. Return ``copied`` if it is still that, and None if there is no object.

        Raises ``NoFile`` for a mark.
        """
        condition: Any = {"IfNoneMatch": copied.tag} if copied is not None else {}
        try:
            with aws.outages():
                answer = self.client.get_object(Bucket=self.bucket, Key=key, **condition)
                with answer["Body"] as body, into.open("wb") as file:
                    if MOVED in answer.get("Metadata", {}):
                        raise NoFile(is_moved=True)
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

    def mark(self, key: str, replaced: str | None) -> None:
        """Put the mark in place of the object with this tag, or of none. Raises ``ObjectChanged``."""
        self.write_note(key, b"moved to OpenSearch", replaced, {MOVED: "1"})

    def remove_mark(self, key: str) -> None:
        """Delete a mark. Raises ``ObjectChanged`` if it is none any more."""
        note = self.read_note(key)
        if note is not None:
            self._change("delete_object", Key=key, IfMatch=note.tag)

    def read_note(self, key: str) -> Note | None:
        """Return a small object that is no file."""
        try:
            with aws.outages():
                answer = self.client.get_object(Bucket=self.bucket, Key=key)
                return Note(answer["Body"].read(MARK_BYTES), answer["ETag"])
        except ClientError as error:
            if aws.error_code(error) in ("404", "NoSuchKey"):
                return None
            raise

    def write_note(self, key: str, body: bytes, replaced: str | None, metadata: Mapping[str, str] | None = None) -> str:
        """Store a small object in place of the one with this tag, or of none, and return its tag.

        Raises ``ObjectChanged``.
        """
        condition: Any = {"IfMatch": replaced} if replaced is not None else {"IfNoneMatch": "*"}
        answer = self._change("put_object", Key=key, Body=body, Metadata=dict(metadata or {}), **condition)
        return str(answer["ETag"])

    def keys(self, prefix: str, *, marks: bool = False) -> Iterator[str]:
        """Yield the keys of files that begin so, in their order, or with ``marks`` those of marks."""
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix}
        while True:
            with aws.outages():
                page = self.client.list_objects_v2(**request)
            for content in page.get("Contents", []):
                if content["Key"].endswith(SUFFIX) and (content["Size"] <= MARK_BYTES) == marks:
                    yield content["Key"]
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
