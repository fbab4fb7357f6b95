"""Any sequence of what users and models do: one agent is active, in a legal state, and nothing said is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from baton.domain.errors import (
    HandoffInProgress,
    LeaseLost,
    ModelUnavailable,
    NotInHandoff,
    StoreUnavailable,
    ThreadUnavailable,
    WorkflowUnavailable,
)
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.handoffs.workflow_definition import WorkflowDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.schemas.json_schema import find_problems, make_partial
from baton.domain.threads.events import Event
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.thread import EndReason, RunStatus, Thread
from baton.domain.threads.thread_state import describe_thread_state
from baton.threads.requests.parsing import make_continue_request, make_exit_request, parse_message_request
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents
from tests.contracts.conversing import LONGER_THAN_A_LEASE, NextFault, Screen, Worker, check_whole, with_permissions
from tests.contracts.handoff_agents import AGENTS, MAKERS, TRIGGERS
from tests.contracts.stores import Stores, new_thread_id
from tests.fakes.chat_model import Answer, ScriptedChatModel

DAY = 24 * 3600.0
threads = st.integers(0, 1)
sayings = st.sampled_from(["Hello", "Box", "Cancel!", "cancel", *TRIGGERS])


def _call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("c", name, json.dumps(arguments))


transfers = st.builds(
    lambda target: _call(f"transfer_to_{target}", reason="r", context_summary="s"),
    st.sampled_from(["maker", "helper", "baker", "locked", "assistant", "nobody"]),
)
advances = st.builds(
    lambda state, data: _call("advance_workflow", state=state, data=data),
    st.sampled_from(["ASK", "BUILD", "PAINT", "DONE", "MIX", "BAKE", "NOWHERE"]),
    st.sampled_from([{}, {"name": "Box"}, {"name": "Box", "colour": "red"}, {"name": 7}, {"size": 1}]),
)
onwards = st.sampled_from(
    [
        _call("advance_workflow", state="BUILD", data={"name": "Box", "colour": "red"}),
        _call("advance_workflow", state="DONE"),
    ]
)
others = st.sampled_from(
    [
        _call("return_to_main", summary="Done.", outcome="completed"),
        _call("end_conversation", reason="Over."),
        _call("no_such_tool"),
        ToolCall("c", "advance_workflow", "not json"),
    ]
)
calls = st.one_of(transfers, advances, onwards, others)
answers = st.one_of(
    st.sampled_from(["Well.", "Let me see."]).map(lambda text: Answer((text,))),
    st.builds(
        lambda value, text: Answer.calling(*value, text=text),
        st.lists(calls, min_size=1, max_size=3),
        st.sampled_from(["", "One moment."]),
    ),
    st.builds(lambda pieces: Answer(pieces, error=ModelUnavailable()), st.sampled_from([(), ("Half a",)])),
    st.just(Answer(())),
)
scripts = st.lists(answers, max_size=4)
faults = st.one_of(
    st.just(("none", 0)),
    st.tuples(st.sampled_from(["unavailable", "lost answer", "dead", "taken over"]), st.integers(0, 40)),
)
# An action's first words may be lost when one write of several fails: see ``unit/handoffs/test_handoff_deaths.py``.


class ConversationMachine(RuleBasedStateMachine):
    """One user with two conversations, agents that hand over to each other, and workers that die.

    A worker that died is followed by one that does not (two in a row: ``unit/handoffs/test_handoff_deaths.py``),
    and whatever was asked of it is asked again.
    """

    def __init__(self, make_stores: Callable[[], Stores]) -> None:
        super().__init__()
        self.stores = make_stores()
        self.runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self.shipped_agents = FakeShippedAgents(*AGENTS)
        self.model = ScriptedChatModel(otherwise=Answer(("What else?",)))
        self.fault = NextFault()
        self.worker = Worker(self.stores, self.shipped_agents, self.model, self.fault)
        self.second_worker = Worker(self.stores, self.shipped_agents, self.model, None)
        self.ids = [new_thread_id(), new_thread_id()]
        self.screens: dict[int, Screen] = {}
        """Of the threads that were begun."""
        self.redefined: set[int] = set()
        """Threads without an answer since another definition was deployed."""
        self.permissions: tuple[str, ...] = ("cave:enter", "things:make")
        self.number = 0

    def teardown(self) -> None:
        self.runner.close()

    # What users do

    @rule(at=threads, text=sayings, script=scripts, fault=faults, follows=st.none() | sayings)
    def say(self, at: int, text: str, script: list[Answer], fault: tuple[str, int], follows: str | None) -> None:
        self.screens.setdefault(at, Screen())
        self.act(at, self.saying(at, text), script, fault, self.saying(at, follows) if follows else None)

    @precondition(lambda self: self.screens)
    @rule(data=st.data(), script=scripts, fault=faults)
    def leave(self, data: st.DataObject, script: list[Answer], fault: tuple[str, int]) -> None:
        at = self.any_thread(data)
        request = make_exit_request(self.ids[at], key=self.new_key())
        self.act(at, lambda emit: self.turn(request, emit), script, fault)

    @precondition(lambda self: self.screens)
    @rule(data=st.data(), which=st.integers(0, 3), script=scripts, fault=faults)
    def take_up(self, data: st.DataObject, which: int, script: list[Answer], fault: tuple[str, int]) -> None:
        at = self.any_thread(data)
        existing = [
            item.workflow.id for item in self.runner.run(self.stores.workflows.list_unfinished(self.stores.ada))
        ]
        # Not drawn from what is known: that may differ when hypothesis tries the same again.
        workflow_id = [*existing, "unknown"][which % (len(existing) + 1)]
        request = make_continue_request(self.ids[at], workflow_id, key=self.new_key())
        self.act(at, lambda emit: self.turn(request, emit), script, fault)

    @precondition(lambda self: self.screens)
    @rule(data=st.data(), fault=faults)
    def close(self, data: st.DataObject, fault: tuple[str, int]) -> None:
        at = self.any_thread(data)

        async def closing(emit: Callable[[Event], None]) -> None:
            await self.worker.closer.close(self.stores.ada, self.ids[at], EndReason.USER_CLOSED, patience=5)

        self.act(at, closing, [], fault)

    @precondition(lambda self: self.screens)
    @rule(data=st.data())
    def go_away(self, data: st.DataObject) -> None:
        at = self.any_thread(data)
        self.stores.clock.advance(1800)

        async def time_is_over(emit: Callable[[Event], None]) -> None:
            seen = await self.stores.store.get_thread(self.stores.ada, self.ids[at])
            if seen.status == "active":
                await self.worker.endings.end_idle(self.stores.ada, seen)

        self.act(at, time_is_over, [], ("none", 0))

    @rule(days=st.sampled_from([1.5, 31]))
    def wait(self, days: float) -> None:
        self.stores.clock.advance(days * DAY)

    # What happens to them

    @rule(permissions=st.sampled_from([(), ("cave:enter",), ("things:make",), ("cave:enter", "things:make")]))
    def permit(self, permissions: tuple[str, ...]) -> None:
        self.permissions = permissions

    @rule(name=st.sampled_from(sorted(MAKERS)))
    def deploy(self, name: str) -> None:
        maker = MAKERS[name]
        self.shipped_agents.definitions.pop("maker", None)
        if maker is not None:
            self.shipped_agents.definitions["maker"] = maker
        self.redefined = set(self.screens)

    # How it is done

    def saying(self, at: int, text: str) -> Callable[[Callable[[Event], None]], Awaitable[object]]:
        scope = with_permissions(self.stores.ada, *self.permissions)
        request = parse_message_request(scope, thread_id=self.ids[at], message_id=self.new_key(), content=text)
        return lambda emit: self.turn(request, emit)

    async def turn(self, request: Any, emit: Callable[[Event], None]) -> object:
        scope = with_permissions(self.stores.ada, *self.permissions)
        return await self.worker.turns.run(scope, request, emit, seconds=20, patience=2)

    def act(
        self,
        at: int,
        request: Callable[[Callable[[Event], None]], Awaitable[object]],
        script: list[Answer],
        fault: tuple[str, int],
        follows: Callable[[Callable[[Event], None]], Awaitable[object]] | None = None,
    ) -> None:
        """Send the request to a worker that may fail; repeat it after a death of the worker, after ``follows``."""
        self.fault.clear()
        self.fault.kind, self.fault.calls = fault
        self.model.script(*script)
        self.runner.run(self._act(at, request, follows))
        self.model.forget()
        self.runner.run(self.check(at))

    async def _act(
        self,
        at: int,
        request: Callable[[Callable[[Event], None]], Awaitable[object]],
        follows: Callable[[Callable[[Event], None]], Awaitable[object]] | None,
    ) -> None:
        async def take_over() -> None:
            self.stores.clock.advance(LONGER_THAN_A_LEASE)
            await self.second_worker.turns.finish_interrupted(self.stores.ada, self.ids[at])

        self.fault.take_over, kind = take_over, self.fault.kind
        try:
            await self._done(request)
        except (LeaseLost, StoreUnavailable):
            assert self.fault.happened
            self.fault.clear()
            if kind != "unavailable" or await self._is_leased(at):
                self.stores.clock.advance(LONGER_THAN_A_LEASE)
            if follows is not None:
                await self._done(follows)
            await self._done(request)
        self.fault.clear()

    async def _is_leased(self, at: int) -> bool:
        """Return whether the failed worker may still hold the lease, which other workers then have to wait for."""
        try:
            run = (await self.thread(at)).run
        except ThreadUnavailable:
            return False
        return run is None or run.status is RunStatus.RUNNING

    @staticmethod
    async def _done(request: Callable[[Callable[[Event], None]], Awaitable[object]]) -> None:
        events: list[Event] = []
        try:
            await request(events.append)
        except (NotInHandoff, HandoffInProgress, WorkflowUnavailable):
            return
        if events:
            check_whole(events)

    # What must hold

    async def check(self, at: int) -> None:
        """Everything that readers find of the conversation ``at``, and what its client shows."""
        for other in self.screens:
            await self.check_conversation(other)
        thread = await self.thread(at)
        assert thread.run is None or thread.run.status is RunStatus.INTERRUPTED  # one that was refused
        screen = self.screens[at]
        replay = await self.second_worker.replays.replay_after(self.stores.ada, thread, screen.seq)
        assert replay.snapshot is None
        screen.show(replay.events)
        if any(event.type == "STATE_SNAPSHOT" for event in replay.events):
            self.redefined.discard(at)
        if screen.state and at not in self.redefined:
            assert screen.state == describe_thread_state(self.shipped_agents.get, thread).wire()
        messages = [m for m in await self.messages(thread) if m.role is Role.ASSISTANT and m.text]
        assert screen.texts == {message.id: message.text for message in messages}

    async def check_conversation(self, at: int) -> None:
        """Check that the thread has one active agent, by its only open handoff, and a legal workflow state."""
        thread = await self.thread(at)
        conversation = thread.conversation
        stored, _ = await self.stores.handoffs.of_thread(self.stores.ada, thread.id, limit=500, cursor=None)
        lasting = [request.place for request in stored if request.outcome is None]
        assert lasting == ([tuple(conversation.handoff)] if conversation.handoff is not None else [])
        if conversation.handoff is None:
            assert (conversation.agent_id, conversation.workflow) == (thread.agent_id, None)
        else:
            [request] = [request for request in stored if request.outcome is None]
            assert conversation.agent_id == request.target_agent_id != thread.agent_id
        if conversation.workflow is not None:
            assert conversation.workflow.agent_id == conversation.agent_id
            await self.check_workflow(thread, conversation.workflow)
        assert all(workflow.status is not WorkflowStatus.COMPLETED for workflow in conversation.resumable)

    async def check_workflow(self, thread: Thread, visible: Workflow) -> None:
        stored = await self.stores.workflows.find(self.stores.ada, visible.id)
        if stored is None or stored.thread_id != thread.id:
            return  # finished long ago, or it goes on elsewhere: the next message finds out
        assert stored.without_data() == visible
        assert stored.status in (WorkflowStatus.ACTIVE, WorkflowStatus.COMPLETED)
        definition = next(d for d in self.definitions(visible.agent_id) if d.version == stored.version)
        state = definition.find_state(stored.state)
        assert state is not None
        assert state.final is (stored.status is WorkflowStatus.COMPLETED)
        for item in definition.states[: definition.find_index(state.name) + 1]:
            if item.collects is not None:
                schema = make_partial(item.collects) if item.name == state.name else item.collects
                assert find_problems(schema, stored.data.get(item.name, {})) == []

    def definitions(self, agent_id: str) -> list[WorkflowDefinition]:
        """Every workflow that the agent ever led through."""
        existing = [*AGENTS, *(maker for maker in MAKERS.values() if maker is not None)]
        return [agent.workflow for agent in existing if agent.id == agent_id and agent.workflow is not None]

    async def thread(self, at: int) -> Thread:
        return await self.stores.store.get_thread(self.stores.ada, self.ids[at])

    async def messages(self, thread: Thread) -> list[StoredMessage]:
        """All of the thread's, in order and without gaps."""
        messages: list[StoredMessage] = []
        before: int | None = thread.next_ordinal
        while before:
            page = await self.stores.store.read_messages(self.stores.ada, thread, limit=100, before=before)
            messages, before = [*page.messages, *messages], page.next_before
        assert [message.ordinal for message in messages] == list(range(thread.next_ordinal))
        return messages

    def any_thread(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(sorted(self.screens)), "thread")

    def new_key(self) -> str:
        self.number += 1
        return f"m{self.number}"
