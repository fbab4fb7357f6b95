"""The shapes of procedures."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from baton.api.http.schemas import NOT_BLANK, Asked
from baton.domain.handoffs.triggers import MAX_TRIGGER
from baton.domain.memory.context_item import ContextItem
from baton.domain.memory.procedure import Procedure as ProcedureRecord
from baton.domain.memory.procedure import ProcedureScope, ProcedureStatus
from baton.domain.runs.tool_call import CallEnd
from baton.domain.tenants.identity import MAX_USER_ID
from baton.domain.threads.message import Role
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, Timestamp, WireModel

MAX_REASON = 500

STEP = {"text": "Ask which channel the alert goes to.", "condition": "skip if the user has named one"}
CONTENT: dict[str, Any] = {
    "name": "Slack Alert",
    "description": "Posts an alert to a Slack channel.",
    "triggers": ["send slack alert"],
    "steps": [STEP, {"text": "Post the alert."}],
    "allowedTools": ["slack_post"],
}


class ServedProcedureStep(WireModel):
    """One step."""

    text: str = Field(examples=[STEP["text"]])
    condition: str | None = Field(
        description="The condition under which it is (not) taken.", examples=[STEP["condition"]]
    )


class ServedProcedureSource(WireModel):
    """The source of a procedure."""

    thread_id: str = Field(examples=[THREAD_ID])
    run_id: str | None = Field(description="The run that completed the task.", examples=[RUN_ID])
    workflow_id: str | None = Field(description="The workflow that made it.", examples=[None])
    message_ids: tuple[str, ...] = Field(examples=[["m-1"]])


class ServedProcedure(WireModel):
    """A version of a procedure."""

    id: str = Field(description="The same in all versions; made of its name.", examples=["slack-alert"])
    agent_id: str = Field(
        description="The agent that follows it; of one for all agents, the agent that it was made for.",
        examples=["assistant"],
    )
    scope: ProcedureScope = Field(
        description="`tenant`: all agents of the tenant follow it. `user`: it is private to its maker."
    )
    version: int = Field(description="From 1.", examples=[2])
    status: ProcedureStatus = Field(
        description="Turns follow `approved` versions, and those of its maker a `private` or `offered` skill."
    )
    name: str = Field(examples=[CONTENT["name"]])
    description: str = Field(examples=[CONTENT["description"]])
    triggers: tuple[str, ...] = Field(examples=[CONTENT["triggers"]])
    steps: tuple[ServedProcedureStep, ...]
    allowed_tools: tuple[str, ...] = Field(
        description="The tools that its steps may use; empty for all of the agent.", examples=[["slack_post"]]
    )
    source: ServedProcedureSource | None = Field(
        description="Null if it was written by hand, and for callers without `procedure:approve`."
    )
    created_by: str = Field(examples=["alice"])
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    decided_by: str | None = Field(description="The user who approved, rejected or retired it last.", examples=["bob"])
    decided_at: Timestamp | None = Field(examples=[TIMESTAMP])
    reason: str | None = Field(description="The reason of its rejection or retirement.", examples=[None])
    used: int = Field(description="Turns that followed this version.", examples=[12])
    went_well: int = Field(description="Those of them that went well.", examples=[11])

    @classmethod
    def from_record(cls, record: ProcedureRecord, **more: Any) -> Any:
        """Return the served form of a version."""
        draft = record.draft
        return cls.of(
            record,
            name=draft.name,
            description=draft.description,
            triggers=draft.triggers,
            steps=draft.steps,
            allowed_tools=draft.allowed_tools,
            **more,
        )


class ProcedureWithVersions(ServedProcedure):
    """A version of a procedure, and all of them, newest first."""

    versions: list[ServedProcedure]
    next_cursor: str | None = Field(
        description="Pass it as `cursor` to get older versions; null on the last page.", examples=[None]
    )


class ProcedureSourceCall(WireModel):
    """A call of a tool."""

    id: str = Field(examples=["call-1"])
    name: str = Field(examples=["slack_post"])
    arguments: str = Field(description="JSON, as the model wrote it.", examples=['{"channel": "#ops"}'])


class ProcedureSourceMessage(WireModel):
    """A message of the task that a version was made of."""

    id: str = Field(examples=["m-1"])
    role: Role = Field(description="`tool`: the result of a call.", examples=["user"])
    run_id: str = Field(examples=[RUN_ID])
    agent_id: str | None = Field(description="The agent that said it, or called.", examples=[None])
    text: str = Field(examples=["Send a Slack alert to #ops"])
    tool_calls: list[ProcedureSourceCall]
    tool_call_id: str | None = Field(description="The call that it is the result of.", examples=[None])
    tool_name: str | None = Field(examples=[None])
    outcome: CallEnd | None = Field(description="The end of the call.", examples=[None])
    cut: bool = Field(description="Whether only the beginning of a text is shown.", examples=[False])
    said_at: Timestamp = Field(examples=[TIMESTAMP])


class ProcedureSourceTurns(WireModel):
    """The task that a version was made of."""

    version: int = Field(examples=[2])
    thread_id: str | None = Field(description="Null if the version was written by hand.", examples=[THREAD_ID])
    run_id: str | None = Field(description="The run that completed the task.", examples=[RUN_ID])
    messages: list[ProcedureSourceMessage] = Field(description="In order; at most 200.")
    missing: int = Field(description="Messages that the version names and that no longer exist.", examples=[0])
    redacted: bool = Field(description="Whether personal data was replaced.", examples=[True])


class StepRequest(Asked):
    """One step."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=1000, json_schema_extra=NOT_BLANK)
    condition: str | None = Field(default=None, max_length=300)


class _Content(Asked):
    """The content of a procedure."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [CONTENT]})

    name: str = Field(max_length=64, json_schema_extra=NOT_BLANK)
    description: str = Field(max_length=1024, json_schema_extra=NOT_BLANK)
    triggers: list[Annotated[str, Field(json_schema_extra=NOT_BLANK | {"maxLength": MAX_TRIGGER})]] = Field(
        min_length=1,
        max_length=20,
        description=f"Phrases and patterns, each of at most {MAX_TRIGGER} characters.",
        examples=[CONTENT["triggers"]],
    )
    steps: list[StepRequest] = Field(min_length=1, max_length=50)
    allowed_tools: list[Annotated[str, Field(json_schema_extra={"pattern": "^[a-zA-Z0-9_-]{1,64}$"})]] = Field(
        default_factory=list, max_length=50
    )

    def fields(self) -> dict[str, Any]:
        """Return the content by the names of ``domain.memory.procedure.draft_from``."""
        return self.model_dump(include=set(_Content.model_fields))


class ProcedureRequest(_Content):
    """A procedure to save as pending."""

    scope: Literal["agent", "tenant"] = Field(default="agent", description="`tenant`: for all agents of the tenant.")


class ProcedureChange(_Content):
    """The whole content of a procedure's next version."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**CONTENT, "version": 1}]})

    version: int = Field(ge=1, description="The version that was changed, which must be the newest.", examples=[1])


class Approval(Asked):
    """A version to approve."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"version": 1}]})

    version: int | None = Field(
        default=None, ge=1, description="The version that the caller has read. Default: the newest.", examples=[1]
    )


class Rejection(Asked):
    """A version to reject, and why."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"version": 1, "reason": "Ask for the channel first."}]}
    )

    version: int | None = Field(
        default=None, ge=1, description="The version that the caller has read. Default: the newest.", examples=[1]
    )
    reason: str = Field(min_length=1, max_length=MAX_REASON, examples=["Ask for the channel first."])


class SentOffer(Asked):
    """A private skill to offer."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"version": 1}]})

    version: int | None = Field(default=None, ge=1, description="Default: the newest.", examples=[1])


class Sharing(Asked):
    """A private skill to share with all users of its agent."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"userId": "alice", "version": 1, "replaces": None}]}
    )

    user_id: str | None = Field(
        default=None, max_length=MAX_USER_ID, description="Its maker. Default: the caller.", examples=["alice"]
    )
    version: int = Field(ge=1, description="The version that the caller has read.", examples=[1])
    replaces: int | None = Field(
        default=None,
        ge=1,
        description="The approved version of the same name that it takes the place of; null if there is none.",
        examples=[None],
    )


class Declination(Asked):
    """An offer to decline, and why."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"userId": "alice", "version": 1, "reason": "There is one already."}]},
    )

    user_id: str = Field(max_length=MAX_USER_ID, description="The maker of the skill.", examples=["alice"])
    version: int = Field(ge=1, description="The version that the caller has read.", examples=[1])
    reason: str = Field(min_length=1, max_length=MAX_REASON, examples=["There is one already."])


class MatchRequest(Asked):
    """A message to try."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"query": "Send a Slack alert to the team", "limit": 5}]}
    )

    query: str = Field(
        description="A message in a user's words; not blank.", examples=["Send a Slack alert to the team"]
    )
    limit: int = Field(default=10, ge=1, le=50, description="Procedures that are returned at most.")


class ProcedureMatches(WireModel):
    """The procedures that a turn would find for a message, best first."""

    items: list[ContextItem] = Field(
        description="The items of a turn's record: `included` is the one that would be followed; `signals` are "
        "`trigger` (1) and `meaning` (cosine similarity)."
    )
    next_cursor: None = None
    error: str | None = Field(description="The reason that meaning was not compared.", examples=[None])
