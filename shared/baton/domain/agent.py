"""Agent definitions: who answers, with which model, in whose words."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from baton.domain.identity import PermissionName
from baton.domain.tool import ToolDefinition

AGENT_ID = r"[a-z][a-z0-9_-]{0,40}"

AgentId = Annotated[str, StringConstraints(pattern=f"^{AGENT_ID}$")]
Locale = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Z]{2})?$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class _Definition(BaseModel):
    """Unknown fields are errors: a misspelt one must not be silently without effect."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False)


class ModelChoice(_Definition):
    """Which model the agent thinks with."""

    name: Text | None = None
    """The model's name at the endpoint; absent: the deployment's default (``BATON_CHAT_MODEL``)."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_output_tokens: int | None = Field(default=None, ge=1, le=200_000)
    timeout_seconds: float = Field(default=60, gt=0, le=600)
    """The longest silence of the model before the run ends with ``model_timeout``."""


class MemorySettings(_Definition):
    """How much of each memory goes into a prompt (M2)."""

    max_working_memory_tokens: int = Field(default=16_000, ge=500, le=1_000_000)
    """Budget of the whole prompt: system prompt, retrieved blocks, history and current message."""
    semantic_top_k: int = Field(default=5, ge=0, le=50)
    episodic_top_k: int = Field(default=5, ge=0, le=50)
    relevance_floor: float = Field(default=0.2, ge=0, le=1)
    retrieved_tokens: int = Field(default=2_000, ge=0, le=100_000)
    """Cap of the knowledge and episode blocks together."""


class Timeouts(_Definition):
    """Limits in seconds and minutes of one agent's work."""

    turn_seconds: float = Field(default=300, gt=0, le=840)
    """A turn is ended with ``turn_timeout`` after this time; the Lambda's own limit may be nearer."""
    consult_seconds: float = Field(default=60, gt=0, le=600)
    """How long the agent may work when another one consults it (O5)."""
    idle_minutes: float = Field(default=30, gt=0, le=60 * 24 * 30)
    """A thread without messages for this long is closed (T4)."""


class AgentDefinition(_Definition):
    """One agent, as its YAML file in ``agents/`` declares it.

    The fields from ``sub_agents`` on are validated here and filled by the capabilities that use them.
    """

    id: AgentId
    name: Text
    description: Text
    avatar_url: str | None = None
    model: ModelChoice = ModelChoice()
    system_prompt: Text
    memory: MemorySettings = MemorySettings()
    timeouts: Timeouts = Timeouts()
    required_permissions: tuple[PermissionName, ...] = ()
    """The caller needs every one of these to talk to the agent; without them it is not even listed."""
    default_locale: Locale = "en"
    sentences: dict[Locale, dict[str, Text]] = Field(default_factory=dict)
    """The fixed sentences Baton says for this agent, by locale and name; never left to a model."""
    ends_conversations: bool = False
    """Whether the agent may close the conversation by itself, with the tool ``end_conversation`` (T4)."""
    main: bool = False
    """Whether a conversation may begin with this agent."""
    tools: tuple[ToolDefinition, ...] = ()
    """Tools outside Baton that its model may call."""
    sub_agents: tuple[AgentId, ...] = ()
    handoffs: tuple[dict[str, Any], ...] = ()
    workflow: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _names_of_tools_are_unique(self) -> AgentDefinition:
        names = [tool.name for tool in self.tools]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two of the tools are named {name!r}")
        return self

    @model_validator(mode="after")
    def _default_locale_has_sentences(self) -> AgentDefinition:
        if self.sentences and self.default_locale not in self.sentences:
            raise ValueError(f"sentences has no entry for the default locale {self.default_locale!r}")
        return self

    def sentence(self, name: str, locale: str | None = None) -> str | None:
        """The fixed sentence ``name`` in ``locale``, its language, or the default locale; None if there is none."""
        for candidate in (locale, locale.split("-")[0] if locale else None, self.default_locale):
            if candidate is not None and name in self.sentences.get(candidate, {}):
                return self.sentences[candidate][name]
        return None

    def as_json(self) -> dict[str, Any]:
        """The wire shape of ``/v1/agents``: camelCase, absent values null."""
        return {
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "avatarUrl": self.avatar_url,
            "main": self.main,
            "endsConversations": self.ends_conversations,
            "model": {
                "name": self.model.name,
                "temperature": self.model.temperature,
                "maxOutputTokens": self.model.max_output_tokens,
                "timeoutSeconds": self.model.timeout_seconds,
            },
            "systemPrompt": self.system_prompt,
            "memory": {
                "maxWorkingMemoryTokens": self.memory.max_working_memory_tokens,
                "semanticTopK": self.memory.semantic_top_k,
                "episodicTopK": self.memory.episodic_top_k,
                "relevanceFloor": self.memory.relevance_floor,
                "retrievedTokens": self.memory.retrieved_tokens,
            },
            "timeouts": {
                "turnSeconds": self.timeouts.turn_seconds,
                "consultSeconds": self.timeouts.consult_seconds,
                "idleMinutes": self.timeouts.idle_minutes,
            },
            "requiredPermissions": list(self.required_permissions),
            "defaultLocale": self.default_locale,
            "sentences": {locale: dict(texts) for locale, texts in self.sentences.items()},
            "tools": [tool.as_json() for tool in self.tools],
            "subAgents": list(self.sub_agents),
            "handoffs": list(self.handoffs),
            "workflow": self.workflow,
        }
