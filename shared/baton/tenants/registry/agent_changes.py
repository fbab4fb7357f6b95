"""Changes of a tenant's own agents: the state that their callers expect, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_version import AgentVersion
from baton.domain.errors import AgentVersionMismatch
from baton.tenants.registry.tenant_agents import FieldChange


@dataclass(frozen=True, slots=True)
class ExpectedState:
    """The state of the agent that the caller expects. In any other state the change is refused."""

    version: int | None = None
    """The agent's version in force; None: any version. A candidate does not matter."""
    exists: bool | None = None
    """Whether the agent exists; None: either."""

    def check(self, present: AgentVersion | None) -> None:
        """Raise ``AgentVersionMismatch`` if the agent is in another state. ``present`` is None if it does not exist."""
        if self.exists is not None and self.exists is not (present is not None):
            raise AgentVersionMismatch("There is no such agent." if self.exists else "There is such an agent already.")
        if self.version is not None and (present is None or present.number != self.version):
            state = f"The version in force is {present.number}" if present is not None else "There is no such agent"
            raise AgentVersionMismatch(f"{state}, not version {self.version}: read it again and repeat your change.")


ANY_STATE = ExpectedState()


@dataclass(frozen=True, slots=True)
class AgentChange:
    """A change of an agent, or the change that a dry run would make."""

    agent: AgentDefinition
    version: int
    """The version with this definition."""
    in_force: int
    """The version in force afterwards; an earlier one if the definition is a candidate."""
    is_new: bool
    """True if there was no such agent before."""
    is_stored: bool
    """True if a version was made: not for a dry run, nor for a definition that the agent has already."""
    changes: Sequence[FieldChange]
    """The differences from the version in force."""
    warnings: Sequence[str]
    share: int | None = None
    """The percentage of new sessions that use the version; None if it is not a candidate."""
    restores: int | None = None
    """The older version that it repeats, after a rollback."""
