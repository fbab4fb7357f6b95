"""Agent definitions: the model, prompt, tools, handoffs and texts of each agent."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PrivateAttr, StringConstraints, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from baton.domain.agents.agent_code import AgentCode
from baton.domain.agents.agent_settings import (
    LearningSettings,
    MemorySettings,
    ModelChoice,
    RemoteAgent,
    Timeouts,
    ToolLimits,
)
from baton.domain.agents.answer_schema import AnswerSchema
from baton.domain.agents.guardrail import Guardrail
from baton.domain.agents.tool import ToolDefinition, Url
from baton.domain.definition import AgentId, Definition, LibraryName, Locale, Text
from baton.domain.handoffs.handoff import HandoffDefinition
from baton.domain.handoffs.triggers import ExitWord, Trigger
from baton.domain.handoffs.workflow_definition import WorkflowDefinition
from baton.domain.tenants.identity import PermissionName

MAX_LIBRARIES = 8
"""Libraries of an agent. Each is searched beside the agent's own documents."""
_EXIT_WORDS: tuple[str, ...] = ("cancel", "exit")


class AgentDefinition(Definition):
    """One agent, as its YAML file in ``agents/`` declares it.

    The fields from ``sub_agents`` on are validated here and filled by the capabilities that use them.
    """

    id: AgentId
    name: Text
    description: Text
    avatar_url: Url | None = None
    ends_conversations: bool = False
    """Whether the agent may close the conversation with the tool ``end_conversation``."""
    remote: RemoteAgent | None = None
    """The endpoint of a remote agent, which has its own model and prompt."""
    model: ModelChoice = ModelChoice()
    system_prompt: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(default="", validate_default=True)
    """The system prompt. Only remote agents have none."""
    answer_schema: AnswerSchema | None = None
    """JSON Schema of its answers, of type object. The final answer of a turn is then JSON that is valid against it."""
    memory: MemorySettings = MemorySettings()
    learning: LearningSettings = LearningSettings()
    timeouts: Timeouts = Timeouts()
    limits: ToolLimits = ToolLimits()
    required_permissions: tuple[PermissionName, ...] = ()
    """The permissions a caller needs to talk to the agent. Without all of them, the agent is not listed."""
    default_locale: Locale = "en"
    sentences: dict[Locale, dict[str, Text]] = Field(default_factory=dict)
    """The fixed sentences that Baton, and never a model, says for this agent, by locale and name."""
    main: bool = False
    """Whether a conversation may begin with this agent."""
    mcp: bool = False
    """Whether the agent is a tool at ``/mcp``, for assistants of others. A call begins a conversation with it."""
    tools: tuple[ToolDefinition, ...] = ()
    """External tools that its model may call."""
    guardrails: tuple[Guardrail, ...] = Field(default=(), max_length=8)
    """Endpoints that judge what users and the agent say."""
    libraries: tuple[LibraryName, ...] = Field(default=(), max_length=MAX_LIBRARIES)
    """The project's libraries of documents that it finds besides its own documents."""
    sub_agents: tuple[AgentId, ...] = ()
    handoffs: tuple[HandoffDefinition, ...] = ()
    """Agents it may hand the conversation over to."""
    triggers: tuple[Trigger, ...] = Field(default=(), max_length=50)
    """Phrases and patterns of messages that another agent hands over to this one."""
    triggers_in_session: tuple[Trigger, ...] = Field(default=(), max_length=50)
    """Phrases and patterns of messages that ask for another task of this agent while it is active."""
    exit_words: dict[Locale, tuple[ExitWord, ...]] = Field(default_factory=lambda: {"en": _EXIT_WORDS})
    """Messages that consist of one of these words return the user to the main agent; by locale."""
    workflow: WorkflowDefinition | None = None
    """The agent's guided workflow."""
    client_tools: bool = True
    """Whether its model may call tools that the user's application offers. Otherwise they are not offered to it."""
    client_context: bool = True
    """Whether its prompt holds the context that the user's application sends."""
    _tenant_id: str | None = PrivateAttr(default=None)
    _version: int | None = PrivateAttr(default=None)
    _code: AgentCode = PrivateAttr(default_factory=AgentCode)

    @property
    def tenant_id(self) -> str | None:
        """The tenant that has made the agent; None: it ships with the deployment."""
        return self._tenant_id

    @property
    def version(self) -> int | None:
        """The version of a tenant's agent; None: it ships with the deployment."""
        return self._version

    @property
    def code(self) -> AgentCode:
        """The functions of an agent that is written in Python; empty for an agent of a file in YAML."""
        return self._code

    def for_unseen_answer(self, schema: dict[str, Any] | None) -> AgentDefinition:
        """Return the agent for one answer that nobody sees, as JSON by ``schema`` or as text."""
        guardrails = tuple(filter(None, (guardrail.around_model() for guardrail in self.guardrails)))
        changed = self.model_copy(
            update={"answer_schema": schema, "guardrails": guardrails, "limits": self._one_answer}
        )
        changed._code = self._code.of_model()
        return changed

    def for_seen_answer(self) -> AgentDefinition:
        """Return the agent for one answer of its model to the user."""
        return self.model_copy(update={"limits": self._one_answer})

    @property
    def _one_answer(self) -> ToolLimits:
        """The limits of an answer without tools, which never reaches the request that asks for an end of the work."""
        return self.limits.model_copy(update={"model_calls": 3, "tool_calls": 1})

    def of_tenant(self, tenant_id: str, version: int) -> AgentDefinition:
        """Note which tenant has made the agent, with its tools, in which version, and return it."""
        self._version = version
        for part in (self, *self.tools, *(guardrail.as_tool for guardrail in self.guardrails)):
            part._tenant_id = tenant_id
        return self

    @field_validator("system_prompt")
    @classmethod
    def _agents_of_ours_have_a_prompt(cls, prompt: str, info: ValidationInfo) -> str:
        # If ``remote`` is invalid, it is absent from the data, and pydantic reports it separately.
        if not prompt and "remote" in info.data and info.data["remote"] is None:
            raise PydanticCustomError("missing", "Field required: what the model is told first")
        return prompt

    @model_validator(mode="after")
    def _fits_together(self) -> AgentDefinition:
        is_remote = self.remote is not None
        rules = {
            "a conversation cannot begin with a remote agent: leave `main` out": is_remote and self.main,
            "a remote agent decides on its answers itself: leave `answer_schema` out": (
                is_remote and self.answer_schema is not None
            ),
            "a call over MCP begins a conversation: set `main` too, or leave `mcp` out": self.mcp and not self.main,
            "guardrails judge agents of this deployment only: leave `guardrails` out": is_remote and self.guardrails,
            "a remote agent keeps its workflow to itself: leave `workflow` out": is_remote and self.workflow,
            "a remote agent finds no documents of this deployment: leave `libraries` out": is_remote and self.libraries,
            "libraries names one of them twice": len(set(self.libraries)) < len(self.libraries),
            f"sentences has no entry for the default locale {self.default_locale!r}": (
                self.sentences and self.default_locale not in self.sentences
            ),
        }
        problem = next((problem for problem, is_broken in rules.items() if is_broken), None)
        if problem is not None:
            raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _names_are_unique(self) -> AgentDefinition:
        tools = [tool.name for tool in self.tools]
        guardrails = [guardrail.name for guardrail in self.guardrails]
        taken = sorted({name for name in guardrails if (guardrails + tools).count(name) > 1})
        if taken:
            raise ValueError(f"two guardrails, or a guardrail and a tool, have the name {', '.join(taken)}")
        for name in tools:
            if tools.count(name) > 1:
                raise ValueError(f"two of the tools are named {name!r}")
        return self

    @model_validator(mode="after")
    def _hands_over_to_others(self) -> AgentDefinition:
        targets = [handoff.agent for handoff in self.handoffs]
        for target in targets:
            if target == self.id:
                raise ValueError("an agent cannot hand over to itself")
            if targets.count(target) > 1:
                raise ValueError(f"two of the handoffs are to {target!r}")
        return self

    def sentence(self, name: str, locale: str | None = None) -> str | None:
        """Return the sentence ``name`` in ``locale``, its language, or the default locale; None if there is none."""
        for candidate in (locale, locale.split("-")[0] if locale else None, self.default_locale):
            if candidate is not None and name in self.sentences.get(candidate, {}):
                return self.sentences[candidate][name]
        return None
