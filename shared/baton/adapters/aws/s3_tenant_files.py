"""The objects of a tenant in the bucket, for an export."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from baton.adapters.aws.blocking_calls import call, error_code
from baton.adapters.aws.s3_files import VALID_FOR
from baton.adapters.aws.s3_records import read_object
from baton.concurrency.tasks import off_loop
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.export import StoredObject

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PAGE = 200
"""The number of objects that one request lists."""


@dataclass(frozen=True, slots=True)
class S3TenantFiles:
    """``TenantFiles`` in one bucket, whose keys begin with the tenant."""

    client: S3Client
    bucket: str
    unpack: Callable[[bytes], Any]
    """Returns the value of a record's body. Raises ``ValueError`` or ``StoreUnavailable`` if it cannot."""
    page: int = PAGE

    async def list(self, scope: Scope, after: str | None) -> AsyncGenerator[StoredObject, None]:
        prefix = f"{scope.tenant_id}/"
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix, "MaxKeys": self.page}
        while True:
            if after is not None:
                request["StartAfter"] = f"{prefix}{after}"
            answer: Any = await call(self.client.list_objects_v2, **request)
            listed = answer.get("Contents", [])
            for entry in listed:
                stored = await self._read(entry, entry["Key"].removeprefix(prefix))
                if stored is not None:
                    yield stored
            if not answer["IsTruncated"] or not listed:
                return
            after = listed[-1]["Key"].removeprefix(prefix)

    async def _read(self, entry: Any, name: str) -> StoredObject | None:
        """Return an object; None for a body that was removed since it was listed.

        A body that cannot be unpacked is returned as a file, so that it does not end every export at the same place.
        """
        size, stored_at = entry["Size"], entry["LastModified"]
        if _is_body(name):
            try:
                packed = await call(read_object, self.client, self.bucket, entry["Key"])
            except ClientError as error:
                if error_code(error) == "NoSuchKey":
                    return None
                raise
            try:
                # Unpacking takes as long as work on about four times the size.
                return StoredObject(name, size, stored_at, body=await off_loop(len(packed) * 4, self.unpack, packed))
            except (ValueError, StoreUnavailable):
                pass  # its line is that of a file
        params = {"Bucket": self.bucket, "Key": entry["Key"]}
        seconds = int(VALID_FOR.total_seconds())
        url = await call(self.client.generate_presigned_url, "get_object", Params=params, ExpiresIn=seconds)
        return StoredObject(name, size, stored_at, url=url)


def _is_body(name: str) -> bool:
    """Return whether an object is the body of a record, as ``S3Bodies`` stores it."""
    parts = name.split("/")
    return len(parts) == 3 and parts[1] == "bodies"
