"""Files that are sent with messages."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from baton_client.addresses import path
from baton_client.asynchronous.resource import AsyncResource
from baton_client.calls import in_thread
from baton_client.models import UploadAnswer
from baton_client.run_parts import UploadedPart
from baton_client.uploads import Upload


class AsyncFiles(AsyncResource):
    """``client.threads.files``."""

    async def upload(
        self, thread_id: str, content: bytes | Path, *, name: str | None = None, content_type: str | None = None
    ) -> UploadedPart:
        """Upload a file, and return the part to send in a message.

        A path implies ``name`` and ``content_type``. Raises ``ConfigurationError`` if one of them is missing.
        """
        file = await in_thread(Upload.of, content, name, content_type)
        address = path("/v1/threads/{thread_id}/files", thread_id=thread_id)
        answer: UploadAnswer = await self._post(address, UploadAnswer, file.announced, is_repeatable=False)
        await self._transport.upload(answer.upload, file.data)
        return cast("UploadedPart", answer.part)
