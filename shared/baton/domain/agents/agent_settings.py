"""Settings of an agent in groups: model, memory, learning, time limits, limits of tools, and its endpoint elsewhere."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, StringConstraints, field_validator, model_validator

from baton.domain.definition import EVENT_TYPE, Definition, Text
from baton.domain.tenants.secret import Headers

ModelName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_048)]
"""A model's name, or ``<provider>/<name>``. The ARN of an inference profile may be long."""

OWN_FIELDS = frozenset(
    {"model", "messages", "input", "instructions", "system", "tools", "toolConfig", "stream", "store", "n"}
)
"""Fields of a request that ``ModelChoice.extra`` cannot set, because Baton's own work depends on them."""
MAX_EXTRA_BYTES = 8 * 1024
"""Bytes of ``ModelChoice.extra`` as JSON."""


class ModelChoice(Definition):
    """The agent's model and its parameters. A parameter that the model does not take is left out and reported."""

    name: ModelName | None = None
    """The model's name at the endpoint, or ``<provider>/<name>``. Default: the deployment's (``BATON_CHAT_MODEL``)."""
    fallback: tuple[ModelName, ...] = Field(default=(), max_length=5)
    """Models that are asked in this order while the model is unavailable or throttled."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_output_tokens: int | None = Field(default=None, ge=1, le=200_000)
    reasoning_effort: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,20}$")] | None = None
    """The effort of the model's thinking, in its provider's words: ``low``, ``medium``, ``high``, ..."""
    show_reasoning: bool = False
    """True if users see the model's thinking, if the model sends it."""
    verbosity: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,20}$")] | None = None
    """The length of its answers: ``low``, ``medium`` or ``high``."""
    tool_choice: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,64}$")] | None = None
    """Tool choice of the first model call: ``auto``, ``required``, ``none`` or the name of a tool."""
    parallel_tool_calls: bool | None = None
    """True if the model may call several tools at once."""
    extra: dict[str, Any] = Field(default_factory=dict, max_length=32)
    """Further fields of the request, passed through as they are."""
    timeout_seconds: float = Field(default=60, ge=1, le=600)
    """The longest wait for the model before the run ends with ``model_timeout``."""

    @field_validator("extra")
    @classmethod
    def _leaves_own_fields(cls, extra: dict[str, Any]) -> dict[str, Any]:
        own_fields = sorted(OWN_FIELDS & extra.keys())
        if own_fields:
            raise ValueError(f"`extra` cannot set {', '.join(own_fields)}: Baton sets that itself")
        try:
            size = len(json.dumps(extra, allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            raise ValueError("`extra` must hold JSON values only") from None
        if size > MAX_EXTRA_BYTES:
            raise ValueError(f"`extra` has {size} bytes, and at most {MAX_EXTRA_BYTES} are sent")
        return extra


class RetrievedPlace(StrEnum):
    """The place of the retrieved blocks in a prompt."""

    BEFORE_HISTORY = "before_history"
    BEFORE_MESSAGE = "before_message"
    """Right before the message. The history is then the same from turn to turn, so that a prompt cache holds it."""


class MemorySettings(Definition):
    """Token budgets of the parts of a prompt, and the treatment of history that no longer fits."""

    max_working_memory_tokens: int = Field(default=16_000, ge=500, le=1_000_000)
    """Budget of the whole prompt: system prompt, retrieved blocks, history and current message."""
    semantic_top_k: int = Field(default=5, ge=0, le=50)
    """The most items of retrieved knowledge. 0 switches its retrieval off."""
    episodic_top_k: int = Field(default=5, ge=0, le=50)
    """The most snippets of past conversations. 0 switches their retrieval off."""
    relevance_floor: float = Field(default=0.2, ge=0, le=1)
    """The least cosine similarity of knowledge and snippets to the message."""
    procedural_floor: float = Field(default=0.5, ge=0, le=1)
    """The least cosine similarity of a procedure to a message that matches no procedure's trigger."""
    # Higher than ``relevance_floor``: a wrong procedure changes what the agent does, a needless snippet costs tokens.
    retrieved_tokens: int = Field(default=2_000, ge=0, le=100_000)
    """Cap of the knowledge and episode blocks together."""
    retrieved: RetrievedPlace = RetrievedPlace.BEFORE_HISTORY
    """The place of the procedure, the knowledge and the past conversations: before the history or the message."""
    summary: bool = True
    """Whether the light model keeps a summary of the messages that have left the history."""
    whole_tool_results: int | None = Field(default=5, ge=0, le=1_000)
    """The newest results of tools that stay whole when the history is cut. Older ones are replaced by their length.
    ``null`` keeps all of them."""


class LearningSettings(Definition):
    """The rules by which completed tasks become procedures that wait for approval."""

    enabled: bool = True
    """Whether procedures are captured from the agent's conversations. The deployment may switch all capturing off."""
    min_calls: int = Field(default=3, ge=2, le=100)
    """The least number of successful tool calls of a task."""
    min_tools: int = Field(default=2, ge=1, le=50)
    """The least number of different tools in these calls."""
    sample_rate: float = Field(default=1, ge=0, le=1)
    """The share of such tasks that the light model is asked about."""
    max_per_day: int = Field(default=50, ge=0, le=10_000)
    """The most tasks that the light model is asked about in a day, in a tenant."""
    duplicate_floor: float = Field(default=0.85, ge=0, le=1)
    """The similarity from which a draft counts as a version of an existing procedure."""


class ScheduleConversation(StrEnum):
    """The conversation that runs of schedules enter."""

    SAME = "same"
    """The conversation in which the schedule was made."""
    NEWEST = "newest"
    """The user's conversation with the agent in which something has happened last."""


class ScheduleRules(Definition):
    """The schedules and reminders that users may have with an agent."""

    allowed: bool = False
    """Whether the agent and its users may make schedules."""
    max_per_user: int = Field(default=20, ge=1, le=200)
    """The most schedules of a user that are not finished."""
    min_interval_minutes: int = Field(default=60, ge=1, le=60 * 24 * 366)
    """The least time between two runs of a schedule that repeats."""
    conversation: ScheduleConversation = ScheduleConversation.SAME
    """The conversation that the runs enter: ``same``, in which the schedule was made, or the user's ``newest`` one with
    the agent."""


class AfterClosing(StrEnum):
    """The treatment of a task's result that arrives after its conversation was closed."""

    REOPENS = "reopens"
    """The result opens the conversation again."""
    WAITS = "waits"
    """The result enters after the user has opened the conversation again."""


class BackgroundSettings(Definition):
    """The settings of an agent's background tasks."""

    expires_hours: float = Field(default=24, gt=0, le=24 * 30)
    """The time after which the work of a sub-agent is abandoned."""
    after_closing: AfterClosing = AfterClosing.REOPENS
    """The treatment of results in closed conversations that began with the agent: ``reopens`` or ``waits``."""


MAX_EVENT_TYPES = 50


class EventRule(Definition):
    """A type of events that an agent takes, with its instructions."""

    type: Annotated[str, StringConstraints(pattern=f"^{EVENT_TYPE}$")]
    """The type, as its sender writes it, such as ``order.shipped``."""
    instructions: Annotated[Text, StringConstraints(max_length=4_000)]
    """The instructions for its model about such an event. The data of the event is no instruction."""


class WhileBusy(StrEnum):
    """The treatment of a message that arrives while a run is in progress."""

    QUEUE = "queue"
    """The message waits, and is answered after the run and the messages before it."""
    STEER = "steer"
    """The message enters the run before the next request to the model. If the run ends first, it is answered next."""
    INTERRUPT = "interrupt"
    """The run stops, and the message is answered next."""

    @property
    def as_accepted(self) -> str:
        """The word for the treatment in the acknowledgement of a message."""
        return {WhileBusy.QUEUE: "queued", WhileBusy.STEER: "steered", WhileBusy.INTERRUPT: "interrupts"}[self]


class Timeouts(Definition):
    """Limits in seconds and minutes of one agent's work."""

    turn_seconds: float = Field(default=300, gt=0, le=840)
    """A turn ends with ``turn_timeout`` after this time. The Lambda's own limit may be shorter."""
    consult_seconds: float = Field(default=60, gt=0, le=600)
    """The time that the agent may work when another agent consults it."""
    idle_minutes: float = Field(default=30, gt=0, le=60 * 24 * 30)
    """A thread without messages for this long is closed."""


class ToolLimits(Definition):
    """Limits of an agent's work in one turn. At a limit of calls, time or tokens, it answers with what it has."""

    model_calls: int = Field(default=10, ge=1, le=100)
    """Model calls, the last answer included."""
    tool_calls: int = Field(default=30, ge=0, le=500)
    bad_calls: int = Field(default=3, ge=0, le=50)
    """Invalid calls, of unknown tools or with arguments that do not fit. They go back to the model as errors."""
    tool_seconds: float = Field(default=180, gt=0, le=840)
    """Time after the first call in which further calls may begin."""
    tokens: int = Field(default=200_000, ge=1_000, le=10_000_000)
    """Tokens that the turn's model calls may use together before the last answer."""
    result_chars: int = Field(default=20_000, ge=200, le=60_000)
    """The longest result of a call for the model. The complete result is stored."""
    approval_hours: float = Field(default=24 * 7, gt=0, le=24 * 365)
    """The time that a call waits for approval."""


CardUrl = Annotated[
    str,
    StringConstraints(
        # Without a user, a password, a query or a fragment. Plain http is for localhost. The egress policy allows it in
        # the local cloud only.
        pattern=r"^(https://[A-Za-z0-9.\[\]:_-]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?)(/[!\"$->@-~]*)?$",
        max_length=2_000,
    ),
]


class CardSignature(Definition):
    """The signature that the card of a remote agent must have."""

    jwks_url: CardUrl | None = None
    """The address of the trusted keys (a JWK set)."""
    keys: tuple[dict[str, str], ...] = Field(default=(), max_length=20)
    """The trusted keys themselves, as public JWKs with a ``kid``."""

    @model_validator(mode="after")
    def _has_public_keys(self) -> CardSignature:
        if (self.jwks_url is None) == (not self.keys):
            raise ValueError("give either jwks_url or keys")
        for key in self.keys:
            if not key.get("kid") or key.get("kty") not in ("EC", "RSA", "OKP"):
                raise ValueError("each key needs a kid, and a kty of EC, RSA or OKP")
            if "d" in key:
                raise ValueError("a key is private: write down its public part only")
        return self


class RemoteAgent(Definition):
    """The A2A endpoint of a remote agent."""

    card_url: CardUrl
    """The address of its agent card (``.json``), or the base URL of ``/.well-known/agent-card.json``."""
    headers: Headers = Field(default_factory=dict)
    """Headers of every request to the origin of the card. Other origins do not get them."""
    card_signature: CardSignature | None = None
    """The required signature of the card. An agent whose card lacks it is not called."""
    sends_trace: bool = False
    """Whether requests carry the trace context of the turn (``traceparent``), to the origin of the card only."""
