"""The beginning of an agent's message history in its prompts."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.handoffs.handoff import HandoffPlace
from baton.domain.threads.branches import MessagePath


@dataclass(frozen=True, slots=True)
class HistoryWindow:
    """The part of a thread's messages that an agent's prompts hold. The thread stores it between runs.

    It only moves forward, and rarely: as long as it stands, each prompt begins with the one before it, which a
    provider's prompt cache needs.
    """

    agent_id: str
    session: str = ""
    """The handoff that made the agent active, as ``<ordinal>.<number>``; empty for the main agent."""
    first_ordinal: int = 0
    """The first message in the prompts. A specialist's fork has separate ordinals."""
    masked_below: int = 0
    """The prompts have only the length of results of tools below this ordinal."""
    summary_at: int | None = None
    """The message that the summary of everything before it is stored with; None if there is no summary."""


@dataclass(frozen=True, slots=True)
class SummaryDue:
    """Messages that are to be summarised for an agent, because they have left its history or will soon."""

    thread_id: str
    """The thread that they are in: a specialist's fork, or the conversation itself."""
    agent_id: str
    below: int
    """The first message that is not among them. The summary is stored with it."""
    since: int = 0
    """The first message that the agent may see."""
    summary_at: int | None = None
    """The message with the summary to continue; None if there is none."""


def session_of(handoff: HandoffPlace | None) -> str:
    """Return the ``HistoryWindow.session`` of the agent that a handoff has made active."""
    return f"{handoff.ordinal}.{handoff.number}" if handoff is not None else ""


def window_of(windows: tuple[HistoryWindow, ...], agent_id: str, session: str = "") -> HistoryWindow:
    """Return the window of an agent in its session, or one that holds everything."""
    fresh = HistoryWindow(agent_id, session)
    return next((window for window in windows if (window.agent_id, window.session) == (agent_id, session)), fresh)


def on_path(windows: tuple[HistoryWindow, ...], path: MessagePath) -> tuple[HistoryWindow, ...]:
    """Return the windows that hold for a path: those that begin at one of its messages, with its own summary.

    What comes before a message is the same on every path that it is on, and so is its summary.
    """

    def holds(window: HistoryWindow) -> bool:
        begins = not window.first_ordinal or window.first_ordinal in path
        return begins and (window.summary_at is None or window.summary_at in path)

    return tuple(window for window in windows if holds(window))
