"""The use cases of ``privacy``, joined to ports.

The methods contain their imports, like those of ``App``.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from baton.composition.ports import Ports
    from baton.entry.jobs.forget_requests import ForgetCalls
    from baton.tenants.privacy.export import Exports
    from baton.tenants.privacy.forgetting import Forgetting
    from baton.tenants.privacy.readers import Readers
    from baton.tenants.privacy.retention import RetentionRuns
    from baton.tenants.rates import ForgottenRuns


class PrivacyUseCases:
    """Use cases that decide who may read a conversation, and that forget, retain and export personal data."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports

    @cached_property
    def readers(self) -> Readers:
        """Shows conversations to others than their users."""
        from baton.tenants.privacy.readers import Readers

        return Readers(self.ports.pii_detector)

    @cached_property
    def forget_calls(self) -> ForgetCalls:
        """Takes requests to forget."""
        from baton.entry.jobs.forget_requests import ForgetCalls

        ports = self.ports
        wait = timedelta(seconds=ports.forget_wait_seconds)
        return ForgetCalls(ports.store, ports.forget_requests, ports.forgettings, ports.audit, ports.clock, wait)

    @cached_property
    def forgetting(self) -> Forgetting:
        """Carries out requests to forget."""
        from baton.tenants.privacy.forgetting import Forgetting, Waits

        ports = self.ports
        return Forgetting(
            ports.forget_requests,
            ports.erasure,
            ports.objects,
            ports.search,
            ports.live,
            ports.audit,
            ports.retentions,
            self.forgotten_runs,
            ports.clock,
            Waits(zombies=ports.forget_wait_seconds),
        )

    @cached_property
    def forgotten_runs(self) -> ForgottenRuns:
        """Counts the tokens of forgotten threads."""
        from baton.tenants.rates import ForgottenRuns

        return ForgottenRuns(self.ports.activity, self.ports.clock)

    @cached_property
    def retention_runs(self) -> RetentionRuns:
        """Starts the enforcement of retention."""
        from baton.tenants.privacy.retention import RetentionRuns

        ports = self.ports
        return RetentionRuns(ports.retentions, ports.forget_requests, ports.forgettings, ports.clock)

    @cached_property
    def exports(self) -> Exports:
        """Exports the stored data of a user."""
        from baton.tenants.privacy.export import Exports

        ports = self.ports
        return Exports(
            ports.store,
            ports.records,
            ports.handoffs,
            ports.workflows,
            ports.episodes,
            ports.feedback,
            ports.time_zones,
            ports.private_skills,
            ports.audit,
            ports.clock,
        )
