"""Files that are sent with messages."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import Any

from baton_client.asynchronous.resource import AsyncResource, path
from baton_client.errors import ConfigurationError
from baton_client.models import UploadAnswer


class AsyncFiles(AsyncResource):
    """``client.threads.files``."""

    async def upload(
        self, thread_id: str, content: bytes | Path, *, name: str | None = None, content_type: str | None = None
    ) -> dict[str, Any]:
        """Upload a file, and return the part to send in a message.

        ``name`` and ``content_type`` follow from a path. Raises ``ConfigurationError`` where they are missing.
        """
        data = content.read_bytes() if isinstance(content, Path) else content
        known = name or (content.name if isinstance(content, Path) else None)
        if not known:
            raise ConfigurationError("Give the file a name: bytes have none.")
        kind = content_type or mimetypes.guess_type(known)[0]
        if not kind:
            raise ConfigurationError(f"Give the content type of {known}: its name does not tell it.")
        body = {"name": known, "contentType": kind, "size": len(data)}
        address = path("/v1/threads/{thread_id}/files", thread_id=thread_id)
        answer = await self._post(address, UploadAnswer, body, is_repeatable=False)
        await self._transport.upload(answer.upload, data)
        return answer.part
