"""Turns that have ended, with the state of their thread before their message."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import NotFound, RerunUnavailable
from baton.domain.handoffs.handoff import ContextMode
from baton.domain.handoffs.workflow import Workflow
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.running_conversation import RunningConversation
from baton.domain.threads.thread import ConversationState, Thread
from baton.domain.threads.thread_state import Describe
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.threads import ThreadStore
from baton.threads.handoffs.conversation_states import ConversationStates
from baton.turns.branch_points import BranchPoints, read_pages

PAGE = 100
"""The number of messages in a page."""
MAX_PAGES = 200
"""The most pages that are searched for a turn whose message is not named: the newest 20,000 messages."""
UNKNOWN = (
    "This conversation has no such turn. It may never have had it, or retention may have removed it. A turn before the "
    "newest 20,000 messages is found by its messageId."
)


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn that began with a message and has ended."""

    thread: Thread
    """The thread as the message found it: its path and its state end before the message."""
    question: StoredMessage
    record: TurnRecord | None
    """The accepted message; None if the turn was imported."""


@dataclass(frozen=True, slots=True)
class PastTurns:
    """Turns that have ended."""

    store: ThreadStore
    conversations: ConversationStates

    async def find(self, scope: Scope, thread: Thread, run_id: str, message_id: str | None) -> PastTurn:
        """Return the turn of a run. With ``message_id`` no search for its message is needed.

        Raises ``NotFound``, and ``RerunUnavailable`` for a turn that has not ended or began with no message.
        """
        if thread.run is not None and thread.run.run_id == run_id:
            raise RerunUnavailable("This turn has not ended yet.")
        question = await self._read_first_message(scope, thread, run_id, message_id)
        if question is None:
            raise NotFound(UNKNOWN)
        if question.role is not Role.USER:
            raise RerunUnavailable(
                "This turn began with no message: it went on after an approval or a tool of the user's application, or "
                "carried out an action."
            )
        run = await self.store.run_messages(scope, thread.id, first_ordinal=question.ordinal, below=thread.next_ordinal)
        if any(message.end is not None and message.end.outcome is OutcomeType.DELIVERED for message in run):
            raise RerunUnavailable("This message went to the people of a desk. No agent answers it.")
        thread_before = await BranchPoints(self.store, self.conversations).read_thread_before(
            scope, thread, question.ordinal
        )
        record = await self.store.get_turn(scope, thread.id, question.id)
        return PastTurn(thread_before, question, record)

    async def read_conversation(
        self, scope: Scope, turn: PastTurn, main: AgentDefinition, describe: Describe
    ) -> RunningConversation:
        """Return the conversation before the turn, with the agents that ``describe`` returns.

        Raises ``RerunUnavailable`` if its specialist or its handoff no longer exists, or if the specialist keeps its
        messages in a fork or elsewhere.
        """
        thread, state = turn.thread, turn.thread.conversation
        if state.handoff is None:
            return RunningConversation(thread, main, main, describe)
        agent = describe(state.agent_id)
        handoff = await self.conversations.read_handoff(thread, scope, None)
        if agent is None or handoff is None:
            raise RerunUnavailable("The agent that was active in this turn, or its handoff, no longer exists.")
        if agent.remote is not None or handoff.context_mode is ContextMode.FORKED:
            raise RerunUnavailable(
                "The agent that was active in this turn keeps its messages elsewhere: in another system, or in a "
                "fork. A dry run cannot read them."
            )
        return RunningConversation(
            thread,
            main,
            agent,
            describe,
            handoff=replace(handoff, outcome=None, ended_at=None),
            workflow=await self._read_workflow(scope, thread, state),
        )

    async def _read_first_message(
        self, scope: Scope, thread: Thread, run_id: str, message_id: str | None
    ) -> StoredMessage | None:
        """Return the first message of the run; None if the newest messages have none of the run."""
        if message_id is not None:
            record = await self.store.get_turn(scope, thread.id, message_id)
            if record is not None and record.run_id == run_id and record.first_ordinal < thread.next_ordinal:
                first = record.first_ordinal
                stored_messages = await self.store.run_messages(scope, thread.id, first_ordinal=first, below=first + 1)
                return next((message for message in stored_messages if message.run_id == run_id), None)
        stored_message: StoredMessage | None = None
        async for page in read_pages(self.store, scope, thread.unbranched, limit=PAGE, most=MAX_PAGES):
            for message in reversed(page.messages):
                if message.run_id == run_id:
                    stored_message = message
                elif stored_message is not None:
                    return stored_message
        return stored_message

    async def _read_workflow(self, scope: Scope, thread: Thread, state: ConversationState) -> Workflow | None:
        """Return the active workflow with its data before the turn; None if no workflow was active."""
        if state.workflow is None:
            return None
        async for page in read_pages(self.store, scope, thread, limit=PAGE, most=MAX_PAGES):
            for message in reversed(page.messages):
                change = message.end.change if message.end is not None else None
                for workflow in change.workflows if change is not None else ():
                    if workflow.id == state.workflow.id:
                        return workflow
        return state.workflow


def remove_turns(messages: Sequence[StoredMessage], left_out: Collection[str]) -> list[StoredMessage]:
    """Return the messages without the turns that contain a message of ``left_out``.

    Whole turns are left out, so that a call and its result stay together.
    """
    runs = {message.run_id for message in messages if message.id in left_out or message.shown_id in left_out}
    return [message for message in messages if message.run_id not in runs]
