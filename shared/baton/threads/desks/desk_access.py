"""The people of desks, and the conversations that they may read and answer."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent import AgentDefinition, is_desk
from baton.domain.agents.handoff_rules import list_needed_permissions
from baton.domain.cursors import decode, encode
from baton.domain.desks.desk_session import DeskSession, DeskStatus, Person
from baton.domain.errors import Forbidden, InvalidRequest, NotAtDesk, ThreadUnavailable
from baton.domain.handoffs.handoff import HandoffRequest
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread, ThreadStatus
from baton.domain.threads.turn_requests import ActionRequest
from baton.domain.times import from_millis, to_millis
from baton.ports.memory.episodes import Episodes
from baton.ports.tenants.audit import AuditLog, Once
from baton.ports.threads.desks import DeskPlace, DeskPlaces
from baton.ports.threads.handoffs import HandoffStore
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.threads import ThreadStore
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.tenants.registry.registered_agents import RegisteredAgents
from baton.threads.requests.thread_access import audit_read

HANDOFFS = 20
"""The number of newest handoffs that are read to find a conversation's visits to desks."""
MAX_SEARCHED = 500
"""Conversations after which a page of a list ends, whether they match or not."""
MAX_NOTES = 100
"""The largest number of notes that are shown."""
PAGE = 100
"""The number of messages in a page."""
MAX_PAGES = 10
"""The most pages of a session that are searched for its notes."""


MakeRequest = Callable[[Thread, DeskSession], ActionRequest]
"""A function that returns the request that ends a thread's visit to a desk."""


@dataclass(frozen=True, slots=True)
class AtDesk:
    """A conversation at one of the caller's desks."""

    thread: Thread
    session: DeskSession
    desk: AgentDefinition
    owner: Scope
    """The scope of the thread's user, in which runs are carried out. It has no permissions."""


@dataclass(frozen=True, slots=True)
class DeskAccess:
    """The access of people to conversations at their desks. Other callers learn nothing of these conversations."""

    store: ThreadStore
    places: DeskPlaces
    handoffs: HandoffStore
    episodes: Episodes
    agents: AgentRegistry
    audit: AuditLog

    async def list_desks(self, scope: Scope) -> list[AgentDefinition]:
        """Return the desks that the caller may answer, by id."""
        return [agent for agent in (await self.agents.in_force(scope)).all() if may_answer(scope, agent)]

    async def list_transfer_targets(self, at_desk: AtDesk) -> list[AgentDefinition]:
        """Return the desks to which a conversation can be transferred: all others that its user may talk to.

        Only tokens have a user's permissions, so the token of the user's last message or request counts.
        """
        agents = await self.agents.in_session(at_desk.owner, at_desk.thread)
        main, permissions = agents.get_main(at_desk.thread), frozenset(at_desk.session.permissions)
        desks = (agent for agent in agents.all() if is_desk(agent) and agent.id != at_desk.desk.id)
        return [desk for desk in desks if permissions.issuperset(list_needed_permissions(main, desk))]

    async def find(self, scope: Scope, thread_id: str, action: str) -> AtDesk:
        """Return a conversation at one of the caller's desks; refusals are audited as ``action``.

        Raises ``Forbidden``, ``NotAtDesk`` for a conversation that has left them, or that the caller may read and that
        is at no desk, and ``ThreadUnavailable`` for any other. These cases make the same reads, so that the time of a
        refusal reveals nothing.
        """
        scope.require(Permission.DESK_ANSWER, action)
        agents, outcome = await self.agents.in_force(scope), "denied"
        thread: Thread | None = None
        try:
            thread = await self.store.get_thread(_make_reader(scope), thread_id)
        except ThreadUnavailable as refusal:
            outcome = refusal.audited_as
        at_desk = _find_at_desk(scope, agents, thread)
        if at_desk is not None:
            return at_desk
        is_visible = thread is not None and (scope.has(Permission.THREAD_READ_ALL) or thread.user_id == scope.user_id)
        is_at_none = thread is not None and thread.conversation.desk is None
        if await self._has_been_here(scope, agents, thread_id) or (is_visible and is_at_none):
            raise NotAtDesk
        await self.audit.record(scope, action, thread_id=thread_id, outcome=outcome, detail={})
        raise ThreadUnavailable

    async def find_written_message(
        self, scope: Scope, thread_id: str, message_id: str, *, at_desk: AtDesk | None
    ) -> StoredMessage | None:
        """Return the caller's reply or note with the id ``message_id``; None if there is none.

        ``at_desk`` is the conversation; None if it has left the desk, where the message can still be found.
        """
        thread = at_desk.thread if at_desk is not None else await self._read_thread(scope, thread_id)
        if thread is None:
            return None
        owner = Scope(scope.tenant_id, thread.user_id)
        turn = await self.store.get_turn(owner, thread_id, message_id)
        message = await self._read_first_message(owner, thread, turn)
        is_own = message is not None and message.author is not None and message.author.id == scope.user_id
        return message if is_own else None

    async def find_left_thread(
        self, scope: Scope, thread_id: str, make_request: MakeRequest, *, transferred_to: str | None = None
    ) -> Thread | None:
        """Return the thread if the caller has already ended its last visit to a desk by this request; otherwise None.

        ``make_request`` returns the request for a visit. ``transferred_to`` is the desk that the request transfers to,
        where the conversation may be by now.
        """
        thread = await self._read_thread(scope, thread_id)
        if thread is None:
            return None
        agents, owner = await self.agents.in_force(scope), Scope(scope.tenant_id, thread.user_id)
        handoffs, _ = await self.handoffs.of_thread(owner, thread_id, limit=HANDOFFS, cursor=None)
        visits = [handoff for handoff in handoffs if is_desk(agents.describe(handoff.target_agent_id))]
        if transferred_to is not None:
            visits = visits[1:] if visits and visits[0].target_agent_id == transferred_to else []
        if not visits:
            return None
        handoff = visits[0]
        visiting = replace(thread, conversation=replace(thread.conversation, handoff=handoff.place))
        request = make_request(visiting, DeskSession(handoff.started_at, handoff.started_at))
        turn = await self.store.get_turn(owner, thread_id, request.message_id)
        is_same = turn is not None and turn.digest == request.digest
        return thread if is_same and await self._read_first_message(owner, thread, turn) is not None else None

    async def _read_first_message(self, owner: Scope, thread: Thread, turn: TurnRecord | None) -> StoredMessage | None:
        """Return the first message of the turn's run; None if the run has not been committed."""
        if turn is None or turn.first_ordinal >= thread.next_ordinal:
            return None
        first_ordinal = turn.first_ordinal
        messages = await self.store.run_messages(
            owner, thread.id, first_ordinal=first_ordinal, below=thread.next_ordinal
        )
        return messages[0] if messages and messages[0].id == turn.message_id else None

    async def read(self, scope: Scope, thread_id: str, *, once: Once | None = None) -> Thread | None:
        """Return a conversation at one of the caller's desks, readable from its session on; None if at none of them.

        Reads are audited, those with the same ``once`` only once.
        """
        at_desk = _find_at_desk(scope, await self.agents.in_force(scope), await self._read_thread(scope, thread_id))
        if at_desk is None:
            return None
        thread = at_desk.thread
        await audit_read(self.audit, scope, thread_id, thread.user_id, "thread.read", once=once)
        return replace(thread, first_readable=thread.episode_first_ordinal)

    async def find_taken_conversation(self, scope: Scope, thread_id: str) -> AtDesk | None:
        """Return a conversation that the caller has taken; None for any other."""
        at_desk = _find_at_desk(scope, await self.agents.in_force(scope), await self._read_thread(scope, thread_id))
        return at_desk if at_desk is not None and at_desk.session.is_taken_by(scope.user_id) else None

    async def find_closed_episode_id(self, scope: Scope, thread_id: str) -> str | None:
        """Return the id of a closed conversation's last episode if the caller closed its session; None otherwise."""
        thread = await self._read_thread(scope, thread_id)
        if thread is None or thread.status is not ThreadStatus.CLOSED:
            return None
        ref = await self.episodes.get_ref(Scope(scope.tenant_id, thread.user_id), thread_id, thread.episode - 1)
        is_own = ref is not None and ref.closed_by is not None and ref.closed_by.id == scope.user_id
        return ref.id if ref is not None and is_own else None

    async def read_handoff(self, at_desk: AtDesk) -> HandoffRequest | None:
        """Return the handoff with which a conversation came to its desk; None if it is not stored."""
        handoff_place = at_desk.thread.conversation.handoff
        if handoff_place is None:
            return None
        return await self.handoffs.get(at_desk.owner, at_desk.thread.id, handoff_place)

    async def read_notes(self, at_desk: AtDesk) -> list[StoredMessage]:
        """Return the newest notes of the current session, oldest first. Raises ``StoreUnavailable``."""
        thread = replace(at_desk.thread, first_readable=at_desk.thread.episode_first_ordinal)
        notes: list[StoredMessage] = []
        before: int | None = None
        for _ in range(MAX_PAGES):
            page = await self.store.read_messages(at_desk.owner, thread, limit=PAGE, before=before)
            notes, before = [*(message for message in page.messages if message.is_note), *notes], page.next_before
            if before is None or len(notes) >= MAX_NOTES:
                break
        return notes[-MAX_NOTES:]

    async def find_first_readable(self, scope: Scope, thread: Thread, after: int) -> int:
        """Return the sequence number after which the reader of ``thread`` may read: ``after``, or a higher one.

        People of a desk may not read earlier sessions.
        """
        first = thread.first_readable
        if first is None:
            return after
        messages = await self.store.run_messages(scope, thread.id, first_ordinal=first, below=thread.next_ordinal)
        end = messages[-1].end if messages else None
        return max(after, end.first_seq - 1 if end is not None else thread.last_seq)

    async def list_threads(
        self,
        scope: Scope,
        *,
        status: DeskStatus | None,
        is_mine: bool,
        desk_id: str | None,
        limit: int,
        cursor: str | None,
    ) -> tuple[Sequence[Thread], str | None]:
        """Return the conversations at the caller's desks in the order of their arrival, and the next cursor or None.

        A page that ends after ``MAX_SEARCHED`` may have fewer than ``limit`` and still be followed by another. Raises
        ``Forbidden`` and ``InvalidRequest``.
        """
        scope.require(Permission.DESK_ANSWER, "desk.list")
        desks = [desk.id for desk in await self.list_desks(scope) if desk_id in (None, desk.id)]
        if desk_id is not None and not desks:
            raise Forbidden(f"You answer for no desk {desk_id[:80]!r}.", action="desk.list")
        after = _decode_cursor(cursor) if cursor is not None else None
        threads: list[Thread] = []
        read_count = 0
        while True:
            page = await self._read_page(scope, desks, limit + 1, after)
            read_count += len(page)
            threads += [thread for thread in page if _matches(thread, status, scope.user_id if is_mine else None)]
            if len(threads) > limit:
                return threads[:limit], _encode_cursor(threads[limit - 1])
            if len(page) <= limit:
                return threads, None
            if read_count >= MAX_SEARCHED:
                return threads, _encode_cursor(page[-1])
            after = _make_position(page[-1])

    async def _read_page(
        self, scope: Scope, desks: Collection[str], limit: int, after: DeskPlace | None
    ) -> Sequence[Thread]:
        """Return the first conversations of all ``desks`` together after a position."""
        lists = await gather_all(
            *(
                self.places.threads(
                    scope, desk_id, limit=limit, after=replace(after, desk_id=desk_id) if after is not None else None
                )
                for desk_id in desks
            )
        )
        return list(heapq.merge(*lists, key=_make_sort_key))[:limit]

    async def _has_been_here(self, scope: Scope, agents: RegisteredAgents, thread_id: str) -> bool:
        """Return whether the conversation was at a desk of the caller's, by its newest handoffs."""
        handoffs, _ = await self.handoffs.of_thread(scope, thread_id, limit=HANDOFFS, cursor=None)
        desks = (agents.describe(handoff.target_agent_id) for handoff in handoffs)
        return any(desk is not None and may_answer(scope, desk) for desk in desks)

    async def _read_thread(self, scope: Scope, thread_id: str) -> Thread | None:
        """Return a thread of the tenant if it exists and the caller may answer desks; None otherwise."""
        if not scope.has(Permission.DESK_ANSWER):
            return None
        try:
            return await self.store.get_thread(_make_reader(scope), thread_id)
        except ThreadUnavailable:
            return None


def may_answer(scope: Scope, agent: AgentDefinition) -> bool:
    """Return whether the caller is one of the people of a desk; False for an agent that is not a desk."""
    if agent.desk is None or not scope.has(Permission.DESK_ANSWER):
        return False
    return agent.desk.permission is None or scope.has(agent.desk.permission)


def _find_at_desk(scope: Scope, agents: RegisteredAgents, thread: Thread | None) -> AtDesk | None:
    """Return the thread as it is at one of the caller's desks; None if it is at none of them."""
    session = thread.conversation.desk if thread is not None else None
    desk = agents.describe(thread.active_agent_id) if thread is not None else None
    if thread is None or session is None or desk is None or not may_answer(scope, desk):
        return None
    return AtDesk(thread, session, desk, Scope(scope.tenant_id, thread.user_id))


def make_person(scope: Scope) -> Person:
    """Return the caller as the person that users see at a desk."""
    return Person(scope.user_id, scope.name or scope.user_id, scope.picture)


def _make_reader(scope: Scope) -> Scope:
    """Return the scope that reads every thread of the tenant: the state of the thread decides who may answer it."""
    return replace(scope, permissions=scope.permissions | {Permission.THREAD_READ_ALL})


def _matches(thread: Thread, status: DeskStatus | None, person_id: str | None) -> bool:
    session = thread.conversation.desk
    if session is None or (person_id is not None and not session.is_taken_by(person_id)):
        return False
    return status is None or session.status is status


def _make_position(thread: Thread) -> DeskPlace:
    desk_place = DeskPlace.of(thread.id, thread.conversation)
    assert desk_place is not None  # noqa: S101 - lists hold threads at desks only
    return desk_place


def _make_sort_key(thread: Thread) -> tuple[int, str]:
    desk_place = _make_position(thread)
    return to_millis(desk_place.arrived_at), thread.id


def _encode_cursor(thread: Thread) -> str:
    at, thread_id = _make_sort_key(thread)
    return encode({"at": at, "id": thread_id})


def _decode_cursor(cursor: str) -> DeskPlace:
    match decode(cursor):
        case {"at": int(at), "id": str(thread_id)} if 0 <= at < 10**14:
            return DeskPlace("", thread_id, from_millis(at))
    raise InvalidRequest("cursor was not handed out by this list.")
