# Generated from ``baton_client.asynchronous`` by ``make client``; do not edit.

"""Files that are sent with messages."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from baton_client.addresses import path
from baton_client.calls import directly
from baton_client.models import UploadAnswer
from baton_client.run_parts import UploadedPart
from baton_client.synchronous.resource import Resource
from baton_client.uploads import Upload


class Files(Resource):
    """``client.threads.files``."""

    def upload(
        self, thread_id: str, content: bytes | Path, *, name: str | None = None, content_type: str | None = None
    ) -> UploadedPart:
        """Upload a file, and return the part to send in a message.

        ``name`` and ``content_type`` follow from a path. Raises ``ConfigurationError`` where they are missing.
        """
        file = directly(Upload.of, content, name, content_type)
        address = path("/v1/threads/{thread_id}/files", thread_id=thread_id)
        answer: UploadAnswer = self._post(address, UploadAnswer, file.announced, is_repeatable=False)
        self._transport.upload(answer.upload, file.data)
        return cast("UploadedPart", answer.part)
