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
FILL = "fill"
"""The metadata with the used share of an owner's limits, in per cent."""
MOVED = "moved"
"""The metadata of a mark, which says that the owner's documents are in OpenSearch."""
MARK_BYTES = 1024
"""The maximum size of marks and notes. Every file is larger."""
_CHANGED = frozenset({"ConditionalRequestConflict", "NoSuchKey", "PreconditionFailed", "404", "409", "412"})


class ObjectChanged(Exception):
    """Another process has written or deleted the object since it was read."""


class NoFile(Exception):
    """The owner has no file, because its documents are in OpenSearch."""

    def __init__(self, *, is_moved: bool) -> None:
        """``is_moved`` is True if a mark shows the move."""
        super().__init__("OpenSearch serves the owner of this file.")
        self.is_moved = is_moved


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An object as it was read."""

    tag: str
    """The entity tag, which changes with the content."""
    write_id: str
    """The id of the write that made the object; empty without one."""


@dataclass(frozen=True, slots=True)
class Note:
    """A small object that is not an owner's file."""

    body: bytes
    tag: str


@dataclass(frozen=True, slots=True)
class IndexObjects:
    """The objects of one bucket without versions, so that replaced and deleted objects are erased."""

    client: S3Client
    bucket: str

    def read(self, key: str, copied: StoredFile | None, into: Path) -> StoredFile | None:
        """Write an object into a file, and return its tag and write; None without an object.

        If the object has not changed since ``copied``, return ``copied`` and write no file. Raises ``NoFile`` for a
        mark.
        """
        condition: Any = {"IfNoneMatch": copied.tag} if copied is not None else {}
        try:
            with aws.convert_outages():
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

    def write(self, key: str, file: Path, replaced: StoredFile | None, write_id: str, fill_percent: int) -> StoredFile:
        """Store a file in place of ``replaced``, or as a new object if that is None. Raises ``ObjectChanged``."""
        condition: Any = {"IfMatch": replaced.tag} if replaced is not None else {"IfNoneMatch": "*"}
        metadata = {WRITE: write_id, FILL: str(fill_percent)}
        with file.open("rb") as body:
            answer = self._change(
                "put_object", Key=key, Body=body, Metadata=metadata, ContentType=MEDIA_TYPE, **condition
            )
        return StoredFile(answer["ETag"], write_id)

    def read_fill_percent(self, key: str) -> int | None:
        """Return the fill of a file in per cent from its metadata; None if there is no file."""
        head = self._read_head(key)
        fill = head.get("Metadata", {}).get(FILL) if head is not None else None
        return int(fill) if fill is not None else None

    def delete(self, key: str, stored: StoredFile) -> None:
        """Delete the object that was read as ``stored``. Raises ``ObjectChanged``."""
        self._change("delete_object", Key=key, IfMatch=stored.tag)

    def mark(self, key: str, replaced_tag: str | None) -> None:
        """Put the mark in place of the object with this tag; None for no object. Raises ``ObjectChanged``."""
        self.write_note(key, b"moved to OpenSearch", replaced_tag, {MOVED: "1"})

    def remove_mark(self, key: str) -> bool:
        """Delete a mark. Return False, without a change, if there is none any more."""
        head = self._read_head(key)
        if head is None or MOVED not in head.get("Metadata", {}):
            return False
        try:
            self._change("delete_object", Key=key, IfMatch=head["ETag"])
        except ObjectChanged:
            return False
        return True

    def read_note(self, key: str) -> Note | None:
        """Return a small object that is not an owner's file; None if it does not exist."""
        try:
            with aws.convert_outages():
                answer = self.client.get_object(Bucket=self.bucket, Key=key)
                with answer["Body"] as body:
                    return Note(body.read(MARK_BYTES), answer["ETag"])
        except ClientError as error:
            if aws.error_code(error) in ("404", "NoSuchKey"):
                return None
            raise

    def write_note(
        self, key: str, body: bytes, replaced_tag: str | None, metadata: Mapping[str, str] | None = None
    ) -> str:
        """Store a small object if the present object has the tag ``replaced_tag``, and return the new tag.

        If ``replaced_tag`` is None, there must be no object. Raises ``ObjectChanged`` if the condition does not hold.
        """
        condition: Any = {"IfMatch": replaced_tag} if replaced_tag is not None else {"IfNoneMatch": "*"}
        answer = self._change("put_object", Key=key, Body=body, Metadata=dict(metadata or {}), **condition)
        return str(answer["ETag"])

    def list_keys(self, prefix: str, *, marks: bool = False) -> Iterator[str]:
        """Yield the keys of files, sorted, that begin with ``prefix``; with ``marks``, the keys of marks instead."""
        for content in self._list_objects(prefix):
            if content["Key"].endswith(SUFFIX) and (content["Size"] <= MARK_BYTES) == marks:
                yield content["Key"]

    def list_all_keys(self, prefix: str, after: str | None = None) -> Iterator[str]:
        """Yield the keys of all objects, sorted, that begin with ``prefix``; with ``after``, those after this key."""
        return (content["Key"] for content in self._list_objects(prefix, after))

    def remove(self, key: str) -> None:
        """Delete an object without a condition."""
        with aws.convert_outages():
            self.client.delete_object(Bucket=self.bucket, Key=key)

    def _read_head(self, key: str) -> Any:
        """Return S3's description of an object; None if it does not exist."""
        try:
            with aws.convert_outages():
                return self.client.head_object(Bucket=self.bucket, Key=key)
        except ClientError as error:
            if aws.error_code(error) in ("404", "NoSuchKey"):
                return None
            raise

    def _list_objects(self, prefix: str, after: str | None = None) -> Iterator[Any]:
        """Yield S3's entries of objects, sorted by their keys."""
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix}
        if after is not None:
            request["StartAfter"] = after
        while True:
            with aws.convert_outages():
                page = self.client.list_objects_v2(**request)
            yield from page.get("Contents", [])
            if not page.get("IsTruncated"):
                return
            request["ContinuationToken"] = page["NextContinuationToken"]

    def _change(self, operation: str, **request: Any) -> Any:
        """Send a conditional request. Raises ``ObjectChanged`` if its condition is false."""
        try:
            with aws.convert_outages():
                return getattr(self.client, operation)(Bucket=self.bucket, **request)
        except ClientError as error:
            if aws.error_code(error) in _CHANGED:
                raise ObjectChanged from error
            raise
