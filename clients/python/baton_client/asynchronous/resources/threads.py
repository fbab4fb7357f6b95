"""Conversations and their contents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from baton_client.addresses import given, path
from baton_client.asynchronous.events import AsyncEvents
from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.asynchronous.resources.files import AsyncFiles
from baton_client.asynchronous.resources.subtasks import AsyncSubTasks
from baton_client.asynchronous.transport import AsyncTransport
from baton_client.models import (
    AuditRecord,
    BackgroundTask,
    BackgroundTaskList,
    Branch,
    CancelAnswer,
    CloseAnswer,
    ContextRecord,
    ForgetRequest,
    Handoff,
    Message,
    MessageAnswer,
    MessageListing,
    MessageQueue,
    QueuedEvent,
    RatedMessage,
    Rerun,
    SelectedBranch,
    Thread,
    ToolCallRecord,
    Turn,
)

THREAD = "/v1/threads/{thread_id}"


class AsyncThreads(AsyncResource):
    """``client.threads``. A ``thread_id`` is the conversation's UUID or the host application's own id."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport)
        self.files = AsyncFiles(transport)
        self.tasks = AsyncSubTasks(transport)

    def list(
        self,
        *,
        scope: Literal["tenant"] | None = None,
        query: str | None = None,
        parent_thread_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        state: Literal["active", "closed", "running", "interrupted", "waiting"] | None = None,
        has_error: bool | None = None,
        has_feedback: bool | None = None,
        min_tokens: int | None = None,
        min_cost: float | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPager[Thread]:
        """List conversations, the most recently active first: the caller's, or the tenant's with ``scope="tenant"``.

        ``query`` keeps those whose title or beginning has all its words. ``limit`` is a page's size (1-100).
        """
        params = {
            "scope": scope,
            "q": query,
            "parentThreadId": parent_thread_id,
            "userId": user_id,
            "agentId": agent_id,
            "state": state,
            "hasError": has_error,
            "hasFeedback": has_feedback,
            "minTokens": min_tokens,
            "minCost": min_cost,
            "from": since.isoformat() if since else None,
            "to": until.isoformat() if until else None,
            "limit": limit,
            "cursor": cursor,
        }
        return self._list("/v1/threads", Thread, **params)

    async def get(self, thread_id: str) -> Thread:
        """Return a conversation. Raises ``ThreadUnavailableError`` if it is not the caller's, or there is none."""
        return await self._get(path(THREAD, thread_id=thread_id), Thread)

    async def rename(self, thread_id: str, title: str) -> Thread:
        """Give a conversation a title of 1 to 120 characters."""
        return await self._send("PATCH", path(THREAD, thread_id=thread_id), Thread, json={"title": title})

    async def mark_read(self, thread_id: str, ordinal: int) -> None:
        """Mark a conversation as read up to a message. Its ``unread`` then counts the answers after that message."""
        await self._send("PUT", path(THREAD + "/read", thread_id=thread_id), None, json={"ordinal": ordinal})

    async def delete(self, thread_id: str) -> ForgetRequest:
        """Forget a conversation with its forks. ``baton.users.wait_until_forgotten`` returns the report."""
        return await self._delete(path(THREAD, thread_id=thread_id), ForgetRequest)

    async def close(self, thread_id: str) -> CloseAnswer:
        """Close a conversation after its queued and running turns. The next message opens it again."""
        return await self._post(path(THREAD + "/close", thread_id=thread_id), CloseAnswer)

    async def cancel(self, thread_id: str, *, run_id: str | None = None) -> CancelAnswer:
        """Stop the run in progress, or only the run ``run_id``. The text so far is kept."""
        return await self._post(path(THREAD + "/cancel", thread_id=thread_id), CancelAnswer, given(runId=run_id))

    async def queue(self, thread_id: str) -> MessageQueue:
        """Return the waiting messages, which were sent while a run was in progress."""
        return await self._get(path(THREAD + "/queue", thread_id=thread_id), MessageQueue)

    async def withdraw(self, thread_id: str, message_id: str) -> None:
        """Withdraw a waiting message. Raises ``AlreadyRunningError`` if a run has already read it."""
        await self._delete(path(THREAD + "/queue/{message_id}", thread_id=thread_id, message_id=message_id), None)

    async def background(self, thread_id: str) -> BackgroundTaskList:
        """Return the background tasks of a conversation, the newest first."""
        return await self._get(path(THREAD + "/background", thread_id=thread_id), BackgroundTaskList)

    async def cancel_background(self, thread_id: str, task_id: str) -> BackgroundTask:
        """Cancel a background task, so that its result is not used. A task that has ended stays as it is."""
        address = path(THREAD + "/background/{task_id}", thread_id=thread_id, task_id=task_id)
        return await self._delete(address, BackgroundTask)

    def messages(
        self,
        thread_id: str,
        *,
        roles: Sequence[str] | None = None,
        branch: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPager[Message]:
        """List messages. Later pages are older; each is in order. ``roles`` are ``user``, ``assistant``, ``tool``."""
        params = {"roles": ",".join(roles) if roles else None, "branch": branch, "limit": limit, "cursor": cursor}
        return self._list(path(THREAD + "/messages", thread_id=thread_id), Message, **params)

    async def newest_messages(self, thread_id: str, *, limit: int | None = None) -> MessageListing:
        """Return the newest messages, with the number of the last event that they include (``last_seq``)."""
        return await self._get(path(THREAD + "/messages", thread_id=thread_id), MessageListing, limit=limit)

    def events(self, thread_id: str, *, after: int = 0) -> AsyncEvents:
        """Follow a conversation: every event after number ``after``, without end, also after lost connections."""
        return AsyncEvents(self._transport, thread_id, after=after, gives_up=False)

    async def send_event(
        self,
        thread_id: str,
        event_id: str,
        type: str,  # noqa: A002  the field's name
        data: Any = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> QueuedEvent:
        """Send an event of your system, which begins a run of the conversation's agent. Needs ``event:send``.

        A repeated ``event_id`` begins no second run. ``user_id`` is the user of the conversation, by default the
        caller; ``agent_id`` is the main agent of a new conversation.
        """
        event = {"eventId": event_id, "type": type, "data": data, **given(userId=user_id, agentId=agent_id)}
        return await self._post(path(THREAD + "/events", thread_id=thread_id), QueuedEvent, event)

    def turns(self, thread_id: str, *, limit: int | None = None) -> AsyncPager[Turn]:
        """List turns, the newest first, including the one in progress."""
        return self._list(path(THREAD + "/turns", thread_id=thread_id), Turn, limit=limit)

    async def context(self, thread_id: str, run_id: str) -> ContextRecord:
        """Return the context from which a turn was answered. Needs ``context:inspect``."""
        return await self._get(
            path(THREAD + "/turns/{run_id}/context", thread_id=thread_id, run_id=run_id), ContextRecord
        )

    async def rerun(
        self,
        thread_id: str,
        run_id: str,
        *,
        model: str | None = None,
        agent_id: str | None = None,
        agent_version: int | None = None,
        without: Sequence[str] = (),
        message_id: str | None = None,
    ) -> Rerun:
        """Answer a turn's message again as a dry run, which stores and sends nothing. Needs ``context:inspect``."""
        options = given(model=model, agentId=agent_id, agentVersion=agent_version, messageId=message_id)
        body = options | {"without": list(without)}
        address = path(THREAD + "/turns/{run_id}/rerun", thread_id=thread_id, run_id=run_id)
        return await self._post(address, Rerun, body, is_repeatable=False)

    def tool_calls(self, thread_id: str, *, limit: int | None = None) -> AsyncPager[ToolCallRecord]:
        """List tool calls, the newest first."""
        return self._list(path(THREAD + "/tool-calls", thread_id=thread_id), ToolCallRecord, limit=limit)

    def handoffs(self, thread_id: str, *, limit: int | None = None) -> AsyncPager[Handoff]:
        """List handoffs, the newest first, including refused ones."""
        return self._list(path(THREAD + "/handoffs", thread_id=thread_id), Handoff, limit=limit)

    def audit(self, thread_id: str, *, limit: int | None = None) -> AsyncPager[AuditRecord]:
        """List audit records of a conversation, the newest first."""
        return self._list(path(THREAD + "/audit", thread_id=thread_id), AuditRecord, limit=limit)

    async def exit_specialist(self, thread_id: str) -> MessageAnswer:
        """Leave the specialist at once. An unfinished workflow is kept, and can be continued."""
        return await self._post(path(THREAD + "/exit", thread_id=thread_id), MessageAnswer)

    async def continue_workflow(self, thread_id: str, workflow_id: str) -> MessageAnswer:
        """Continue an unfinished workflow, which ``baton.workflows`` lists, in this conversation."""
        body = {"workflowId": workflow_id}
        return await self._post(path(THREAD + "/continue", thread_id=thread_id), MessageAnswer, body)

    async def fork(self, thread_id: str, *, agent_id: str | None = None, messages: int | None = None) -> Thread:
        """Fork a conversation: make a new one that begins with its last ``messages`` (0-200, 5 if not given)."""
        body = given(agentId=agent_id, includeHistoryMessages=messages)
        return await self._post(path(THREAD + "/fork", thread_id=thread_id), Thread, body, is_repeatable=False)

    async def sandbox(self, thread_id: str, message_id: str, *, include_turn: bool | None = None) -> Thread:
        """Copy a conversation as it was after the turn of a message, or before that turn, for experiments."""
        body = given(messageId=message_id, includeTurn=include_turn)
        return await self._post(path(THREAD + "/sandbox", thread_id=thread_id), Thread, body, is_repeatable=False)

    async def merge(self, thread_id: str) -> MessageAnswer:
        """Add the last answer of a fork, as one message, to the conversation from which it was forked."""
        return await self._post(path(THREAD + "/merge", thread_id=thread_id), MessageAnswer, {})

    def branches(self, thread_id: str, *, limit: int | None = None) -> AsyncPager[Branch]:
        """List branches: alternatives to messages that were answered again, or edited."""
        return self._list(path(THREAD + "/branches", thread_id=thread_id), Branch, limit=limit)

    async def select_branch(self, thread_id: str, branch_id: str) -> SelectedBranch:
        """Continue the conversation with another branch."""
        address = path(THREAD + "/branches/{branch_id}/select", thread_id=thread_id, branch_id=branch_id)
        return await self._post(address, SelectedBranch)

    async def rate(
        self, thread_id: str, message_id: str, rating: Literal["up", "down", "none"], *, comment: str | None = None
    ) -> RatedMessage:
        """Rate an answer, or withdraw a rating with ``none``."""
        address = path(THREAD + "/messages/{message_id}/feedback", thread_id=thread_id, message_id=message_id)
        body: dict[str, Any] = {"rating": rating} | given(comment=comment)
        return await self._post(address, RatedMessage, body)
