"""The shapes of an agent's versions, and of requests about them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from pydantic import Field

from baton.api.http.schemas import Asked, describe
from baton.domain.agents.agent_version import MAX_COMMENT, AgentEntry, AgentVersion
from baton.domain.tenants.evaluation import EvaluationEntry
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel
from baton.tenants.registry.agent_rollouts import Rollout


class VersionState(StrEnum):
    """The use of a version by sessions."""

    IN_FORCE = "in_force"
    CANDIDATE = "candidate"
    FORMER = "former"
    """Only running sessions that began with it use it."""
    WITHDRAWN = "withdrawn"
    """No session uses it."""

    @classmethod
    def of(cls, entry: AgentEntry, number: int) -> VersionState:
        """Return the state of a version."""
        if number == entry.number:
            return cls.IN_FORCE
        if entry.candidate is not None and number == entry.candidate.number:
            return cls.CANDIDATE
        return cls.WITHDRAWN if entry.is_withdrawn(number) else cls.FORMER


class VersionEvaluation(WireModel):
    """The last evaluation of a version."""

    id: str = Field(examples=["001773480413589-5d0ad1c6d1b0"])
    began_at: Timestamp = Field(examples=[TIMESTAMP])
    published_by: str = Field(default="", examples=["alice"])
    runs: int = Field(examples=[30])
    passed: float | None = describe(
        "The share of judged runs that passed; null if no run was judged, or there is no metric `passed`.", 0.9
    )


class ServedAgentVersion(WireModel):
    """One version of a tenant's agent."""

    agent_id: str = Field(examples=["tutor"])
    version: int = Field(validation_alias="number", examples=[3])
    is_deletion: bool = describe("Whether this version deleted the agent.", examples=[False])
    restores: int | None = describe("The older version that it restores; null for other versions.", None)
    comment: str | None = Field(examples=["Asks one question at a time"])
    created_by: str = Field(examples=["alice"])
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    state: VersionState = Field(examples=["in_force"])
    share: int | None = describe("The percentage of new sessions that use it; null unless it is a candidate.", None)
    evaluation: VersionEvaluation | None = Field(examples=[None])

    @classmethod
    def from_record(
        cls, version: AgentVersion, entry: AgentEntry, evaluation: EvaluationEntry | None, **more: Any
    ) -> Self:
        """Return the served form of a version, with its use by sessions and its last evaluation."""
        state = VersionState.of(entry, version.number)
        share = entry.candidate.share if entry.candidate is not None and state is VersionState.CANDIDATE else None
        served = VersionEvaluation.of(evaluation) if evaluation is not None else None
        is_deletion = version.values is None
        return cls.of(version, is_deletion=is_deletion, state=state, share=share, evaluation=served, **more)


class WholeAgentVersion(ServedAgentVersion):
    """One version of a tenant's agent, with its definition."""

    agent: dict[str, Any] | None = describe(
        "The definition in the form of `GET /v1/agents/{id}`, or as stored if today's rules do not allow it;"
        " null for a deletion.",
        {"id": "tutor", "name": "Tutor", "systemPrompt": "You help with homework."},
    )


class RollbackRequest(Asked):
    """A version to put in force again."""

    version: int = Field(ge=1, le=999_999_999, examples=[1])
    comment: str | None = Field(default=None, max_length=MAX_COMMENT, examples=["Version 3 asked too much"])
    override: str | None = describe(
        "The reason for which a version that was never in force needs no evaluation.", None, default=None
    )


class PromotionRequest(Asked):
    """The candidate to put in force."""

    version: int = describe("The version of the candidate.", 5, ge=1, le=999_999_999)
    override: str | None = describe(
        "The reason for which it needs no evaluation, if the deployment asks for one.", None, default=None
    )


class ShareRequest(PromotionRequest):
    """The share of a candidate."""

    share: int = describe("The percentage of new sessions that use it.", 50, ge=0, le=100)


class ServedRollout(WireModel):
    """The versions of an agent that new sessions use."""

    version: int = describe("The version in force.", 4)
    candidate: int | None = describe("The version of the candidate; null without one.", 5)
    share: int | None = describe("The percentage of new sessions that use the candidate; null without one.", 10)

    @classmethod
    def from_record(cls, rollout: Rollout) -> ServedRollout:
        """Return the served form of a rollout."""
        candidate = rollout.candidate
        return cls(
            version=rollout.in_force,
            candidate=candidate.number if candidate is not None else None,
            share=candidate.share if candidate is not None else None,
        )
