"""Files as they were at a time. A bucket with versions keeps replaced and deleted objects for 30 days."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from baton.adapters.aws.blocking_calls import call
from baton.concurrency.tasks import gather_each

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

AT_ONCE = 8
"""The most concurrent requests that bring objects back."""


@dataclass(frozen=True, slots=True)
class ObjectVersions:
    """The versions of a bucket's objects, and the bucket to restore them to, which may be the same."""

    client: S3Client
    bucket: str
    """The bucket with the versions."""
    live_bucket: str
    at: datetime

    async def restore(self, prefix: str, *, writes: bool) -> int:
        """Restore the missing objects below a prefix that existed at the time ``at``.

        Return their number. Objects that were written since are kept. Raises ``StoreUnavailable``.
        """
        lost = await self._find_lost(prefix)
        if writes:
            await gather_each(lost, self._bring_back, at_once=AT_ONCE)
        return len(lost)

    async def _find_lost(self, prefix: str) -> list[_LostObject]:
        """Return the objects of the time ``at`` that are deleted now, or that another live bucket lacks."""
        lost = [obj async for obj in self._find_objects(prefix)]
        if self.bucket != self.live_bucket and lost:
            present = {key async for key in self.list_present(prefix)}
            return [obj for obj in lost if obj.key not in present]
        return [obj for obj in lost if obj.marker_id is not None]

    async def _find_objects(self, prefix: str) -> AsyncIterator[_LostObject]:
        """Yield the objects of the time ``at``, each with the delete marker that hides it now, if there is one."""
        key, versions = None, list[dict[str, Any]]()
        async for version in self._list_versions(prefix):
            if version["Key"] != key:
                if (obj := self._choose(versions)) is not None:
                    yield obj
                key, versions = version["Key"], []
            versions.append(version)
        if (obj := self._choose(versions)) is not None:
            yield obj

    def _choose(self, versions: list[dict[str, Any]]) -> _LostObject | None:
        """Return the object of a key at the time ``at`` from all its versions; None if it did not exist."""
        before = [version for version in versions if version["LastModified"] <= self.at]
        newest = max(before, key=lambda version: (version["LastModified"], version["IsLatest"]), default=None)
        if newest is None or not _has_content(newest):
            return None
        later = [
            version
            for version in versions
            if version is not newest and version["LastModified"] >= newest["LastModified"]
        ]
        latest = next((version for version in versions if version["IsLatest"]), newest)
        marker_id = None if _has_content(latest) else latest["VersionId"]
        return _LostObject(newest["Key"], newest["VersionId"], marker_id, removes_marker=later == [latest])

    async def _bring_back(self, lost: _LostObject) -> None:
        """Restore an object by removing its delete marker if that suffices, otherwise by a copy."""
        if lost.removes_marker and self.bucket == self.live_bucket:
            # This restores the object without an event for a new object.
            assert lost.marker_id is not None  # noqa: S101 - it is the marker that is removed
            await call(self.client.delete_object, Bucket=self.bucket, Key=lost.key, VersionId=lost.marker_id)
            return
        source: Any = {"Bucket": self.bucket, "Key": lost.key, "VersionId": lost.version_id}
        await call(self.client.copy_object, Bucket=self.live_bucket, Key=lost.key, CopySource=source)

    async def _list_versions(self, prefix: str) -> AsyncIterator[dict[str, Any]]:
        """Yield versions and delete markers, grouped by key."""
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix}
        while True:
            answer: Any = await call(self.client.list_object_versions, **request)
            page = [*answer.get("Versions", []), *answer.get("DeleteMarkers", [])]
            for version in sorted(page, key=lambda version: str(version["Key"]).encode()):
                yield version
            if not answer["IsTruncated"]:
                return
            request |= {"KeyMarker": answer["NextKeyMarker"], "VersionIdMarker": answer["NextVersionIdMarker"]}

    async def list_present(self, prefix: str) -> AsyncIterator[str]:
        """Yield the keys below a prefix of the live bucket. Raises ``StoreUnavailable``."""
        request: dict[str, Any] = {"Bucket": self.live_bucket, "Prefix": prefix}
        while True:
            answer: Any = await call(self.client.list_objects_v2, **request)
            for content in answer.get("Contents", []):
                yield content["Key"]
            if not answer["IsTruncated"]:
                return
            request["ContinuationToken"] = answer["NextContinuationToken"]


@dataclass(frozen=True, slots=True)
class _LostObject:
    """An object of the time ``at``, with the state of its key now."""

    key: str
    version_id: str
    marker_id: str | None
    """The delete marker that is the key's newest version; None if the object exists."""
    removes_marker: bool
    """Whether the removal of that marker restores the object."""


def _has_content(version: dict[str, Any]) -> bool:
    """Return whether a version is an object, and not a delete marker."""
    return "Size" in version
