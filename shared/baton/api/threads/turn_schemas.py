"""The shapes of turns and of the Context Inspector's records."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from baton.api.http.schemas import COST, Asked, ServedUsage
from baton.api.threads.message_schemas import ServedFeedback
from baton.domain.memory.context_item import ContextItem, Recorded
from baton.domain.runs.usage import Prices
from baton.domain.threads.feedback import Rating
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, Milliseconds, Timestamp, WireModel
from baton.memory.recalled import BlockKind
from baton.threads.sessions.turn_listing import TurnSummary

MAX_WITHOUT = 200
"""Items that a dry run leaves out."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class TurnFeedback(ServedFeedback):
    """The user's feedback on an answer of a turn."""

    message_id: str = Field(examples=["5d0ad1c6-d1b0-5f6c-8d0c-0f4a2b1e3d4c"])


class Turn(WireModel):
    """One turn: a message and its answer."""

    run_id: str = Field(examples=[RUN_ID])
    message_id: str = Field(description="The message that it answers.", examples=["m-1"])
    attempt: int = Field(examples=[1])
    status: Literal["running", "interrupted", "success", "cancelled", "error", "interrupt"] = Field(
        description="`running`, or `interrupted` where its worker has died, while it is in progress; then its outcome.",
        examples=["success"],
    )
    agent_id: str | None = Field(description="The agent that spoke last.", examples=["assistant"])
    started_at: Timestamp | None = Field(description="null while it is in progress.", examples=[TIMESTAMP])
    ended_at: Timestamp | None = Field(description="null while it is in progress.", examples=[TIMESTAMP])
    usage: ServedUsage
    model: str | None = Field(
        description="The model of the agent that spoke last; null where none did.", examples=["gpt-6-sol"]
    )
    first_token_ms: int | None = Field(
        description="Milliseconds from the message to the first word of the answer; null where there is none, and for "
        "turns from before it was measured.",
        examples=[640],
    )
    cost: float | None = COST
    error_code: str | None = Field(description="The code of the error that it ended with.", examples=[None])
    trace_id: str | None = Field(
        default=None,
        exclude_if=lambda trace_id: trace_id is None,
        description="The id of its OpenTelemetry trace; left out without one, and while it is in progress.",
        examples=["4bf92f3577b34da6a3ce929d0e0e4736"],
    )
    feedback: list[TurnFeedback] = Field(
        default=[],
        exclude_if=lambda feedback: not feedback,
        description="The user's feedback on its answers; left out where there is none.",
    )

    @classmethod
    def from_record(cls, prices: Prices, turn: TurnSummary) -> Turn:
        """Return the served form of ``turn``. What it cost is known once it has ended."""
        is_over = turn.ended_at is not None
        return cls.of(turn, cost=prices.cost(turn.spent, turn.usage) if is_over else None)


class ContextBlock(Recorded):
    """One block of a prompt, even if it is empty."""

    kind: BlockKind
    agent_id: str = Field(description="The agent whose prompt it is.", examples=["assistant"])
    task_id: str | None = Field(description="The sub-task, for an agent that was consulted.", examples=[None])
    tokens: int = Field(examples=[64])
    budget: int | None = Field(
        default=None,
        description="Tokens that it may take: of knowledge and episodes together, of a procedure, and what is left "
        "for the history; null where it has no limit, and in older records.",
        examples=[1500],
    )
    duration_ms: int | None = Field(description="The duration of its retrieval, if there was one.", examples=[38])
    error: str | None = Field(description="The reason that it found nothing, or only by words.", examples=[None])
    items: list[ContextItem]


class ContextCall(Recorded):
    """One call of a model, in the order in which they began."""

    agent_id: str = Field(examples=["assistant"])
    task_id: str | None = Field(examples=[None])
    model: str | None = Field(examples=["gpt-6-sol"])
    began_at: str = Field(examples=[TIMESTAMP])
    messages: list[dict[str, Any]] = Field(
        description="The messages that were sent: role, content, toolCalls, toolCallId, and providerParts, the origin "
        "and tokens of opaque parts that only the model can read. Files stand as references.",
        examples=[[{"role": "system", "content": "You are Assistant."}, {"role": "user", "content": "Hello"}]],
    )
    tools: list[str] = Field(description="Names of the tools that it might call.", examples=[["ask_knowledge"]])
    estimated_tokens: int = Field(examples=[418])
    input_tokens: int | None = Field(description="The provider's count; null if it gave none.", examples=[412])
    output_tokens: int | None = Field(examples=[58])
    cached_input_tokens: int | None = Field(
        default=None,
        description="Those of the input tokens that the provider read from its prompt cache; null in older records.",
        examples=[384],
    )
    cache_write_tokens: int = Field(
        default=0,
        exclude_if=lambda tokens: tokens == 0,
        description="Those of the input tokens that the provider wrote to its prompt cache; left out without any.",
        examples=[256],
    )
    reasoning_tokens: int = Field(
        default=0,
        exclude_if=lambda tokens: tokens == 0,
        description="Those of the output tokens that the model spent on thinking; left out where it reported none.",
        examples=[32],
    )
    dropped: list[str] = Field(
        default=[],
        exclude_if=lambda names: not names,
        description="Settings of the agent that were not sent, because the model does not take them; left out if none.",
        examples=[["temperature"]],
    )
    duration_ms: int | None = Field(
        default=None, description="From the request to the end of the answer; null in older records.", examples=[912]
    )
    error: str | None = Field(description="The code of the failure that ended it.", examples=[None])


class RecordedFeedback(Recorded):
    """The user's feedback on an answer of the turn, as it is now."""

    message_id: str = Field(examples=["5d0ad1c6-d1b0-5f6c-8d0c-0f4a2b1e3d4c"])
    rating: Rating = Field(examples=["down"])
    comment: str | None = Field(description="Without personal data in a redacted record.", examples=["Out of date."])
    updated_at: str = Field(examples=[TIMESTAMP])


class StateText(Recorded):
    """The state at one moment."""

    text: str = Field(description="JSON.", examples=['{"cart": ["A-7"]}'])


class ToolState(Recorded):
    """The state that tools keep in the conversation."""

    before: StateText = Field(description="The state before the turn.")
    after: StateText = Field(description="The state after the turn.")


class RecordedJudgement(Recorded):
    """A verdict of a hook or guardrail that changed something, or its failure."""

    agent_id: str = Field(examples=["assistant"])
    task_id: str | None = Field(description="The sub-task of a consulted agent.", examples=[None])
    point: str = Field(description="The point at which it was called.", examples=["output_guardrail"])
    name: str = Field(examples=["no_prices"])
    verdict: Literal["allow", "replace", "refuse"]
    duration_ms: int = Field(examples=[3])
    failure: str | None = Field(description="The kind of its failure; null if it has judged.", examples=[None])


class ServedContextRecord(Recorded):
    """The prompts of a turn's models, and the reasons for their content."""

    run_id: str = Field(examples=[RUN_ID])
    thread_id: str | None = Field(default=None, examples=[THREAD_ID])
    recorded_at: str | None = Field(
        default=None,
        description="The time at which the record was made, after the end of the run.",
        examples=[TIMESTAMP],
    )
    budget: int | None = Field(
        description="Tokens for the whole prompt of the agent that began; null if none did.", examples=[16000]
    )
    redacted: bool = Field(description="Whether personal data was removed from the texts.")
    cut: list[str] = Field(description="The parts that were cut to keep the record within 2 MiB.", examples=[[]])
    blocks: list[ContextBlock] = Field(
        description="In the order of the prompt: system, procedure, knowledge, episodes, history, current; for each "
        "agent that spoke or was consulted."
    )
    calls: list[ContextCall]
    calls_left_out: int = Field(examples=[0])
    tool_state: ToolState | None = Field(
        default=None, description="The state that tools keep in the conversation; left out if there is none."
    )
    guardrails: list[RecordedJudgement] | None = Field(
        default=None,
        description="The verdicts of hooks and guardrails that changed something, and their failures; left out if "
        "there are none.",
    )
    feedback: list[RecordedFeedback] = Field(default=[], examples=[[]])


class RerunRequest(Asked):
    """Changes to apply to the rerun."""

    model: Name | None = Field(
        default=None,
        description="The model of the agents that answer: one of the settings, or one that an agent's file names.",
        examples=["gpt-6-sol"],
    )
    agent_version: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="A version of the agent that was active, of those that a tenant has made.",
        examples=[3],
    )
    without: Annotated[list[Name], Field(max_length=MAX_WITHOUT)] = Field(
        default=[],
        description="Ids of items that are left out: of facts, messages, summaries, chunks and procedures. Of the "
        "history, the item's whole turn.",
        examples=[["fact_5d0ad1c6d1b05f6c8d0c0f4a2b1e3d4c"]],
    )
    message_id: Name | None = Field(
        default=None,
        description="The turn's message, as the list of turns has it. It spares a search through a long conversation.",
        examples=["m-1"],
    )


class ServedDryCall(WireModel):
    """A call that a model of a dry run has made."""

    agent_id: str = Field(description="The agent that called.", examples=["assistant"])
    tool_name: str = Field(examples=["get_weather"])
    input: dict[str, Any] | str = Field(
        description="The arguments; text where the model wrote no JSON object.", examples=[{"city": "Bern"}]
    )
    is_recorded: bool = Field(description="Whether the turn's own result answered it.")
    outcome: Literal["recorded", "not_executed", "wanted", "waiting"] = Field(
        description="`wanted`: a handoff or another move of the conversation, which was not stored; `waiting`: a "
        "person or the user's application would have to act.",
        examples=["recorded"],
    )
    output: str | None = Field(description="The text that the model got.", examples=["Sunny, 21 °C"])


class Rerun(WireModel):
    """The result of a dry run."""

    answer: str = Field(examples=["Your cat is called Miso."])
    outcome: Literal["success", "cancelled", "interrupt"] = Field(
        description="`interrupt`: it would wait for a person or for the user's application.", examples=["success"]
    )
    agent_id: str | None = Field(description="The agent that spoke last.", examples=["assistant"])
    agent_version: int | None = Field(
        description="The version of the agent that was active; null for one that ships with the deployment.",
        examples=[None],
    )
    model: str | None = Field(description="The last agent's model.", examples=["gpt-6-sol"])
    context: ServedContextRecord
    tool_calls: list[ServedDryCall]
    usage: ServedUsage
    duration_ms: Milliseconds = Field(examples=[1840])
