"""Removal of objects from the bucket, with every version and delete marker."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from baton.adapters.aws.blocking_calls import call
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PAGE = 1000
"""The maximum number of versions that one request lists or deletes (a limit of S3)."""


@dataclass(frozen=True, slots=True)
class S3Erasure:
    """``ObjectErasure`` in one bucket. Keys are ``<tenant>/<thread>/...``."""

    client: S3Client
    bucket: str

    async def sweep(self, scope: Scope, thread_id: str, *, deadline: float) -> tuple[int, bool]:
        return await self._sweep(f"{scope.tenant_id}/{thread_id}/", None, deadline)

    async def count_left(self, scope: Scope, thread_id: str) -> int:
        async for page in self._list_versions(f"{scope.tenant_id}/{thread_id}/"):
            return len(page)
        return 0

    async def sweep_uploads(self, scope: Scope, *, before: datetime, deadline: float) -> tuple[int, bool]:
        return await self._sweep(f"{scope.tenant_id}/", before, deadline)

    async def count_of_tenant(self, scope: Scope, position: str | None) -> tuple[int, str | None]:
        start: dict[str, str] = json.loads(position) if position is not None else {}
        answer: Any = await call(
            self.client.list_object_versions,
            Bucket=self.bucket,
            Prefix=f"{scope.tenant_id}/",
            MaxKeys=PAGE,
            **start,  # type: ignore[arg-type]
        )
        count = len(answer.get("Versions", [])) + len(answer.get("DeleteMarkers", []))
        if not answer["IsTruncated"]:
            return count, None
        following = {"KeyMarker": answer["NextKeyMarker"], "VersionIdMarker": answer["NextVersionIdMarker"]}
        return count, json.dumps(following)

    async def sweep_tenant(self, scope: Scope) -> tuple[int, bool]:
        return await self._sweep(f"{scope.tenant_id}/", None, -math.inf)

    async def sweep_below(self, prefix: str) -> int:
        """Remove all objects below a prefix that ends with a slash. Return the number of removed versions."""
        removed, _ = await self._sweep(prefix, None, math.inf)
        return removed

    async def _sweep(self, prefix: str, before: datetime | None, deadline: float) -> tuple[int, bool]:
        """Remove the versions below ``prefix``; with ``before``, only uploads that are older.

        ``deadline`` is a time of the event loop. Return the number of removed versions, and whether all are removed.
        Raises ``StoreUnavailable``.
        """
        removed = 0
        async for page in self._list_versions(prefix):
            chosen = page if before is None else [upload for upload in page if _is_old_upload(upload, before)]
            if chosen:
                objects = [{"Key": version["Key"], "VersionId": version["VersionId"]} for version in chosen]
                answer = await call(
                    self.client.delete_objects,
                    Bucket=self.bucket,
                    Delete={"Objects": objects, "Quiet": True},  # type: ignore[typeddict-item]
                )
                if answer.get("Errors"):  # S3 reports the objects that it could not delete in a successful answer
                    raise StoreUnavailable
                removed += len(chosen)
            if asyncio.get_running_loop().time() >= deadline:
                return removed, False
        return removed, True

    async def _list_versions(self, prefix: str) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield pages of the versions and delete markers below ``prefix``. Empty pages are left out."""
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix, "MaxKeys": PAGE}
        while True:
            answer: Any = await call(self.client.list_object_versions, **request)
            page = [*answer.get("Versions", []), *answer.get("DeleteMarkers", [])]
            if page:
                yield page
            if not answer["IsTruncated"]:
                return
            request |= {"KeyMarker": answer["NextKeyMarker"], "VersionIdMarker": answer["NextVersionIdMarker"]}


def _is_old_upload(version: dict[str, Any], before: datetime) -> bool:
    parts = version["Key"].split("/")
    return len(parts) == 4 and parts[2] == "files" and version["LastModified"] < before
