"""The message histories of the agents that speak in a run, and the windows that the thread keeps of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from baton.agents.attempt_context import Attempt
from baton.agents.call_outcome import AgentResult
from baton.domain.handoffs.handoff import ContextMode, HandoffRequest
from baton.domain.threads.history_window import HistoryWindow, SummaryDue, find_window, name_session
from baton.domain.threads.message import Role
from baton.memory.prompt.context import compute_reading_budget
from baton.memory.prompt.history_reading import ReadHistory, find_session_start, read_history, select_granted_messages
from baton.memory.prompt.history_window import Exchange, WindowedHistory, find_next_start
from baton.ports.threads.threads import ThreadStore
from baton.threads.handoffs.conversation_states import ConversationStates
from baton.threads.handoffs.forks import Forks, derive_fork_id


@dataclass(frozen=True, slots=True)
class DialogueServices:
    """The services that a dialogue uses to read threads, forks and workflows."""

    store: ThreadStore
    conversations: ConversationStates
    forks: Forks


class AgentHistories:
    """The history of the active agent, and the windows that the thread keeps."""

    def __init__(self, attempt: Attempt, services: DialogueServices) -> None:
        self._attempt = attempt
        self._facts = attempt.facts
        self._services = services
        self._tracker = attempt.tracker
        self._last_read: tuple[str, HandoffRequest | None, ReadHistory] | None = None
        """The agent and the handoff of the last read, and its result."""

    @property
    def window(self) -> HistoryWindow:
        """The active agent's window, as it was before the run."""
        return find_window(self._facts.thread.windows, self._tracker.current.agent.id, self._session)

    async def read(self) -> ReadHistory:
        """Return the earlier messages that the active agent may see. The result is kept for the same handoff."""
        current = self._tracker.current
        if self._last_read is None or self._last_read[:2] != (current.agent.id, current.handoff):
            self._last_read = current.agent.id, current.handoff, await self._read_granted()
        return self._last_read[2]

    async def _read_granted(self) -> ReadHistory:
        """Return the messages of the active agent's fork, those that its handoff grants, or all without a handoff."""
        conversation, window = self._tracker.current, self.window
        handoff = conversation.handoff
        if handoff is None:
            was_active = self._facts.thread.conversation.handoff is None
            return self._attempt.history if was_active else await self._read(window)
        if handoff.context_mode is ContextMode.FORKED and not conversation.was_handed_over_by(self._facts.question):
            return await self._services.forks.read_fork(self._attempt.scope, handoff, window, token_budget=self._budget)
        history = self._attempt.history
        if conversation.was_handed_over_by(self._facts.question):
            # The history was read for another agent: its budget may be smaller, and its summary is not for this agent.
            is_full = handoff.context_mode is ContextMode.FULL
            history = await self._read(window) if is_full else ReadHistory(history.messages)
        return replace(history, messages=select_granted_messages(handoff, history.messages))

    def compute_windows(self, results: Sequence[AgentResult]) -> tuple[HistoryWindow, ...]:
        """Return the windows of the histories of the main and the active agent after the run."""
        windows = {(window.agent_id, window.session): window for window in self._facts.thread.windows}
        for window in self._find_used_windows(results):
            windows[window.agent_id, window.session] = window
        empty = {HistoryWindow(window.agent_id, window.session) for window in windows.values()}
        kept_sessions = {"", self._session}
        return tuple(window for window in windows.values() if window.session in kept_sessions and window not in empty)

    def find_summary_due(self, results: Sequence[AgentResult]) -> SummaryDue | None:
        """Return the messages to summarise for the agent that spoke last: those that left its history, or will soon.

        Return None if there are none, or if the agent gets no summaries.
        """
        last = results[-1] if results else None
        if last is None or last.history is None or last.waiting or not last.agent.memory.summary:
            return None
        window, handoff = last.history.window, self._tracker.current.handoff
        if window.session != self._session:
            return None  # the agent has handed the conversation on
        thread_id, since = self._facts.thread.id, find_session_start(handoff)
        messages = (self._facts.question,) if self._facts.question.role is Role.USER else ()
        exchange = Exchange((*self._facts.unfinished, *messages, *self._attempt.transcript.messages))
        below = find_next_start(last.history, exchange)
        if handoff is not None and handoff.context_mode is ContextMode.FORKED:
            if self._tracker.current.was_handed_over_by(self._facts.question):
                return None  # the fork is yet to be written
            thread_id, below = derive_fork_id(handoff), None  # the run's messages have other ordinals in the fork
        if below is None and window.first_ordinal > max(since, window.summary_at or 0):
            below = window.first_ordinal
        return SummaryDue(thread_id, window.agent_id, below, since, window.summary_at) if below is not None else None

    @property
    def _session(self) -> str:
        handoff = self._tracker.current.handoff
        return name_session(handoff.place if handoff is not None else None)

    @property
    def _budget(self) -> int:
        return compute_reading_budget(
            self._tracker.current.agent, self._facts.question.tokens, self._attempt.services.counter
        )

    def _find_used_windows(self, results: Sequence[AgentResult]) -> Iterator[HistoryWindow]:
        """Yield the windows of the agents that spoke, except that of a fork whose messages are not written yet."""
        handoff = self._tracker.current.handoff
        for result in results:
            if result.history is None:
                continue
            window = result.history.window
            if handoff is None or window.session != name_session(handoff.place):
                yield window
            elif handoff.context_mode is not ContextMode.FORKED:
                yield _begin_at_first(window, result.history, handoff)
            elif not self._tracker.current.was_handed_over_by(self._facts.question):
                yield window

    async def _read(self, window: HistoryWindow) -> ReadHistory:
        """Read the history again, for an agent that has become active in this run."""
        return await read_history(
            self._services.store,
            self._attempt.scope,
            self._facts.thread,
            window,
            token_budget=self._budget,
            before=self._facts.unfinished[0].ordinal if self._facts.unfinished else None,
        )


def _begin_at_first(window: HistoryWindow, history: WindowedHistory, handoff: HandoffRequest) -> HistoryWindow:
    """Return a specialist's window from the first message that it sees, so that no older one is read again."""
    first = history.included[0].first_ordinal if history.included else handoff.ordinal
    return replace(window, first_ordinal=max(window.first_ordinal, first))
