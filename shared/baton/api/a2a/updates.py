"""Conversion of a run's events to updates of its task, and streams of a task's updates."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from a2a.server.events import Event as A2AEvent
from a2a.types import Artifact, Part, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent
from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]

from baton.api.a2a.access import A2ACaller
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask
from baton.api.a2a.wire import (
    STATES,
    describe_answer,
    make_agent_message,
    make_status,
    parse_data_part,
    to_artifact,
    to_struct,
    to_task,
)
from baton.api.runs.runs import TURN_SECONDS
from baton.api.threads.access import revive
from baton.domain.errors import TokenExpired
from baton.domain.threads.a2a_task import EXTENSION_URI, TaskId, TaskState
from baton.domain.threads.events import Event
from baton.domain.threads.message import Role
from baton.domain.threads.thread import Thread
from baton.ports.clock import Clock

Update = TaskStatusUpdateEvent | TaskArtifactUpdateEvent
ENDS = ("RUN_FINISHED", "RUN_ERROR")
"""The types of the events that end a run."""
HANDOFF_FIELDS = ("from", "to", "reason")
"""The fields of a handoff's activity that are sent to clients."""


class Updates:
    """The updates of a task, made from the events of one run.

    An agent's message is an artifact to which its text is appended. A structured answer is an artifact with data.
    """

    def __init__(self, task_id: TaskId, clock: Clock) -> None:
        self._id = task_id
        self._clock = clock
        self._agents: dict[str, tuple[str, str]] = {}
        """Name and id of the agent of each message."""
        self._authors: dict[str, dict[str, Any]] = {}
        """The people of desks who wrote messages, as metadata, by message id."""
        self._structured: dict[str, list[str]] = {}
        """The pieces of JSON of incomplete structured answers, by message id."""
        self._sent: set[str] = set()
        """The ids of messages whose text has been sent, at least in part."""

    def of(self, event: Event) -> Iterator[Update]:
        """Yield the updates for an event; none if it concerns only other clients."""
        body = event.body
        match event.type:
            case "RUN_STARTED":
                # The run begins again after the attempt of a dead worker, whose artifacts must be emptied.
                yield from self._empty_artifacts(sorted(self._sent))
                self._structured.clear()
            case "TEXT_MESSAGE_START":
                agent_id = body.get("metadata", {}).get("agentId") or ""
                self._agents[body["messageId"]] = (body.get("name") or "", agent_id)
                if author := body.get("metadata", {}).get("author"):
                    self._authors[body["messageId"]] = {"author": author}
                if body.get("metadata", {}).get("isStructured"):
                    self._structured[body["messageId"]] = []
            case "TEXT_MESSAGE_END" if (body.get("metadata") or {}).get("takenBack"):
                # The text was taken back, because a guardrail has refused it or it was the model's thinking.
                yield from self._empty_artifacts([body["messageId"]])
                self._structured.pop(body["messageId"], None)
            case "TEXT_MESSAGE_CONTENT" if body["messageId"] in self._structured:
                self._structured[body["messageId"]].append(body["delta"])
            case "TEXT_MESSAGE_END":
                yield from self._end_answer(body["messageId"], body.get("metadata") or {})
            case "TEXT_MESSAGE_CONTENT":
                append = body["messageId"] in self._sent
                self._sent.add(body["messageId"])
                yield self._make_artifact_update(
                    self._make_artifact(body["messageId"], Part(text=body["delta"])), append=append
                )
            case "ACTIVITY_SNAPSHOT":
                content = body.get("content") or {}
                label = content.get("label")
                if isinstance(label, str) and label:
                    metadata = {"activity": body.get("activityType")}
                    metadata |= {name: content[name] for name in HANDOFF_FIELDS if isinstance(content.get(name), str)}
                    yield self._make_status_update(f"activity {body.get('messageId')}", label, metadata)
            case "STATE_DELTA":
                for change in body.get("delta") or ():
                    if change.get("path") in ("/workflow", "/activeAgent"):
                        name = "workflow" if change["path"] == "/workflow" else "active_agent"
                        yield self._make_status_update(None, None, {name: change.get("value")})

    def list_unsent(self, task: A2ATask, run_id: str | None) -> Iterator[Update]:
        """Yield the messages of a finished run that were not streamed, for example because the message was repeated."""
        for message in task.messages:
            is_due = message.run_id == run_id and message.role is Role.ASSISTANT and message.is_said
            if is_due and message.id not in self._sent:
                self._sent.add(message.id)
                yield self._make_artifact_update(to_artifact(message), append=False)

    def end(self, task: A2ATask) -> TaskStatusUpdateEvent:
        """Return the update with the task's state after the run."""
        return TaskStatusUpdateEvent(task_id=str(self._id), context_id=self._id.thread_id, status=make_status(task))

    def _empty_artifacts(self, message_ids: Sequence[str]) -> Iterator[Update]:
        """Yield updates that empty the artifacts of messages whose text has been sent."""
        for message_id in message_ids:
            if message_id in self._sent:
                self._sent.remove(message_id)
                yield self._make_artifact_update(self._make_artifact(message_id, Part(text="")), append=False)

    def _end_answer(self, message_id: str, metadata: dict[str, Any]) -> Iterator[Update]:
        """Yield the last update of an answer: its data, or its sources if it is a text with sources."""
        is_structured = message_id in self._structured
        if is_structured:
            self._sent.add(message_id)
        if is_structured or (message_id in self._sent and (metadata.get("sources") or metadata.get("consulted"))):
            part = parse_data_part("".join(self._structured.pop(message_id))) if is_structured else Part(text="")
            yield self._make_artifact_update(self._make_artifact(message_id, part, metadata), append=not is_structured)

    def _make_artifact(
        self, message_id: str, part: Part, metadata: Mapping[str, Any] = MappingProxyType({})
    ) -> Artifact:
        name, agent_id = self._agents.get(message_id, ("", ""))
        sources, consulted = metadata.get("sources") or (), metadata.get("consulted") or ()
        answer_metadata = describe_answer(agent_id, sources, consulted, self._authors.get(message_id, {}))
        return Artifact(artifact_id=message_id, name=name, parts=[part], metadata=answer_metadata)

    def _make_artifact_update(self, artifact: Artifact, *, append: bool) -> Update:
        return TaskArtifactUpdateEvent(
            task_id=str(self._id), context_id=self._id.thread_id, artifact=artifact, append=append
        )

    def _make_status_update(self, kind: str | None, text: str | None, metadata: dict[str, Any]) -> Update:
        """Return an update of a task in progress.

        It has ``text`` as a message, whose id is derived from ``kind``, unless one of them is None.
        """
        timestamp = Timestamp()
        timestamp.FromDatetime(self._clock.now())
        message = (
            make_agent_message(self._id, kind, [Part(text=text)]) if kind is not None and text is not None else None
        )
        return TaskStatusUpdateEvent(
            task_id=str(self._id),
            context_id=self._id.thread_id,
            status=TaskStatus(state=STATES[TaskState.WORKING], timestamp=timestamp, message=message),
            metadata=to_struct({EXTENSION_URI: metadata}),
        )


POLL_SECONDS = 0.2
"""The time between the first two checks whether a task has changed. It doubles after each check."""
MAX_POLL_SECONDS = 2.0
"""The longest time between two such checks."""


class TaskFollower:
    """A stream of a task's updates for one caller."""

    def __init__(self, caller: A2ACaller, *, across_turns: bool) -> None:
        """With ``across_turns``, the stream continues while the task waits for input, until its state is final."""
        self._caller = caller
        self._across_turns = across_turns
        self._reader = TaskReader(caller.app.ports)

    async def follow(self, task: A2ATask, history: int | None = None) -> AsyncGenerator[A2AEvent, None]:
        """Yield the task, then its updates. Raises ``TokenExpired`` when the token expires during the stream.

        The stream ends when the task's state is final, and, unless it is followed across turns, when the task waits for
        answers or people answer it. It always ends after ``TURN_SECONDS``. Without a final state, the client knows that
        the task continues.
        """
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + TURN_SECONDS, POLL_SECONDS
        yield await to_task(task, self._caller.app.agents, self._caller.scope, history=history)
        active = (TaskState.SUBMITTED, TaskState.WORKING)
        while (task.state in active and (task.run_id is not None or not task.is_at_desk)) or (
            self._across_turns and not task.state.is_terminal
        ):
            if loop.time() >= deadline:
                return
            updates = Updates(task.id, self._caller.app.ports.clock)
            if task.run_id is not None and task.thread is not None:
                async for update in self._follow_run(task.thread, task.run_id, updates, deadline - loop.time()):
                    yield update
                pause = POLL_SECONDS
            else:
                self._check_token()
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_POLL_SECONDS)
                if not await self._reader.has_changed(self._caller.scope, task):
                    continue
            current = await self._reader.read(self._caller.scope, task.id)
            if current is None:
                return
            for update in _list_changes(task, current, updates):
                pause = POLL_SECONDS
                yield update
            task = current

    async def _follow_run(
        self, thread: Thread, run_id: str, updates: Updates, seconds: float
    ) -> AsyncGenerator[A2AEvent, None]:
        """Yield the updates of a run from its beginning, for at most ``seconds``."""
        caller, app = self._caller, self._caller.app
        when_dead = await revive(app, caller.scope, thread, caller.request_id)
        following = app.follower.follow(
            caller.scope, thread.id, after=thread.last_seq, seconds=seconds, when_dead=when_dead
        )
        async with contextlib.aclosing(following):
            async for replay in following:
                self._check_token()
                for event in replay.events:
                    if event.run_id != run_id:
                        continue
                    if event.type in ENDS:
                        return
                    for update in updates.of(event):
                        yield update

    def _check_token(self) -> None:
        """Raise ``TokenExpired`` if the caller's token has expired. The run continues."""
        if asyncio.get_running_loop().time() >= self._caller.ends_at:
            raise TokenExpired


def _list_changes(before: A2ATask, now: A2ATask, updates: Updates) -> Iterator[Update]:
    """Yield the changes since ``before``: the messages of runs that have ended, and the state if it is new."""
    run_ids = dict.fromkeys(message.run_id for message in now.messages if message.run_id in now.runs - before.runs)
    for run_id in run_ids:
        yield from updates.list_unsent(now, run_id)
    has_left = before.run_id is not None and before.run_id != now.run_id
    if run_ids or has_left or now.state is not before.state:
        yield updates.end(now)
