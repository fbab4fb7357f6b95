"""A bucket in memory, with the few requests and conditions that the embedded index uses."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError


class FakeBucket:
    """An S3 client with one bucket."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.around: Callable[[str], None] = lambda moment: None
        """Called before and after each write, as a killed process ends there."""

    def get_object(self, **request: Any) -> dict[str, Any]:
        key = request["Key"]
        if key not in self.objects:
            raise _error("NoSuchKey", 404)
        body, metadata = self.objects[key]
        if request.get("IfNoneMatch") == _tag(body):
            raise _error("304", 304)
        return {"Body": _Body(body), "ContentLength": len(body), "ETag": _tag(body), "Metadata": metadata}

    def put_object(self, **request: Any) -> dict[str, Any]:
        key, body = request["Key"], request["Body"]
        self.around(f"before put {key}")
        content = body if isinstance(body, bytes) else body.read()
        self._check(request)
        self.objects[key] = content, request["Metadata"]
        self.around(f"after put {key}")
        return {"ETag": _tag(content)}

    def delete_object(self, **request: Any) -> dict[str, Any]:
        key = request["Key"]
        self.around(f"before delete {key}")
        self._check(request)
        del self.objects[key]
        self.around(f"after delete {key}")
        return {}

    def list_objects_v2(self, **request: Any) -> dict[str, Any]:
        keys = sorted(key for key in self.objects if key.startswith(request["Prefix"]))
        return {"Contents": [{"Key": key, "Size": len(self.objects[key][0])} for key in keys], "IsTruncated": False}

    def _check(self, request: dict[str, Any]) -> None:
        tag = _tag(self.objects[request["Key"]][0]) if request["Key"] in self.objects else None
        if "IfMatch" in request and request["IfMatch"] != tag:
            raise _error("PreconditionFailed" if tag is not None else "NoSuchKey", 412)
        if "IfNoneMatch" in request and tag is not None:
            raise _error("PreconditionFailed", 412)


class _Body(io.BytesIO):
    """The body of an answer, which is a context manager."""


def _tag(body: bytes) -> str:
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def _error(code: str, status: int) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "a request")  # type: ignore[typeddict-item]
