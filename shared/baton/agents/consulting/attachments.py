"""Images and documents of a user's message, as attachments for a remote agent."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from ag_ui.core import DataSource, DocumentPart, ImagePart, TextPart, UrlSource

from baton.agents.attempt_context import Attempt
from baton.domain.errors import NotFound
from baton.domain.threads.content import part_name
from baton.domain.threads.message import Content
from baton.ports.agents.agent_client import Attachment

MISSING = "[The {kind} {name} has not been uploaded.]"


async def read_attachments(context: Attempt, content: Content) -> tuple[Sequence[Attachment], Sequence[str]]:
    """Return the attachments of ``content``, and one sentence for each upload that is missing.

    Uploads are sent as short-lived URLs. A missing upload is not an error, because that would fail every later turn.
    Raises what ``Files.download_url`` raises, except ``NotFound``.
    """
    sent: list[Attachment] = []
    missing: list[str] = []
    for part in () if isinstance(content, str) else content:
        if isinstance(part, TextPart):
            continue
        try:
            sent.append(await _attachment(context, part))
        except NotFound:
            kind = "image" if isinstance(part, ImagePart) else "document"
            missing.append(MISSING.format(kind=kind, name=part_name(part) or "that was announced"))
    return sent, missing


async def _attachment(context: Attempt, part: ImagePart | DocumentPart) -> Attachment:
    source, name = part.source, part_name(part)
    if isinstance(source, DataSource):
        return Attachment(name, source.mime_type, data=base64.b64decode(source.value))
    if isinstance(source, UrlSource):
        return Attachment(name, source.mime_type, url=source.value)
    url = await context.services.files.download_url(context.scope, context.thread_id, source.value)
    return Attachment(name, source.mime_type, url=url)
