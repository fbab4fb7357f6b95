"""A bucket's objects in a folder, because moto forgets them when it ends.

One file an object, named by the SHA-256 of bucket and key: a line of JSON (bucket, key, content type, metadata), then
the body. Only the local cloud with BATON_DATA_DIR uses it.
"""

import json
import tempfile
import threading
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from baton_local.engines.clients import client


class KeptObjects:
    """Copies of moto's S3 objects under ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._is_restoring = False
        folder.mkdir(parents=True, exist_ok=True)

    def restore(self, endpoint: str) -> None:
        """Put every kept object into the S3 at ``endpoint``, and create the objects' buckets."""
        self._is_restoring = True
        try:
            with closing(client("s3", endpoint)) as s3:
                for file in sorted(self._folder.glob("*.object")):
                    header, _, body = file.read_bytes().partition(b"\n")
                    description = json.loads(header)
                    s3.create_bucket(Bucket=description["bucket"])
                    s3.put_object(
                        Bucket=description["bucket"],
                        Key=description["key"],
                        Body=body,
                        ContentType=description["contentType"],
                        Metadata=description["metadata"],
                    )
        finally:
            self._is_restoring = False

    def follow(self, path: str, *, whole_bucket: bool) -> None:
        """Update the folder from moto's object at ``/bucket/key``.

        ``whole_bucket`` updates the kept objects of the bucket instead, some of which may have been deleted.
        """
        bucket, _, key = path.lstrip("/").partition("/")
        if self._is_restoring or not bucket:
            return
        with self._lock:
            if key and not whole_bucket:
                self._follow_object(bucket, key)
            elif whole_bucket:
                for file in self._folder.glob("*.object"):
                    with file.open("rb") as lines:
                        description = json.loads(lines.readline())
                    if description["bucket"] == bucket:
                        self._follow_object(bucket, description["key"])

    def _follow_object(self, bucket: str, key: str) -> None:
        """Write the object's file, or remove it if moto has no such object."""
        file = self._folder / f"{sha256(f'{bucket}/{key}'.encode()).hexdigest()}.object"
        moto_object = _find_in_moto(bucket, key)
        if moto_object is None:
            file.unlink(missing_ok=True)
            return
        header = {
            "bucket": bucket,
            "key": key,
            "contentType": moto_object.metadata.get("content-type") or "binary/octet-stream",
            "metadata": {
                name.removeprefix("x-amz-meta-"): value
                for name, value in moto_object.metadata.items()
                if name.lower().startswith("x-amz-meta-")
            },
        }
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as draft:
            draft.write(json.dumps(header).encode() + b"\n" + moto_object.value)
        Path(draft.name).replace(file)


def _find_in_moto(bucket: str, key: str) -> Any | None:
    """Return moto's own object; None if there is none.

    A request to moto would deadlock, because this function is called within a request.
    """
    from moto.s3.models import s3_backends

    for backends in s3_backends.values():
        stored = backends["global" if "global" in backends else "aws"].buckets.get(bucket)
        if stored and key in stored.keys:
            return stored.keys[key]
    return None
