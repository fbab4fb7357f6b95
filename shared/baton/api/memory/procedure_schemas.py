"""The shapes of procedures."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field

from baton.api.http.schemas import AUTHOR, NOT_BLANK, Asked, describe
from baton.domain.handoffs.triggers import MAX_TRIGGER
from baton.domain.memory.inspection import ContextItem
from baton.domain.memory.procedure import Procedure, ProcedureScope, ProcedureStatus
from baton.domain.runs.tool_call import CallEnd
from baton.domain.tenants.identity import MAX_USER_ID
from baton.domain.threads.message import MessageAuthor
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, Timestamp, WireModel

MAX_REASON = 500
"""Characters of the reason for a decision."""

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
    condition: str | None = describe("The condition under which the step is taken or skipped.", STEP["condition"])


class ServedProcedureSource(WireModel):
    """The source of a procedure."""

    thread_id: str = Field(examples=[THREAD_ID])
    run_id: str | None = describe("The run that completed the task.", RUN_ID)
    workflow_id: str | None = describe("The workflow that made it.", None)
    message_ids: tuple[str, ...] = Field(examples=[["m-1"]])


class ServedProcedure(WireModel):
    """A version of a procedure."""

    id: str = describe("The procedure's id, derived from its name and the same in all versions.", "slack-alert")
    agent_id: str = describe(
        "The agent that follows it; for a procedure of all agents, the agent for which it was made.", "assistant"
    )
    scope: ProcedureScope = describe(
        "`tenant`: all agents of the tenant follow it. `user`: it is private to its maker."
    )
    version: int = describe("The version, from 1.", 2)
    status: ProcedureStatus = describe(
        "Turns follow `approved` versions. The maker's turns also follow a `private` or `offered` skill."
    )
    name: str = Field(examples=[CONTENT["name"]])
    description: str = Field(examples=[CONTENT["description"]])
    triggers: tuple[str, ...] = Field(examples=[CONTENT["triggers"]])
    steps: tuple[ServedProcedureStep, ...]
    allowed_tools: tuple[str, ...] = describe(
        "The tools that its steps may use; empty for all of the agent.", ["slack_post"]
    )
    source: ServedProcedureSource | None = describe(
        "Null if it was written by hand, and for callers without `procedure:approve`."
    )
    created_by: str = Field(examples=["alice"])
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    decided_by: str | None = describe("The user who approved, rejected or retired it last.", "bob")
    decided_at: Timestamp | None = Field(examples=[TIMESTAMP])
    reason: str | None = describe("The reason for its rejection or retirement.", None)
    used: int = describe("Turns that followed this version.", 12)
    went_well: int = describe("Turns that followed this version and went well.", 11)

    @classmethod
    def from_record(cls, record: Procedure, **more: Any) -> Self:
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
    """A version of a procedure, and all its versions, newest first."""

    versions: list[ServedProcedure]
    next_cursor: str | None = describe("The `cursor` of older versions; null on the last page.", None)


class ProcedureSourceCall(WireModel):
    """A call of a tool."""

    id: str = Field(examples=["call-1"])
    name: str = Field(examples=["slack_post"])
    arguments: str = describe("JSON, as the model wrote it.", '{"channel": "#ops"}')


class ProcedureSourceMessage(WireModel):
    """A message of the task from which a version was made."""

    id: str = Field(examples=["m-1"])
    role: Literal["user", "assistant", "tool", "event"] = describe(
        "`tool`: the result of a call; `event`: the cause of a turn that no message of the user has begun.", "user"
    )
    run_id: str = Field(examples=[RUN_ID])
    agent_id: str | None = describe("The agent that wrote the message or made the call.", None)
    author: MessageAuthor | None = AUTHOR
    text: str = Field(examples=["Send a Slack alert to #ops"])
    tool_calls: list[ProcedureSourceCall]
    tool_call_id: str | None = describe("The call whose result the message is; null for other messages.", None)
    tool_name: str | None = Field(examples=[None])
    outcome: CallEnd | None = describe("The outcome of the call.", None)
    cut: bool = describe("Whether only the beginning of the text is shown.", examples=[False])
    said_at: Timestamp = Field(examples=[TIMESTAMP])


class ProcedureSourceTurns(WireModel):
    """The task from which a version was made."""

    version: int = Field(examples=[2])
    thread_id: str | None = describe("Null if the version was written by hand.", THREAD_ID)
    run_id: str | None = describe("The run that completed the task.", RUN_ID)
    messages: list[ProcedureSourceMessage] = describe("In order; at most 200.")
    missing: int = describe("Messages that the version names and that no longer exist.", 0)
    redacted: bool = describe("Whether personal data was replaced.", examples=[True])


class StepRequest(Asked, extra="forbid"):
    """One step."""

    text: str = Field(max_length=1000, json_schema_extra=NOT_BLANK)
    condition: str | None = Field(default=None, max_length=300)


class _Content(Asked, extra="forbid", json_schema_extra={"examples": [CONTENT]}):
    """The content of a procedure."""

    name: str = Field(max_length=64, json_schema_extra=NOT_BLANK)
    description: str = Field(max_length=1024, json_schema_extra=NOT_BLANK)
    triggers: list[Annotated[str, Field(json_schema_extra=NOT_BLANK | {"maxLength": MAX_TRIGGER})]] = describe(
        f"Phrases and patterns, each of at most {MAX_TRIGGER} characters.",
        CONTENT["triggers"],
        min_length=1,
        max_length=20,
    )
    steps: list[StepRequest] = Field(min_length=1, max_length=50)
    allowed_tools: list[Annotated[str, Field(json_schema_extra={"pattern": "^[a-zA-Z0-9_-]{1,64}$"})]] = Field(
        default_factory=list, max_length=50
    )

    def to_fields(self) -> dict[str, Any]:
        """Return the content with the field names of ``domain.memory.procedure.parse_draft``."""
        return self.model_dump(include=set(_Content.model_fields))


class ProcedureRequest(_Content):
    """A procedure to save as pending."""

    scope: Literal["agent", "tenant"] = describe("`tenant`: for all agents of the tenant.", default="agent")


class ProcedureChange(_Content, json_schema_extra={"examples": [{**CONTENT, "version": 1}]}):
    """The whole content of a procedure's next version."""

    version: int = describe("The version on which the change is based, which must be the newest.", 1, ge=1)


class Approval(Asked, extra="forbid", json_schema_extra={"examples": [{"version": 1}]}):
    """A version to approve."""

    version: int | None = describe("The version that the caller has read. Default: the newest.", 1, default=None, ge=1)


class Rejection(
    Asked, extra="forbid", json_schema_extra={"examples": [{"version": 1, "reason": "Ask for the channel first."}]}
):
    """A version to reject, with the reason."""

    version: int | None = describe("The version that the caller has read. Default: the newest.", 1, default=None, ge=1)
    reason: str = Field(min_length=1, max_length=MAX_REASON, examples=["Ask for the channel first."])


class SentOffer(Asked, extra="forbid", json_schema_extra={"examples": [{"version": 1}]}):
    """A private skill to offer."""

    version: int | None = describe("The version to offer. Default: the newest.", 1, default=None, ge=1)


class Sharing(
    Asked, extra="forbid", json_schema_extra={"examples": [{"userId": "alice", "version": 1, "replaces": None}]}
):
    """A private skill to share with all users of its agent."""

    user_id: str | None = describe("Its maker. Default: the caller.", "alice", default=None, max_length=MAX_USER_ID)
    version: int = describe("The version that the caller has read.", 1, ge=1)
    replaces: int | None = describe(
        "The approved version of the same name that it replaces; null if there is none.", None, default=None, ge=1
    )


class Declination(
    Asked,
    extra="forbid",
    json_schema_extra={"examples": [{"userId": "alice", "version": 1, "reason": "There is one already."}]},
):
    """An offer to decline, with the reason."""

    user_id: str = describe("The maker of the skill.", "alice", max_length=MAX_USER_ID)
    version: int = describe("The version that the caller has read.", 1, ge=1)
    reason: str = Field(min_length=1, max_length=MAX_REASON, examples=["There is one already."])


class MatchRequest(
    Asked, extra="forbid", json_schema_extra={"examples": [{"query": "Send a Slack alert to the team", "limit": 5}]}
):
    """A message for which procedures are searched."""

    query: str = describe("A message in a user's words; not blank.", "Send a Slack alert to the team")
    limit: int = describe("The most procedures to return.", default=10, ge=1, le=50)


class ProcedureMatches(WireModel):
    """The procedures that a turn would find for a message, best first."""

    items: list[ContextItem] = describe(
        "Items as in a turn's record. `included` marks the procedure that would be followed; `signals` are "
        "`trigger` (1) and `meaning` (cosine similarity)."
    )
    next_cursor: None = None
    error: str | None = describe("The reason why meaning was not compared; null if it was.", None)
