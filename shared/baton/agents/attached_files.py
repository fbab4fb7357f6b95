"""Files of users for remote agents, and files that tools and remote agents attach to their answers."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import DataSource, DocumentPart, ImagePart, TextPart, UrlSource
from aws_lambda_powertools import Logger

from baton.agents.attempt_context import Attempt
from baton.domain.documents.numbered_passages import FILE_SOURCE
from baton.domain.errors import BatonError, LeaseLost, NotFound, StoreUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.threads.content import Content, find_part_name
from baton.ports.agents.agent_client import Attachment
from baton.ports.agents.tools import MAX_ATTACHED_BYTES, NewFile, ToolFailed

logger = Logger(child=True)

MAX_FILES = 20
"""Files of one call, or of a remote agent's answer. Further files of an answer are only counted."""
MAX_KEPT_BYTES = 20 * 1024 * 1024
"""Bytes of a remote agent's files that are kept, for one answer."""
FILE = "[File: {}]"
MORE_FILES = "[{} more files]"
MISSING = "[The {kind} {name} has not been uploaded.]"
UNKNOWN_TYPE = "application/octet-stream"


class AttachedFiles:
    """The files of one tool call, kept in the thread as sources of the answer."""

    def __init__(self, context: Attempt, agent_id: str) -> None:
        self._context = context
        self._agent_id = agent_id
        self._room = MAX_ATTACHED_BYTES
        self._keeping = asyncio.Lock()  # a tool may attach several files at the same time
        self.sources: list[Mapping[str, Any]] = []

    async def keep(self, file: NewFile) -> str:
        """Keep a file in the thread, and return its id.

        Raises ``ToolFailed`` for a file that cannot be kept, ``LeaseLost`` and ``StoreUnavailable``.
        """
        async with self._keeping:
            return await self._keep(file)

    async def _keep(self, file: NewFile) -> str:
        if len(self.sources) >= MAX_FILES:
            raise ToolFailed(f"A call attaches at most {MAX_FILES} files.")
        if len(file.body) > self._room:
            raise ToolFailed(f"The files of a call have at most {MAX_ATTACHED_BYTES} bytes together.")
        try:
            file_id, url = await _store_file(self._context, file.name, file.media_type, file.body)
        except (LeaseLost, StoreUnavailable):
            raise
        except BatonError as refusal:
            raise ToolFailed(f"The file {file.name} cannot be attached: {refusal.detail}") from refusal
        self._room -= len(file.body)
        self.sources.append(_make_source(self._agent_id, file_id, file.name, file.media_type, url, is_kept=True))
        return file_id


class ReturnedFiles:
    """The files of one answer of a remote agent. Files that were sent with their bytes are kept in the thread."""

    def __init__(self, context: Attempt, agent_id: str) -> None:
        self._context = context
        self._agent_id = agent_id
        self._number = 0
        self._room = MAX_KEPT_BYTES
        self.sources: list[Mapping[str, Any]] = []

    async def take(self, file: Attachment) -> str:
        """Add the file to ``sources``, and return its description; empty for a file beyond ``MAX_FILES``.

        If its bytes were sent, it is kept in the thread, unless it is too large or is refused. Raises ``LeaseLost`` and
        ``StoreUnavailable``.
        """
        self._number += 1
        if self._number > MAX_FILES:
            return ""
        name, media_type = file.name or "file", file.media_type or UNKNOWN_TYPE
        kept_file = await self._keep(name, media_type, file.data)
        file_id, url = kept_file or (self._derive_id(file), file.url)
        is_kept = kept_file is not None
        self.sources.append(_make_source(self._agent_id, file_id, name, media_type, url, is_kept=is_kept))
        return FILE.format(describe_file(file))

    @property
    def left_out(self) -> str:
        """A note about the files beyond ``MAX_FILES``; empty if there are none."""
        return MORE_FILES.format(self._number - MAX_FILES) if self._number > MAX_FILES else ""

    def _derive_id(self, file: Attachment) -> str:
        """Return the id of a file that is not kept. Without an address it depends on agent, name, number and bytes."""
        if file.url is not None:
            return hashlib.sha256(file.url.encode()).hexdigest()
        words = f"{self._agent_id}\0{file.name}\0{self._number}\0".encode()
        return hashlib.sha256(words + (file.data or b"")).hexdigest()

    async def _keep(self, name: str, media_type: str, data: bytes | None) -> tuple[str, str] | None:
        """Keep a file, and return its id and address; None if it has no bytes, is too large or is refused."""
        if not data or len(data) > self._room:
            return None
        try:
            kept_file = await _store_file(self._context, name, media_type, data)
        except (LeaseLost, StoreUnavailable):
            raise
        except BatonError as refusal:
            logger.warning("A file of a remote agent is not kept", agent=self._agent_id, reason=refusal.code)
            count(Metric.AGENT_FAILURES)
            return None
        self._room -= len(data)
        return kept_file


async def _store_file(context: Attempt, name: str, media_type: str, data: bytes) -> tuple[str, str]:
    """Store a file in the thread, and return its id and address. Raises the errors of ``Files``."""
    files = context.services.files
    file_id = await files.keep(context.scope, context.thread_id, name, media_type, data)
    return file_id, await files.presign_download(context.scope, context.thread_id, file_id)


def _make_source(
    agent_id: str, file_id: str, name: str, media_type: str, url: str | None, *, is_kept: bool
) -> Mapping[str, Any]:
    return {
        "kind": FILE_SOURCE,
        "id": file_id,
        "title": name,
        "agentId": agent_id,
        "score": None,
        "mediaType": media_type,
        "isKept": is_kept,
        "url": url,
    }


async def read_attachments(context: Attempt, content: Content) -> tuple[Sequence[Attachment], Sequence[str]]:
    """Return the images and documents of ``content`` for a remote agent, and a sentence for each missing upload.

    Uploads are sent as short-lived URLs. A missing upload raises no error, because the error would fail every later
    turn too. Raises the errors of ``Files.presign_download`` except ``NotFound``.
    """
    attachments: list[Attachment] = []
    missing_notes: list[str] = []
    for part in () if isinstance(content, str) else content:
        if isinstance(part, TextPart):
            continue
        try:
            attachments.append(await _make_attachment(context, part))
        except NotFound:
            kind = "image" if isinstance(part, ImagePart) else "document"
            missing_notes.append(MISSING.format(kind=kind, name=find_part_name(part) or "that was announced"))
    return attachments, missing_notes


async def _make_attachment(context: Attempt, part: ImagePart | DocumentPart) -> Attachment:
    source, name = part.source, find_part_name(part)
    if isinstance(source, DataSource):
        return Attachment(name, source.mime_type, data=base64.b64decode(source.value))
    if isinstance(source, UrlSource):
        return Attachment(name, source.mime_type, url=source.value)
    url = await context.services.files.presign_download(context.scope, context.thread_id, source.value)
    return Attachment(name, source.mime_type, url=url)


def describe_file(file: Attachment) -> str:
    """Return the name, type and address of a file, as far as they are known, as a text."""
    facts = (file.name or "without a name", file.media_type, file.url)
    return ", ".join(part for part in facts if part)


def count_by_type(files: Sequence[Attachment]) -> dict[str, int]:
    """Return the number of files of each media type, for audits, which do not keep names of files."""
    return dict(Counter(file.media_type or UNKNOWN_TYPE for file in files))
