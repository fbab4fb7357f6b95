"""The use cases of ``sessions``, joined to ports.

The methods contain their imports, like those of ``App``.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from baton.composition.ports import Ports
    from baton.tenants.registry.agent_registry import AgentRegistry
    from baton.threads.handoffs.conversation_states import ConversationStates
    from baton.threads.outbox.task_notifications import TaskNotifications
    from baton.threads.sessions.endings import Endings
    from baton.threads.sessions.importing import Importer
    from baton.threads.sessions.overviews import Overviews
    from baton.threads.sessions.ratings import Ratings
    from baton.threads.sessions.sessions import Sessions
    from baton.threads.sessions.titles import MadeTitles, Titles


class SessionUseCases:
    """Use cases that end and import sessions, name threads, and take ratings of answers."""

    def __init__(
        self,
        ports: Ports,
        agents: Callable[[], AgentRegistry],
        conversations: Callable[[], ConversationStates],
        task_notifications: Callable[[], TaskNotifications],
    ) -> None:
        """``agents``, ``conversations`` and ``task_notifications`` return use cases of ``App``, on demand."""
        self.ports = ports
        self._agents = agents
        self._conversations = conversations
        self._task_notifications = task_notifications

    @cached_property
    def importer(self) -> Importer:
        """Imports sessions of other systems."""
        from baton.threads.sessions.importing import Importer

        ports = self.ports
        return Importer(
            ports.store,
            self.sessions,
            self._agents(),
            ports.counter,
            ports.feedback,
            ports.audit,
            ports.time_zones,
        )

    @cached_property
    def sessions(self) -> Sessions:
        """Ends sessions."""
        from baton.threads.sessions.sessions import Sessions

        return Sessions(self.ports.episodes, self.ports.closings, self.ports.audit)

    @cached_property
    def endings(self) -> Endings:
        """Ends the sessions of threads under a lease."""
        from baton.threads.sessions.endings import Endings

        ports = self.ports
        return Endings(
            ports.store,
            ports.log,
            ports.live,
            ports.connections,
            self.sessions,
            self._conversations(),
            ports.clock,
            self._task_notifications(),
        )

    @cached_property
    def overviews(self) -> Overviews:
        """Counts the turns of a tenant's threads."""
        from baton.threads.sessions.overviews import Overviews

        return Overviews(self.ports.store, lambda: self.ports.prices)

    @cached_property
    def titles(self) -> Titles:
        """Changes titles of threads for users."""
        from baton.threads.sessions.titles import Titles

        ports = self.ports
        return Titles(ports.store, ports.live, ports.connections, ports.audit, ports.clock)

    @cached_property
    def made_titles(self) -> MadeTitles:
        """Makes titles of threads that users have not named."""
        from baton.threads.sessions.titles import MadeTitles

        ports = self.ports
        return MadeTitles(
            ports.store,
            ports.model,
            ports.light_model,
            ports.pii_detector,
            ports.title_source,
            self.titles,
        )

    @cached_property
    def ratings(self) -> Ratings:
        """Takes feedback on answers."""
        from baton.threads.sessions.ratings import Ratings

        ports = self.ports
        return Ratings(ports.store, ports.feedback, ports.audit, ports.clock)
