"""The starting points of branches: messages, windows and state of a conversation as they were at a message."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from baton.domain.errors import BranchCrossesHandoff, BranchUnavailable, NotRegenerable
from baton.domain.handoffs.handoff import ContextMode, HandoffOutcome
from baton.domain.tenants.identity import Scope
from baton.domain.threads.branches import ROOT, BranchRequest, BranchStart, check_room
from baton.domain.threads.content import Content
from baton.domain.threads.history_window import select_on_path
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.running_conversation import RunningConversation
from baton.domain.threads.thread import ConversationState, Thread
from baton.ports.threads.messages import Page
from baton.ports.threads.threads import ThreadStore
from baton.threads.handoffs.conversation_states import ConversationStates

PAGE = 20
"""The number of messages in a page."""
MAX_PAGES = 10
"""The most pages that are read to find the agent that was active at a message, or a message that began no turn."""
MAX_CHECKED = 100
"""The largest number of messages in a page that is searched for messages of people."""
MAX_CHECKED_PAGES = 200
"""The most pages that are searched for messages of people."""


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """A thread as the next message finds it when it continues from an earlier message."""

    thread: Thread
    after_id: str | None
    """The id of the last shown message that both branches have in common; None if there is none."""
    departed: RunningConversation | None = None
    """The conversation with its earlier data, and without a handoff that began later; None if nothing changes."""


@dataclass(frozen=True, slots=True)
class BranchOpening:
    """The start of a run that begins a branch."""

    point: BranchPoint
    start: BranchStart
    content: Content
    a2a_task: str | None


@dataclass(frozen=True, slots=True)
class BranchPoints:
    """The points of a thread that branches begin at and end at."""

    store: ThreadStore
    conversations: ConversationStates

    async def open_branch(
        self, scope: Scope, thread: Thread, request: BranchRequest, content: Content
    ) -> BranchOpening:
        """Return the start of the run that ``request`` asks for.

        Raises ``BranchUnavailable``, ``NotRegenerable``, ``TooManyBranches`` and ``BranchCrossesHandoff``.
        """
        if thread.conversation.desk is not None:
            raise NotRegenerable
        message = await self._find_message(scope, thread, request.from_id)
        await self._check_people(scope, thread, message)
        check_room(thread.segments, thread.next_ordinal)
        point = await self.find_after(
            scope, thread, thread.continue_from(message.ordinal).path.find_previous(message.ordinal)
        )
        requested_id = request.from_id if request.from_id != message.shown_id else None
        start = BranchStart(message.shown_id, request.is_regenerate, point.after_id, requested_id)
        if request.is_regenerate:
            return BranchOpening(point, start, message.content, message.a2a_task)
        return BranchOpening(point, start, content, None)

    async def find_after(self, scope: Scope, thread: Thread, ordinal: int) -> BranchPoint:
        """Return the thread in the state in which a next message continues from the message ``ordinal``.

        A handoff that began later is left: the main agent answers, and the workflow can be continued. Raises
        ``BranchCrossesHandoff`` for a conversation at a desk, if a specialist was active at the message whose work has
        continued or cannot be resumed, and if the messages do not show which agent was active.
        """
        if thread.conversation.desk is not None:
            raise BranchCrossesHandoff
        continued = thread.continue_from(ordinal)
        continued = replace(continued, windows=select_on_path(thread.windows, continued.path))
        after_id, state = await self._find_last_shown(scope, continued)
        current = thread.conversation
        if state is None:
            raise BranchCrossesHandoff
        data = await self._find_data(scope, continued) if current.data is not None else None
        if (state.handoff, state.workflow) == (current.handoff, current.workflow):
            if current.handoff is not None and _keeps_messages_elsewhere(await self.conversations.load(thread, scope)):
                raise BranchCrossesHandoff
            if data == current.data:
                return BranchPoint(continued, after_id)
            conversation = (await self.conversations.load(thread, scope)).with_data(data)
            return BranchPoint(replace(continued, conversation=conversation.to_store), after_id, conversation)
        if state.handoff is not None:
            raise BranchCrossesHandoff
        running = await self.conversations.load(thread, scope)
        conversation = self.conversations.leave(running, HandoffOutcome.CLOSED).with_data(data)
        return BranchPoint(replace(continued, conversation=conversation.to_store), after_id, conversation)

    async def read_thread_before(self, scope: Scope, thread: Thread, ordinal: int) -> Thread:
        """Return the thread as it was before the message ``ordinal``: its path, windows and conversation state.

        The main agent counts as active unless the messages show another active agent.
        """
        before = thread.continue_from(thread.continue_from(ordinal).path.find_previous(ordinal))
        before = replace(before, windows=select_on_path(thread.windows, before.path), pending=None)
        _, state = await self._find_last_shown(scope, before)
        data = await self._find_data(scope, before) if thread.conversation.data is not None else None
        return replace(before, conversation=replace(state or ConversationState(thread.agent_id), data=data))

    async def find_last_shown_id(self, scope: Scope, thread: Thread) -> str | None:
        """Return the id of the last message of the path that clients show; None if the newest pages have none."""
        async for page in read_pages(self.store, scope, thread, limit=PAGE, most=MAX_PAGES):
            for message in reversed(page.messages):
                if message.is_shown:
                    return message.shown_id
        return None

    async def _find_message(self, scope: Scope, thread: Thread, message_id: str) -> StoredMessage:
        """Return a user's message of the thread.

        Raises ``BranchUnavailable`` if there is none, and ``NotRegenerable`` for the message of a person at a desk.
        """
        turn = await self.store.get_turn(scope, thread.id, message_id)
        if turn is not None and turn.first_ordinal < thread.next_ordinal:
            first = turn.first_ordinal
            stored_messages = await self.store.run_messages(scope, thread.id, first_ordinal=first, below=first + 1)
            if stored_messages and stored_messages[0].id == message_id and _is_users_question(stored_messages[0]):
                return stored_messages[0]
            if stored_messages and stored_messages[0].author is not None:
                raise NotRegenerable
        # Imported messages and those of a fork's parent began no turn here.
        async for page in read_pages(self.store, scope, thread, limit=PAGE, most=MAX_PAGES):
            for message in page.messages:
                if message.id == message_id and _is_users_question(message):
                    return message
        raise BranchUnavailable

    async def _check_people(self, scope: Scope, thread: Thread, message: StoredMessage) -> None:
        """Raise ``NotRegenerable`` if a branch in place of ``message`` would replace messages of people or to people.

        The check covers the run of ``message``, and the messages of the present path that the branch does not share.
        """
        common = thread.continue_from(message.ordinal).path.cut(message.ordinal)
        if message.ordinal not in thread.path:
            top = thread.next_ordinal
            run = await self.store.run_messages(scope, thread.id, first_ordinal=message.ordinal, below=top)
            if any(_is_of_people(other_message) for other_message in run):
                raise NotRegenerable
        distance = max(1, thread.next_ordinal - max(common.last, 0))
        async for page in read_pages(
            self.store, scope, thread, limit=min(distance, MAX_CHECKED), most=MAX_CHECKED_PAGES
        ):
            for other_message in reversed(page.messages):
                if other_message.ordinal in common:
                    return
                if _is_of_people(other_message):
                    raise NotRegenerable

    async def _find_last_shown(self, scope: Scope, thread: Thread) -> tuple[str | None, ConversationState | None]:
        """Return the id of the last shown message of the path, and the state after it; None for an unknown one."""
        after_id: str | None = None
        state: ConversationState | None = None
        main = replace(thread.conversation, agent_id=thread.agent_id, handoff=None, workflow=None)
        is_main_alone = True
        async for page in read_pages(self.store, scope, thread, limit=PAGE, most=MAX_PAGES):
            for message in reversed(page.messages):
                if after_id is None and message.is_shown:
                    after_id = message.shown_id
                if state is None and message.end is not None and message.end.change is not None:
                    state = message.end.change.conversation
                if state is None and message.agent_id == thread.agent_id and after_id is not None:
                    state = main  # the run of an agent that changes nothing leaves that agent active
                is_main_alone = is_main_alone and message.agent_id is None
                if state is not None and after_id is not None:
                    return after_id, state
            if page.next_before is None:
                return after_id, state or main
        return after_id, state or (main if is_main_alone else None)

    async def _find_data(self, scope: Scope, thread: Thread) -> Mapping[str, Any] | None:
        """Return the tools' data at the end of the path, from the last run that changed the state; None if none."""
        async for page in read_pages(self.store, scope, thread, limit=PAGE, most=MAX_PAGES):
            for message in reversed(page.messages):
                if message.end is not None and message.end.change is not None:
                    return message.end.change.conversation.data
            if page.next_before is None:
                return None
        return thread.conversation.data if thread.path.last != ROOT else None


def _is_users_question(message: StoredMessage) -> bool:
    """Return whether the user has begun a run with the message. Runs that began by themselves have no branches."""
    return message.is_question and message.is_own


def _is_of_people(message: StoredMessage) -> bool:
    """Return whether a person of a desk has written the message, or its run has delivered a message to people."""
    is_delivered = message.end is not None and message.end.outcome is OutcomeType.DELIVERED
    return message.author is not None or is_delivered


async def read_pages(store: ThreadStore, scope: Scope, thread: Thread, *, limit: int, most: int) -> AsyncIterator[Page]:
    """Yield at most ``most`` pages of ``limit`` messages of the thread's path, the newest first."""
    before: int | None = None
    for _ in range(most if thread.path.last != ROOT else 0):
        page = await store.read_messages(scope, thread, limit=limit, before=before)
        yield page
        before = page.next_before
        if before is None:
            return


def _keeps_messages_elsewhere(conversation: RunningConversation) -> bool:
    """Return whether the active specialist keeps its messages in a fork or in a remote system."""
    handoff = conversation.handoff
    is_forked = handoff is not None and handoff.context_mode is ContextMode.FORKED
    return is_forked or conversation.agent.remote is not None
