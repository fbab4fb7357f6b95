"""An operator's choice of the data to restore, and of the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

from baton_deployment.errors import DeploymentError
from baton_deployment.restoring.due_items import PastDue

DEFAULT_RATE = 500
"""Write units a second: half of the limit of one partition of the table."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An operator's choice. Without a tenant, everything is restored."""

    tenant_id: str | None = None
    thread_id: str | None = None
    """One conversation of the tenant, with its forks."""
    replaces: bool = False
    """Whether items that have changed since are replaced by the restored ones."""
    includes_removed: bool = False
    """Whether to put back items that may have been removed in ordinary use. Lost conversations always get them."""
    past_due: PastDue = PastDue.RUN
    rate: float = DEFAULT_RATE
    """Write units a second."""

    def check(self) -> None:
        """Raise ``DeploymentError`` for a choice that contradicts itself."""
        if self.thread_id is not None and self.tenant_id is None:
            raise DeploymentError("Name the conversation's tenant too: --tenant acme --conversation ID.")
        if not 0 < self.rate < math.inf:
            raise DeploymentError("The rate is a number of write units a second above 0.")
        for name, chosen_id in (("tenant", self.tenant_id), ("conversation", self.thread_id)):
            if chosen_id is not None and (not chosen_id or set(chosen_id) & set("#~/")):
                raise DeploymentError(f"{chosen_id!r} is not the id of a {name}.")

    @property
    def description(self) -> str:
        """The restored part of the data as a phrase."""
        if self.thread_id is not None:
            return f"the conversation {self.thread_id} of {self.tenant_id}"
        return f"the tenant {self.tenant_id}" if self.tenant_id is not None else "everything"
