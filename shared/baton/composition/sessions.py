"""The use cases of sessions, built with the ports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from baton.composition.ports import Ports


class SessionUseCases:
    """Use cases that end and import sessions, name threads, and take ratings of answers."""

    def __init__(
        self,
        ports: Ports,
        agents: Callable[[], parts.AgentRegistry],
        conversations: Callable[[], parts.ConversationStates],
        change_notifications: Callable[[], parts.ChangeNotifications],
        model: Callable[[], parts.ChatModel],
    ) -> None:
        """All parameters but ``ports`` return parts of ``App``, and are called when a use case first needs them."""
        self.ports = ports
        self._agents = agents
        self._conversations = conversations
        self._change_notifications = change_notifications
        self._model = model

    @cached_property
    def importer(self) -> parts.Importer:
        """The use case that imports sessions of other systems."""
        ports = self.ports
        return parts.Importer(
            ports.store, self.sessions, self._agents(), ports.counter, ports.feedback, ports.audit, ports.time_zones
        )

    @cached_property
    def sessions(self) -> parts.Sessions:
        """The use case that ends sessions."""
        return parts.Sessions(self.ports.episodes, self.ports.closings, self.ports.audit)

    @cached_property
    def endings(self) -> parts.Endings:
        """The use case that ends the sessions of threads under a lease."""
        ports = self.ports
        return parts.Endings(
            ports.store,
            ports.log,
            ports.live,
            ports.connections,
            self.sessions,
            self._conversations(),
            ports.clock,
            self._change_notifications(),
        )

    @cached_property
    def overviews(self) -> parts.Overviews:
        """The use case that counts the turns of a tenant's threads."""
        return parts.Overviews(self.ports.store, lambda: self.ports.prices)

    @cached_property
    def version_figures(self) -> parts.VersionFigures:
        """The use case that counts the turns of agents by their versions."""
        return parts.VersionFigures(self.overviews, self.ports.feedback)

    @cached_property
    def usage_counts(self) -> parts.UsageCounts:
        """The use case that counts the usage of tenants in a month."""
        ports = self.ports
        return parts.UsageCounts(self.overviews, ports.spending, ports.tenant_objects, lambda: ports.prices)

    @cached_property
    def titles(self) -> parts.Titles:
        """The use case that changes titles of threads for users."""
        ports = self.ports
        return parts.Titles(ports.store, ports.live, ports.connections, ports.audit, ports.clock)

    @cached_property
    def unread_answers(self) -> parts.UnreadAnswers:
        """The use case that marks answers as read, and notifies the user's connections."""
        ports = self.ports
        return parts.UnreadAnswers(ports.store, ports.live, ports.connections, ports.audit, ports.clock)

    @cached_property
    def made_titles(self) -> parts.MadeTitles:
        """The use case that makes titles of threads that users have not named."""
        ports = self.ports
        return parts.MadeTitles(
            ports.store, self._model(), ports.light_model, ports.pii_detector, ports.title_source, self.titles
        )

    @cached_property
    def ratings(self) -> parts.Ratings:
        """The use case that takes feedback on answers."""
        ports = self.ports
        return parts.Ratings(ports.store, ports.feedback, ports.audit, ports.clock)
