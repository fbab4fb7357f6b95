"""The route for signed requests of other systems, which become events in conversations."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from baton.api.http.dependencies import UseCases
from baton.api.http.problems import json_content, responses
from baton.domain.errors import MessageTooLarge

MAX_HOOK_BYTES = 256 * 1024
"""Bytes of a request's body, which is read before the sender is known."""

router = APIRouter(prefix="/v1/hooks", tags=["webhooks"])


@router.post(
    "/{hook_id}",
    summary="Take a signed event",
    status_code=202,
    response_class=Response,
    responses=responses(
        "unauthorized tenant_removed not_found thread_unavailable unknown_agent agent_mismatch event_not_taken "
        "limit_reached thread_led_by_parent message_too_large store_unavailable"
    ),
    openapi_extra={"requestBody": {"required": True, **json_content({"order": "4711", "customer": "alice"})}},
)
async def take_hook(
    hook_id: Annotated[str, Path(description="The hook's id in the settings.", max_length=64, examples=["shop"])],
    request: Request,
    app: UseCases,
) -> Response:
    """Begin a run for a request that another system has signed, as the settings of the hook define.

    It needs no token. The signature is that of Standard Webhooks, or one HMAC-SHA256 in a header. A repeated event gets
    the same answer, without a second run.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_HOOK_BYTES:
            raise MessageTooLarge(f"A hook takes at most {MAX_HOOK_BYTES // 1024} KB.")
    headers: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        headers.setdefault(name.lower(), []).append(value)
    await app.self_started.inbound_hooks.take(hook_id, headers, bytes(body))
    return Response(status_code=202)
