"""The storage of tenants in the bucket, as S3 lists it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from baton.adapters.aws.blocking_calls import call
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.usage import StoredObjects

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PAGE = 1_000
"""The maximum number of objects that one request lists (a limit of S3)."""
REQUESTS = 5
"""The maximum number of requests of one call of ``count``."""


@dataclass(frozen=True, slots=True)
class S3TenantObjects:
    """``TenantObjects`` in one bucket, whose keys begin with the tenant."""

    client: S3Client
    bucket: str
    page: int = PAGE

    async def count(self, scope: Scope, after: str | None) -> tuple[StoredObjects, str | None]:
        prefix = f"{scope.tenant_id}/"
        # A client chooses ``after``. It can only skip objects, because the prefix limits the list to the tenant.
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix, "MaxKeys": self.page}
        objects = size = 0
        for _ in range(REQUESTS):
            if after is not None:
                request["StartAfter"] = f"{prefix}{after}"
            answer: Any = await call(self.client.list_objects_v2, **request)
            listed = answer.get("Contents", [])
            objects += len(listed)
            size += sum(entry["Size"] for entry in listed)
            if not answer["IsTruncated"] or not listed:
                return StoredObjects(objects, size), None
            after = listed[-1]["Key"].removeprefix(prefix)
        return StoredObjects(objects, size), after
