"""The use cases of privacy, built with the ports."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts
from baton.domain.tenants.removal import WORK_ID as REMOVAL

if TYPE_CHECKING:
    from baton.composition.ports import Ports


class PrivacyUseCases:
    """Use cases that decide who may read a conversation, and that forget, retain and export personal data."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports

    @cached_property
    def readers(self) -> parts.Readers:
        """The use case that shows conversations to people other than their users."""
        return parts.Readers(self.ports.pii_detector)

    @cached_property
    def forget_calls(self) -> parts.ForgetCalls:
        """The use case that takes requests to forget."""
        ports = self.ports
        wait = timedelta(seconds=ports.forget_wait_seconds)
        return parts.ForgetCalls(ports.store, ports.forget_requests, ports.forgettings, ports.audit, ports.clock, wait)

    @cached_property
    def forgetting(self) -> parts.Forgetting:
        """The use case that carries out requests to forget."""
        ports = self.ports
        return parts.Forgetting(
            ports.forget_requests,
            ports.erasure,
            ports.objects,
            ports.search,
            ports.live,
            ports.audit,
            ports.retentions,
            self.forgotten_runs,
            self.forgotten_tasks.drop,
            ports.clock,
            parts.Waits(zombies=ports.forget_wait_seconds),
        )

    def select_work(self, request_id: str) -> parts.Forgetting | parts.TenantRemovalWork:
        """Return the use case that carries out a request of the pipeline: to remove a tenant, or to forget."""
        return self.removal if request_id == REMOVAL else self.forgetting

    @cached_property
    def removal_calls(self) -> parts.RemovalCalls:
        """The use case that takes requests to remove a tenant."""
        ports = self.ports
        return parts.RemovalCalls(ports.removals, ports.forgettings, ports.audit, ports.clock)

    @cached_property
    def removal(self) -> parts.TenantRemovalWork:
        """The use case that removes tenants."""
        ports = self.ports
        return parts.TenantRemovalWork(
            ports.removals, ports.tenant_erasure, ports.objects, ports.search, ports.clock, ports.forget_wait_seconds
        )

    @cached_property
    def tenant_exports(self) -> parts.TenantExports:
        """The use case that exports tenants."""
        ports = self.ports
        return parts.TenantExports(
            ports.tenant_records, ports.tenant_files, ports.cursor_seal, ports.audit, ports.clock
        )

    @cached_property
    def forgotten_runs(self) -> parts.ForgottenRuns:
        """The use case that counts the tokens of forgotten threads."""
        return parts.ForgottenRuns(self.ports.activity, self.ports.clock)

    @cached_property
    def forgotten_tasks(self) -> parts.ForgottenTasks:
        """The use case that audits and stops background tasks of forgotten threads."""
        ports = self.ports
        return parts.ForgottenTasks(
            ports.background_tasks, ports.due_items, lambda: ports.queue, ports.audit, ports.clock
        )

    @cached_property
    def retention_runs(self) -> parts.RetentionRuns:
        """The use case that starts the enforcement of retention."""
        ports = self.ports
        return parts.RetentionRuns(ports.retentions, ports.forget_requests, ports.forgettings, ports.clock)

    @cached_property
    def exports(self) -> parts.Exports:
        """The use case that exports the stored data of a user."""
        ports = self.ports
        return parts.Exports(
            ports.store,
            ports.records,
            ports.handoffs,
            ports.workflows,
            ports.episodes,
            ports.feedback,
            ports.time_zones,
            ports.private_skills,
            ports.schedules,
            ports.background_tasks,
            ports.audit,
            ports.clock,
        )
