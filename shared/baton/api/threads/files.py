"""The route POST /v1/threads/{id}/files, which prepares the upload of a file for a message."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from baton.api.http.dependencies import Caller, ThreadId, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Asked, UploadTarget, describe
from baton.composition.app import App
from baton.domain.tenants.identity import Scope, ThreadRef, resolve_thread_ref
from baton.domain.threads.content import FILE_PROVIDER
from baton.domain.wire_model import WireModel
from baton.threads.requests.thread_access import get_own_thread, refusals_audited
from baton_documents.media_types import MediaType

router = APIRouter(prefix="/v1/threads", tags=["files"])


class UploadRequest(Asked):
    """A file to upload."""

    name: str = Field(examples=["invoice.pdf"])
    content_type: str = describe("Its media type, with a charset if it has one; empty if unknown.", "application/pdf")
    size: int = describe("Bytes.", 48213)


FILE_ID = "file_0123456789abcdef0123456789abcdef"
SOURCE = {"type": "file", "value": FILE_ID, "provider": "baton", "mimeType": "application/pdf"}
PART = {"type": "document", "source": SOURCE, "metadata": {"name": "invoice.pdf", "size": 48213}}


class UploadAnswer(WireModel):
    """The upload of a file, and the part that refers to it in a message."""

    file_id: str = Field(examples=[FILE_ID])
    upload: UploadTarget
    part: dict[str, Any] = Field(examples=[PART])


@router.post(
    "/{thread_id}/files",
    summary="Prepare an upload",
    status_code=201,
    responses=responses("message_too_large unsupported_part"),
)
async def prepare_upload(thread_id: ThreadId, scope: Caller, app: UseCases, file: UploadRequest) -> UploadAnswer:
    """Return an address that accepts the file for 15 minutes, and the part for a message of this conversation.

    The conversation need not exist yet. A person of a desk can upload files into a conversation that they have taken.
    """
    thread = resolve_thread_ref(scope, thread_id)
    canonical = thread.id
    taken = await app.desk_access.find_taken_conversation(scope, canonical)
    if taken is None:
        await _check_own(app, scope, thread)
    else:
        scope = taken.owner  # the file is forgotten with the user
    upload = await app.ports.files.presign_upload(scope, canonical, file.name, file.content_type, file.size)
    media_type = MediaType.parse(file.content_type)
    # Written before the client gets the address, because an upload without a conversation is found only by this note.
    await app.ports.erasure.note_upload(scope, canonical)
    return UploadAnswer.of(
        upload,
        upload=upload,
        part={
            "type": "image" if media_type.kind == "image" else "document",
            "source": {"type": "file", "value": upload.file_id, "provider": FILE_PROVIDER, "mimeType": str(media_type)},
            "metadata": {"name": file.name, "size": file.size},
        },
    )


async def _check_own(app: App, scope: Scope, thread: ThreadRef) -> None:
    """Check that the conversation is the caller's or may be created by the caller.

    Raises ``ThreadUnavailable``, which is audited.
    """
    async with refusals_audited(app.ports.audit, scope, thread.id, "file.upload"):
        if thread.may_create:
            await app.ports.store.check_writable(scope, thread.id)
        else:  # ``check_writable`` would reveal whether another user's mapped id is in use
            await get_own_thread(app.ports.store, scope, thread.id)
