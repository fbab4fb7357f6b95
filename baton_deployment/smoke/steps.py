"""The steps of a smoke test, taken as a user. Each returns a line about its result, or raises."""

from __future__ import annotations

import uuid
from contextlib import aclosing, suppress

from baton_client import AsyncBaton, NotFoundError
from baton_client.asynchronous.waiting import wait_until
from baton_deployment.errors import DeploymentError
from baton_deployment.smoke.conversation import Event, connected, read_seq
from baton_deployment.smoke.target import Target

QUESTION = "Please answer with one short sentence: are you there?"


class Steps:
    """The smoke test of one target. Steps may be left out, but not reordered."""

    def __init__(self, target: Target, client: AsyncBaton, seconds: float) -> None:
        self._target = target
        self._client = client
        self._seconds = seconds
        """The longest time for which one step waits."""
        self._threads: list[str] = []
        self._seen: list[Event] = []
        """The numbered events of the conversation over the WebSocket."""

    async def check_health(self) -> str:
        """Request the server's health."""
        health = await self._client.health()
        return f"version {health.version} at {self._target.url}"

    async def check_token(self) -> str:
        """Request the user of the token."""
        me = await self._client.users.me()
        return f"accepted, as {me.user_id} of the tenant {me.tenant_id}"

    async def talk_over_http(self) -> str:
        """Send a message over HTTP, and read the streamed answer."""
        result = await self._client.runs.create(QUESTION, thread_id=self._make_thread_id())
        text = " ".join(message.text for message in result.messages).strip()
        return _check_answer(result.outcome, text)

    async def talk_over_socket(self) -> str:
        """Send a message over a WebSocket, and read the answer's events."""
        thread_id = self._make_thread_id()
        message_id = str(uuid.uuid4())
        text, outcome = [], ""
        async with connected(self._target) as conversation:
            await conversation.send("message", threadId=thread_id, messageId=message_id, content=QUESTION)
            async with aclosing(conversation.events()) as events:
                async for event in events:
                    if read_seq(event) is not None:
                        self._seen.append(event)
                    if event["type"] == "TEXT_MESSAGE_CONTENT":
                        text.append(event["delta"])
                    if event["type"] == "RUN_FINISHED":
                        outcome = str((event.get("outcome") or {}).get("type", "success"))
                        break
        return _check_answer(outcome, "".join(text).strip())

    async def resume_events(self) -> str:
        """Connect again after the first event, and receive the later events once more."""
        if len(self._seen) < 2:
            raise DeploymentError("There is no answer over the WebSocket to resume.")
        first, *missed = self._seen
        numbers = {read_seq(event): event["type"] for event in missed}
        async with connected(self._target) as conversation:
            await conversation.send("resume", threadId=self._threads[-1], after=read_seq(first))
            async with aclosing(conversation.events()) as events:
                async for event in events:
                    seq = read_seq(event)
                    if seq in numbers and numbers.pop(seq) != event["type"]:
                        raise DeploymentError(f"Event {seq} is another one than before.")
                    if not numbers:
                        break
        return f"{len(missed)} events came again on a new connection"

    async def try_document(self) -> str:
        """Upload a document, find it by search, and delete it."""
        word = f"zq{uuid.uuid4().hex[:10]}"
        agent_id = await self._find_agent_id()
        uploaded = await self._client.documents.upload(
            agent_id,
            f"Smoke test\n\nThe word of this document is {word}.\n".encode(),
            name=f"smoke-{word}.txt",
            content_type="text/plain",
            required_permission=self._target.document_permission or None,
        )
        try:
            read = await self._client.documents.wait(agent_id, uploaded.id, timeout=self._seconds)
            if read.status != "ready":
                raise DeploymentError(f"The document is {read.status}.")
            answer = await self._client.documents.search(agent_id, f"the word {word}")
            if word not in answer.model_dump_json():
                raise DeploymentError(f"The document is ready, but a search for {word} does not find it.")
        finally:
            await self._client.documents.delete(agent_id, uploaded.id)
        return f"read, found and deleted, of the agent {agent_id}"

    async def forget_user(self) -> str:
        """Forget the test's own user; of another user, delete only the conversations of this test.

        Wait until the conversations are gone.
        """
        if not self._target.is_own_user:
            for thread_id in self._threads:
                with suppress(NotFoundError):  # the message that would have created it was refused
                    await self._client.threads.delete(thread_id)
            await wait_until(
                self._list_threads_left,
                lambda thread_ids: not thread_ids,
                self._seconds,
                "removal of the conversations",
            )
            return f"the {len(self._threads)} conversations of this trial are gone; the user's others stay"
        request = await self._client.users.forget("me")
        await wait_until(
            self._list_conversations,
            lambda thread_ids: not thread_ids,
            self._seconds,
            "removal of the user's conversations",
        )
        return f"the user's conversations are gone; request {request.request_id} looks once more in 16 minutes"

    async def _list_conversations(self) -> list[str]:
        return [thread.id async for thread in self._client.threads.list()]

    async def _list_threads_left(self) -> list[str]:
        """Return the ids of the test's conversations that still exist."""
        thread_ids = []
        for thread_id in self._threads:
            with suppress(NotFoundError):
                thread_ids.append((await self._client.threads.get(thread_id)).id)
        return thread_ids

    def _make_thread_id(self) -> str:
        self._threads.append(str(uuid.uuid4()))
        return self._threads[-1]

    async def _find_agent_id(self) -> str:
        """Return the first agent that the user sees. Raises ``DeploymentError`` if there is none."""
        agents = [agent async for agent in self._client.agents.list()]
        if not agents:
            raise DeploymentError("The user sees no agent.")
        return str(agents[0].id)


def describe_problem(error: Exception) -> str:
    """Return a line about the failure of a step."""
    if isinstance(error, TimeoutError):
        return "no result in time"
    return str(error) or type(error).__name__


def _check_answer(outcome: str, text: str) -> str:
    """Return a line about an answer. Raises ``DeploymentError`` if the run has failed, or has no text."""
    if outcome != "success":
        raise DeploymentError(f"The run ended as {outcome or 'nothing'}.")
    if not text:
        raise DeploymentError("The run ended without a text.")
    return f"answered: {text[:60]}{'...' if len(text) > 60 else ''}"
