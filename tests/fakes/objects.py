"""A bucket in memory, with the operations and conditions of S3 that the embedded index uses."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from threading import Lock
from typing import Any

from botocore.exceptions import ClientError
from botocore.response import StreamingBody


class FakeS3:
    """A client of S3. Thread-safe. A subclass or test may break its operations."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.calls: list[str] = []
        self.around: Callable[[str], None] = lambda moment: None
        """Called before and after each write, as a killed process ends there."""
        self._lock = Lock()

    def tag(self, key: str) -> str:
        """Return the entity tag of an object that exists."""
        body, metadata = self.objects[key]
        return f'"{hashlib.sha256(body + repr(sorted(metadata.items())).encode()).hexdigest()}"'

    def get_object(self, *, Bucket: str, Key: str, IfNoneMatch: str = "") -> Any:  # noqa: N803 - as boto3 has them
        with self._lock:
            self.calls.append("get_object")
            if Key not in self.objects:
                raise refusal("NoSuchKey", 404)
            if IfNoneMatch == self.tag(Key):
                raise refusal("304", 304)
            body, metadata = self.objects[Key]
            return {
                "Body": StreamingBody(io.BytesIO(body), len(body)),
                "ContentLength": len(body),
                "ETag": self.tag(Key),
                "Metadata": metadata,
            }

    def head_object(self, *, Bucket: str, Key: str) -> Any:  # noqa: N803
        with self._lock:
            self.calls.append("head_object")
            if Key not in self.objects:
                raise refusal("404", 404)
            return {"ETag": self.tag(Key), "Metadata": self.objects[Key][1]}

    def put_object(self, *, Bucket: str, Key: str, Body: Any, Metadata: dict[str, str], **value: str) -> Any:  # noqa: N803
        self.around(f"before put {Key}")
        body = Body if isinstance(Body, bytes) else Body.read()
        with self._lock:
            self.calls.append("put_object")
            if value.get("IfNoneMatch") == "*" and Key in self.objects:
                raise refusal("PreconditionFailed", 412)
            if "IfMatch" in value:
                self._check(Key, value["IfMatch"])
            self.objects[Key] = body, Metadata
            answer = {"ETag": self.tag(Key)}
        self.around(f"after put {Key}")
        return answer

    def delete_object(self, *, Bucket: str, Key: str, IfMatch: str | None = None) -> Any:  # noqa: N803
        self.around(f"before delete {Key}")
        with self._lock:
            self.calls.append("delete_object")
            if IfMatch is not None:
                self._check(Key, IfMatch)
            self.objects.pop(Key, None)
        self.around(f"after delete {Key}")
        return {}

    def list_objects_v2(self, *, Bucket: str, Prefix: str, StartAfter: str = "") -> Any:  # noqa: N803
        with self._lock:
            keys = sorted(key for key in self.objects if key.startswith(Prefix) and key > StartAfter)
            return {"Contents": [{"Key": key, "Size": len(self.objects[key][0])} for key in keys]}

    def _check(self, key: str, tag: str) -> None:
        if key not in self.objects:
            raise refusal("NoSuchKey", 404)
        if tag != self.tag(key):
            raise refusal("PreconditionFailed", 412)


def refusal(code: str, status: int) -> ClientError:
    """Return the error of a refused request."""
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "Operation")  # type: ignore[typeddict-item]
