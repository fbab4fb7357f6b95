"""Shapes of uploads of files."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from baton.api.http.schemas import Asked, describe
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel


class UploadRequest(Asked):
    """A file that is to be uploaded."""

    name: str = Field(examples=["invoice.pdf"])
    content_type: str = describe("Its media type, perhaps with a charset; empty if it is unknown.", "application/pdf")
    size: int = describe("Bytes.", 48213)


class UploadTarget(WireModel):
    """The request that uploads the file."""

    url: str = Field(examples=["https://bucket.s3.amazonaws.com/..."])
    method: str = Field(examples=["PUT"])
    headers: dict[str, str] = describe("Send exactly these.", {"Content-Type": "application/pdf"})
    expires_at: Timestamp = Field(examples=[TIMESTAMP])


class UploadAnswer(WireModel):
    """The upload of a file, and the part that refers to it in a message."""

    file_id: str = Field(examples=["file_0123456789abcdef0123456789abcdef"])
    upload: UploadTarget
    part: dict[str, Any] = Field(
        examples=[
            {
                "type": "document",
                "source": {
                    "type": "file",
                    "value": "file_0123456789abcdef0123456789abcdef",
                    "provider": "baton",
                    "mimeType": "application/pdf",
                },
                "metadata": {"name": "invoice.pdf", "size": 48213},
            }
        ]
    )
