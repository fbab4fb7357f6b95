"""The shapes of turns and of the Context Inspector's records."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from baton.api.http.schemas import COST, Asked, ServedUsage, describe
from baton.api.threads.message_schemas import ServedFeedback
from baton.domain.memory.inspection import ContextItem, RecordedModel
from baton.domain.runs.usage import Prices
from baton.domain.schedules.run_source import CauseKind
from baton.domain.threads.feedback import Rating
from baton.domain.threads.message import MessageAuthor
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, Milliseconds, Timestamp, WireModel
from baton.memory.recalled import BlockKind
from baton.threads.sessions.turn_listing import TurnSummary

MAX_WITHOUT = 200
"""The most items that a dry run can leave out."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class TurnFeedback(ServedFeedback):
    """The user's feedback on an answer of a turn."""

    message_id: str = Field(examples=["5d0ad1c6-d1b0-5f6c-8d0c-0f4a2b1e3d4c"])


class Turn(WireModel):
    """One turn: a message and its answer."""

    run_id: str = Field(examples=[RUN_ID])
    message_id: str = describe("The message that it answers.", "m-1")
    attempt: int = Field(examples=[1])
    status: Literal["running", "interrupted", "success", "cancelled", "error", "interrupt", "delivered"] = describe(
        "While it is in progress, `running`, or `interrupted` if its worker has died; then its outcome. "
        "`delivered`: the message was delivered to the people of a desk.",
        "success",
    )
    agent_id: str | None = describe("The agent that answered last; null without an answer.", "assistant")
    started_at: Timestamp | None = describe("The time of its message; null while it is in progress.", TIMESTAMP)
    ended_at: Timestamp | None = describe("The time of its end; null while it is in progress.", TIMESTAMP)
    usage: ServedUsage
    model: str | None = describe("The model of the agent that answered last; null without an answer.", "gpt-6-sol")
    first_token_ms: int | None = describe(
        "Milliseconds from the message to the first word of the answer; null without an answer, and for "
        "older turns, for which it was not measured.",
        640,
    )
    cost: float | None = COST
    error_code: str | None = describe("The code of the error with which it ended; null without one.", None)
    trace_id: str | None = describe(
        "The id of its OpenTelemetry trace; left out without one, and while it is in progress.",
        "4bf92f3577b34da6a3ce929d0e0e4736",
        absent=None,
    )
    author: MessageAuthor | None = describe(
        "The person of a desk who wrote the turn's message or note; left out of other turns.", absent=None
    )
    opened_by: CauseKind | None = describe(
        "The cause of a turn that no user began; left out of other turns, and while it is in progress.",
        "schedule",
        absent=None,
    )
    feedback: list[TurnFeedback] = describe("The user's feedback on its answers; left out if there is none.", absent=[])

    @classmethod
    def from_record(cls, prices: Prices, turn: TurnSummary) -> Turn:
        """Return the served form of ``turn``. It has a cost only after its end."""
        is_over = turn.ended_at is not None
        return cls.of(turn, cost=prices.compute_cost(turn.spent, turn.usage) if is_over else None)


class ContextBlock(RecordedModel):
    """One block of a prompt, even if it is empty."""

    kind: BlockKind
    agent_id: str = describe("The agent whose prompt it is.", "assistant")
    task_id: str | None = describe("The sub-task, for an agent that was consulted.", None)
    tokens: int = Field(examples=[64])
    budget: int | None = describe(
        "The tokens that it may take. Knowledge and episodes share a budget, and the history gets the rest. "
        "Null for a block without a limit, and in older records.",
        1500,
        default=None,
    )
    duration_ms: int | None = describe("The duration of its retrieval, if there was one.", 38)
    error: str | None = describe("The reason why its retrieval failed, or used only words; null otherwise.", None)
    items: list[ContextItem]


class ContextCall(RecordedModel):
    """One call of a model."""

    agent_id: str = Field(examples=["assistant"])
    task_id: str | None = Field(examples=[None])
    model: str | None = Field(examples=["gpt-6-sol"])
    began_at: str = Field(examples=[TIMESTAMP])
    messages: list[dict[str, Any]] = describe(
        "The messages that were sent: role, content, toolCalls, toolCallId, and providerParts, which are the "
        "origin and tokens of opaque parts that only the model can read. Files are references.",
        [{"role": "system", "content": "You are Assistant."}, {"role": "user", "content": "Hello"}],
    )
    tools: list[str] = describe("Names of the tools that the model could call.", ["ask_knowledge"])
    estimated_tokens: int = Field(examples=[418])
    input_tokens: int | None = describe("The provider's count; null if it gave none.", 412)
    output_tokens: int | None = Field(examples=[58])
    cached_input_tokens: int | None = describe(
        "Input tokens that the provider read from its prompt cache; null in older records.", 384, default=None
    )
    cache_write_tokens: int = describe(
        "Input tokens that the provider wrote to its prompt cache; left out if there are none.", 256, absent=0
    )
    reasoning_tokens: int = describe(
        "Output tokens that the model used for thinking; left out if none were reported.", 32, absent=0
    )
    dropped: list[str] = describe(
        "Settings of the agent that were not sent, because the model does not take them; left out if there are none.",
        ["temperature"],
        absent=[],
    )
    duration_ms: int | None = describe(
        "From the request to the end of the answer; null in older records.", 912, default=None
    )
    error: str | None = describe("The code of the failure that ended it.", None)


class RecordedFeedback(RecordedModel):
    """The user's present feedback on an answer of the turn."""

    message_id: str = Field(examples=["5d0ad1c6-d1b0-5f6c-8d0c-0f4a2b1e3d4c"])
    rating: Rating = Field(examples=["down"])
    comment: str | None = describe("The comment; without personal data in a redacted record.", "Out of date.")
    updated_at: str = Field(examples=[TIMESTAMP])


class StateText(RecordedModel):
    """The state at one time."""

    text: str = describe("The state as JSON.", '{"cart": ["A-7"]}')


class ToolState(RecordedModel):
    """The state that tools keep in the conversation."""

    before: StateText = describe("The state before the turn.")
    after: StateText = describe("The state after the turn.")


class RecordedJudgement(RecordedModel):
    """A verdict of a hook or guardrail that changed something, or its failure."""

    agent_id: str = Field(examples=["assistant"])
    task_id: str | None = describe("The sub-task of a consulted agent.", None)
    point: str = describe("The point at which it was called.", "output_guardrail")
    name: str = Field(examples=["no_prices"])
    verdict: Literal["allow", "replace", "refuse"]
    duration_ms: int = Field(examples=[3])
    failure: str | None = describe("The kind of its failure; null without a failure.", None)


class ServedContextRecord(RecordedModel):
    """The prompts in a turn, and the reasons for their content."""

    run_id: str = Field(examples=[RUN_ID])
    thread_id: str | None = Field(default=None, examples=[THREAD_ID])
    recorded_at: str | None = describe(
        "The time at which the record was made, after the end of the run.", TIMESTAMP, default=None
    )
    budget: int | None = describe("Tokens for the whole prompt of the turn's first agent; null without one.", 16000)
    redacted: bool = describe("Whether personal data was removed from the texts.")
    cut: list[str] = describe("The parts that were cut to keep the record within 2 MiB.", [])
    blocks: list[ContextBlock] = describe(
        "The blocks of each agent that answered or was consulted, in the order of the prompt: system, procedure, "
        "knowledge, episodes, history, current."
    )
    calls: list[ContextCall] = describe("The model calls, in the order in which they began.")
    calls_left_out: int = Field(examples=[0])
    tool_state: ToolState | None = describe(
        "The state that tools keep in the conversation; left out if there is none.", default=None
    )
    guardrails: list[RecordedJudgement] | None = describe(
        "The verdicts of hooks and guardrails that changed something, and their failures; left out if there are none.",
        default=None,
    )
    feedback: list[RecordedFeedback] = Field(default=[], examples=[[]])


class RerunRequest(Asked):
    """Changes to apply to the rerun."""

    model: Name | None = describe(
        "The model of the agents that answer: a model of the settings or of an agent's file.", "gpt-6-sol", default=None
    )
    agent_version: Annotated[int, Field(ge=1)] | None = describe(
        "A version of the tenant's own agent `agentId`, or of the one that was active in the turn.", 3, default=None
    )
    agent_id: Name | None = describe(
        "The agent whose version takes part, if another agent was active in the turn; only with `agentVersion`.",
        "tutor",
        default=None,
    )
    without: Annotated[list[Name], Field(max_length=MAX_WITHOUT)] = describe(
        "Ids of items to leave out: facts, messages, summaries, chunks and procedures. For an item of the "
        "history, its whole turn is left out.",
        ["fact_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c"],
        default=[],
    )
    message_id: Name | None = describe(
        "The `messageId` of the turn in the list of turns. It avoids a search through a long conversation.",
        "m-1",
        default=None,
    )

    @model_validator(mode="after")
    def _check_version(self) -> Self:
        if self.agent_id is not None and self.agent_version is None:
            raise ValueError("agentId names the agent of agentVersion: send both")
        return self


class ServedDryCall(WireModel):
    """A tool call of a model in a dry run."""

    agent_id: str = describe("The agent that made the call.", "assistant")
    tool_name: str = Field(examples=["get_weather"])
    input: dict[str, Any] | str = describe("The arguments; a text if the model wrote no JSON object.", {"city": "Bern"})
    is_recorded: bool = describe("Whether the call got the result of the same call in the turn.")
    outcome: Literal["recorded", "not_executed", "wanted", "waiting"] = describe(
        "`wanted`: a handoff or another change of the conversation, which was not stored; `waiting`: a "
        "person or the user's application would have to act.",
        "recorded",
    )
    output: str | None = describe("The text that the model got.", "Sunny, 21 °C")


class Rerun(WireModel):
    """The result of a dry run."""

    answer: str = Field(examples=["Your cat is called Miso."])
    outcome: Literal["success", "cancelled", "interrupt"] = describe(
        "`interrupt`: it would wait for a person or for the user's application.", "success"
    )
    agent_id: str | None = describe("The agent that answered last.", "assistant")
    agent_version: int | None = describe(
        "The version of the agent that was active; null for an agent that ships with the deployment.", None
    )
    model: str | None = describe("The model of the agent that answered last.", "gpt-6-sol")
    agent_versions: dict[str, int] = describe(
        "The versions of the tenant's agents that took part, by the agent's id.", {"tutor": 3}, default={}
    )
    context: ServedContextRecord
    tool_calls: list[ServedDryCall]
    usage: ServedUsage
    duration_ms: Milliseconds = Field(examples=[1840])
