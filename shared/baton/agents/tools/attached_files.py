"""The files that a tool's call attaches to the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton.agents.attempt_context import Attempt
from baton.domain.documents.citation import FILE_SOURCE
from baton.domain.errors import BatonError, LeaseLost, StoreUnavailable
from baton.ports.agents.tools import MAX_ATTACHED_BYTES, NewFile, ToolFailed

MAX_FILES = 20
"""Files of one call."""


class AttachedFiles:
    """The files of one call, kept in the thread as sources of the answer."""

    def __init__(self, context: Attempt, agent_id: str) -> None:
        self._context = context
        self._agent_id = agent_id
        self._room = MAX_ATTACHED_BYTES
        self.sources: list[Mapping[str, Any]] = []

    async def keep(self, file: NewFile) -> str:
        """Keep a file, and return its id. Raises ``ToolFailed``, ``LeaseLost`` and ``StoreUnavailable``."""
        if len(self.sources) >= MAX_FILES:
            raise ToolFailed(f"A call attaches at most {MAX_FILES} files.")
        if len(file.body) > self._room:
            raise ToolFailed(f"The files of a call have at most {MAX_ATTACHED_BYTES} bytes together.")
        context, files = self._context, self._context.services.files
        try:
            file_id = await files.keep(context.scope, context.thread_id, file.name, file.media_type, file.body)
            url = await files.download_url(context.scope, context.thread_id, file_id)
        except (LeaseLost, StoreUnavailable):
            raise
        except BatonError as refusal:
            raise ToolFailed(f"The file {file.name} cannot be attached: {refusal.detail}") from refusal
        self._room -= len(file.body)
        self.sources.append(
            {
                "kind": FILE_SOURCE,
                "id": file_id,
                "title": file.name,
                "agentId": self._agent_id,
                "score": None,
                "mediaType": file.media_type,
                "isKept": True,
                "url": url,
            }
        )
        return file_id
