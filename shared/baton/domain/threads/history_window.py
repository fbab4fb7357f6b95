"""The beginning of an agent's message history in its prompts."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.handoffs.handoff import HandoffPlace
from baton.domain.threads.branches import MessagePath


@dataclass(frozen=True, slots=True)
class HistoryWindow:
    """The part of a thread's messages that an agent's prompts contain. The thread stores it between runs.

    It only moves forward, and rarely: until it moves, each prompt begins with the text of the previous prompt, as a
    provider's prompt cache requires.
    """

    agent_id: str
    session: str = ""
    """The handoff that made the agent active, as ``<ordinal>.<number>``; empty for the main agent."""
    first_ordinal: int = 0
    """The ordinal of the first message in the prompts. A specialist's fork has separate ordinals."""
    masked_below: int = 0
    """The ordinal below which the prompts have only the lengths of tool results."""
    summary_at: int | None = None
    """The ordinal of the message with which the summary of all earlier ones is stored; None without a summary."""


@dataclass(frozen=True, slots=True)
class SummaryDue:
    """Messages to summarise for an agent, because they have left its history or will soon."""

    thread_id: str
    """The thread of the messages: a specialist's fork, or the conversation itself."""
    agent_id: str
    below: int
    """The ordinal after the last of them. The summary is stored with the message there."""
    since: int = 0
    """The ordinal of the first message that the agent may see."""
    summary_at: int | None = None
    """The ordinal of the message with the earlier summary to continue; None if there is none."""


def name_session(handoff: HandoffPlace | None) -> str:
    """Return the ``HistoryWindow.session`` of the agent that a handoff has made active."""
    return f"{handoff.ordinal}.{handoff.number}" if handoff is not None else ""


def find_window(windows: tuple[HistoryWindow, ...], agent_id: str, session: str = "") -> HistoryWindow:
    """Return the window of an agent in its session; a window of all messages if none is stored."""
    fresh = HistoryWindow(agent_id, session)
    return next((window for window in windows if (window.agent_id, window.session) == (agent_id, session)), fresh)


def select_on_path(windows: tuple[HistoryWindow, ...], path: MessagePath) -> tuple[HistoryWindow, ...]:
    """Return the windows that are valid on a path: their first message and the message with their summary are on it.

    Two paths with a message in common have the same messages, and so the same summary, before it.
    """

    def is_valid(window: HistoryWindow) -> bool:
        begins_on_path = not window.first_ordinal or window.first_ordinal in path
        return begins_on_path and (window.summary_at is None or window.summary_at in path)

    return tuple(window for window in windows if is_valid(window))
