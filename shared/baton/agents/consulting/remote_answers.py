"""Data and files of a remote agent's answer, besides its text: in words, and as sources of the answer."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from aws_lambda_powertools import Logger

from baton.agents.attempt_context import Attempt
from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.citation import FILE_SOURCE
from baton.domain.errors import BatonError, LeaseLost, StoreUnavailable
from baton.domain.metrics import Metric, count
from baton.ports.agents.agent_client import Attachment

logger = Logger(child=True)

MAX_FILES = 20
"""Files of an answer. Further ones are only counted."""
MAX_KEPT_BYTES = 20 * 1024 * 1024
"""Bytes of an answer's files that are kept."""
FILE = "[File: {}]"
MORE_FILES = "[{} more files]"
UNKNOWN_TYPE = "application/octet-stream"


class ReturnedFiles:
    """The files of one answer, kept in the thread where their bytes came along."""

    def __init__(self, context: Attempt, agent: AgentDefinition) -> None:
        self._context = context
        self._agent = agent
        self._number = 0
        self._room = MAX_KEPT_BYTES
        self.sources: list[Mapping[str, Any]] = []
        """The files as sources of the answer."""

    async def take(self, file: Attachment) -> str:
        """Keep the file, and return its description; an empty one for a file of too many."""
        self._number += 1
        if self._number > MAX_FILES:
            return ""
        self.sources.append(await self._source(file))
        return FILE.format(describe_file(file))

    @property
    def left_out(self) -> str:
        """The description of files that are too many."""
        return MORE_FILES.format(self._number - MAX_FILES) if self._number > MAX_FILES else ""

    async def _source(self, file: Attachment) -> Mapping[str, Any]:
        stored = await self._keep(file)
        file_id, url = stored or (hashlib.sha256((file.url or f"{self._number}").encode()).hexdigest(), file.url)
        return {
            "kind": FILE_SOURCE,
            "id": file_id,
            "title": file.name or "file",
            "agentId": self._agent.id,
            "score": None,
            "mediaType": file.media_type or UNKNOWN_TYPE,
            "isKept": stored is not None,
            "url": url,
        }

    async def _keep(self, file: Attachment) -> tuple[str, str] | None:
        """Return the id and the address of the kept file; None if it is not kept."""
        if not file.data or len(file.data) > self._room:
            return None
        context, files = self._context, self._context.services.files
        try:
            file_id = await files.keep(
                context.scope, context.thread_id, file.name or "file", file.media_type or UNKNOWN_TYPE, file.data
            )
            url = await files.download_url(context.scope, context.thread_id, file_id)
        except (LeaseLost, StoreUnavailable):
            raise
        except BatonError as refusal:
            logger.warning("A file of a remote agent is not kept", agent=self._agent.id, reason=refusal.code)
            count(Metric.AGENT_FAILURES)
            return None
        self._room -= len(file.data)
        return file_id, url


def describe_file(file: Attachment) -> str:
    """Return a file in words: its name, type and address."""
    about = (file.name or "without a name", file.media_type, file.url)
    return ", ".join(part for part in about if part)


def count_by_type(files: Sequence[Attachment]) -> dict[str, int]:
    """Return the number of files of each media type: names may be personal data, which audits do not keep."""
    return dict(Counter(file.media_type or UNKNOWN_TYPE for file in files))
