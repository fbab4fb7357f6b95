"""Desks: conversations that wait for people, and the actions of these people."""

from __future__ import annotations

import builtins
import json
from collections.abc import AsyncIterator
from typing import Any, Literal

from baton_client.addresses import given, path
from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.asynchronous.transport import Request
from baton_client.models import Desk, DeskCase, DeskItem, DeskListOfCaller, Draft, Message, MessageAnswer, Thread
from baton_client.sse import EventDecoder

AT_DESK = "/v1/threads/{thread_id}/desk"
SILENCE_SECONDS = 30.0
"""The longest silence of a stream, which sends a comment every ten seconds."""


class AsyncDesks(AsyncResource):
    """``client.desks``. All methods but ``ask`` need ``desk:answer`` and the permission of the desk."""

    async def ask(self, thread_id: str, *, desk_id: str | None = None, locale: str | None = None) -> MessageAnswer:
        """Hand one of the caller's conversations over to a desk, by default to the first desk of its agent.

        ``locale`` overrides the client's ``locale``.
        """
        body = given(deskId=desk_id, locale=self._choose_locale(locale))
        return await self._post(path(AT_DESK, thread_id=thread_id), MessageAnswer, body)

    async def mine(self) -> builtins.list[Desk]:
        """Return the desks that the caller answers."""
        return (await self._get("/v1/desk/desks", DeskListOfCaller)).items

    def list(
        self,
        *,
        status: Literal["waiting", "active", "mine", "all"] | None = None,
        desk_id: str | None = None,
        limit: int | None = None,
    ) -> AsyncPager[DeskItem]:
        """List the conversations at the caller's desks, in the order of their arrival."""
        return self._list("/v1/desk", DeskItem, status=status, deskId=desk_id, limit=limit)

    async def changes(self) -> AsyncIterator[dict[str, Any]]:
        """Yield ``threadId`` and ``item`` of each conversation at the caller's desks, and again whenever one changes.

        ``item`` is None for a conversation that has left the desk. The server ends the stream after a minute.
        """
        request = Request(method="GET", path="/v1/desk/events")
        decoder = EventDecoder()
        async with self._transport.open(request, read_seconds=SILENCE_SECONDS) as response:
            async for chunk in response.aiter_bytes():
                for data in decoder.feed(chunk):
                    event = json.loads(data)
                    if event.get("name") == "desk_changed":
                        yield event["value"]

    async def get(self, thread_id: str) -> DeskCase:
        """Return a conversation at a desk, with the reason of its handoff, its notes, and the other desks."""
        return await self._get(path(AT_DESK, thread_id=thread_id), DeskCase)

    async def take(self, thread_id: str) -> DeskItem:
        """Take a waiting conversation. Raises ``DeskTakenError`` if another person has taken it."""
        return await self._post(path(AT_DESK + "/take", thread_id=thread_id), DeskItem)

    async def reply(self, thread_id: str, message_id: str, content: str | builtins.list[dict[str, Any]]) -> Message:
        """Write to the user. A repeated ``message_id`` returns the message that was written under it."""
        body = {"messageId": message_id, "content": content}
        return await self._post(path(AT_DESK + "/messages", thread_id=thread_id), Message, body)

    async def note(self, thread_id: str, message_id: str, text: str) -> None:
        """Add a note for the people of the desk. The agent reads it too, once the conversation is handed back."""
        body = {"messageId": message_id, "text": text}
        await self._post(path(AT_DESK + "/notes", thread_id=thread_id), None, body)

    async def show_typing(self, thread_id: str) -> None:
        """Show the user that the person is typing."""
        await self._post(path(AT_DESK + "/typing", thread_id=thread_id), None)

    async def draft(
        self, thread_id: str, kind: Literal["reply", "summary"] = "reply", *, instruction: str | None = None
    ) -> Draft:
        """Have the main agent draft a reply or a summary, and return it. Only the caller sees it."""
        body = given(kind=kind, instruction=instruction)
        return await self._post(path(AT_DESK + "/draft", thread_id=thread_id), Draft, body)

    async def hand_back(self, thread_id: str, *, note: str | None = None) -> Thread:
        """Hand the conversation back to its main agent, with a note for it."""
        return await self._post(path(AT_DESK + "/return", thread_id=thread_id), Thread, given(note=note))

    async def transfer(self, thread_id: str, desk_id: str, *, note: str | None = None) -> Thread:
        """Move the conversation to another desk, with a note for the people there."""
        body = given(deskId=desk_id, note=note)
        return await self._post(path(AT_DESK + "/transfer", thread_id=thread_id), Thread, body)
