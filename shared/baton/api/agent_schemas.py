"""The shapes of tenants' own agents: changes and versions."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from baton.api.schemas import Agent, Asked
from baton.domain.agent_version import MAX_COMMENT
from baton.domain.served import TIMESTAMP, Served, Timestamp


class FieldChange(Served):
    """One field of an agent that differs."""

    field: str = Field(examples=["systemPrompt"])
    before: Any = Field(description="Null: there was no such agent, or the field was empty.", examples=["You help."])
    after: Any = Field(examples=["You help with homework."])


class AgentChange(Served):
    """A change of an agent, or what it would be."""

    agent: Agent
    version: int = Field(description="The agent's newest version afterwards.", examples=[3])
    is_new: bool = Field(description="Whether there was no such agent before.")
    is_stored: bool = Field(
        description="Whether a version was made: not for a dry run, nor for what the agent was already."
    )
    changes: list[FieldChange]
    warnings: list[str] = Field(description="What is allowed, but may surprise.", examples=[[]])


class AgentVersion(Served):
    """One version of a tenant's agent."""

    agent_id: str = Field(examples=["tutor"])
    version: int = Field(validation_alias="number", examples=[3])
    is_deletion: bool = Field(description="Whether the agent was deleted by it.")
    restores: int | None = Field(description="The older version that it repeats.", examples=[1])
    comment: str | None = Field(examples=["Asks one question at a time"])
    created_by: str = Field(examples=["alice"])
    created_at: Timestamp = Field(examples=[TIMESTAMP])


class WholeAgentVersion(AgentVersion):
    """One version of a tenant's agent, with its definition."""

    agent: dict[str, Any] | None = Field(
        description="As `GET /v1/agents/{id}` has it, or as it was stored if today's rules do not allow it; null for a"
        " deletion."
    )


class RollbackRequest(Asked):
    """Which version to make the newest again."""

    version: int = Field(ge=1, le=999_999_999, examples=[1])
    comment: str | None = Field(default=None, max_length=MAX_COMMENT, examples=["Version 3 asked too much"])
