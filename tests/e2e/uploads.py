"""Uploads of files."""

from __future__ import annotations

from typing import Any

import httpx

from tests.e2e.users import User


async def upload(user: User, thread_id: str, name: str, content_type: str, data: bytes) -> dict[str, Any]:
    """Announce a file and put it; returns the part to send."""
    body = {"name": name, "contentType": content_type, "size": len(data)}
    announced = await user.post(f"/threads/{thread_id}/files", body)
    assert announced.status_code == 201, announced.text
    answer = announced.json()
    assert answer.keys() == {"fileId", "upload", "part"}
    target = answer["upload"]
    assert target.keys() == {"url", "method", "headers", "expiresAt"}
    async with httpx.AsyncClient(trust_env=False) as client:
        put = await client.request(target["method"], target["url"], content=data, headers=target["headers"])
    assert put.status_code == 200, put.text
    part: dict[str, Any] = answer["part"]
    return part
