"""Agent definitions: the model, prompt, tools, handoffs and texts of each agent."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, PrivateAttr, StringConstraints, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from baton.domain.agents.agent_code import AgentCode
from baton.domain.agents.agent_settings import (
    MAX_EVENT_TYPES,
    BackgroundSettings,
    EventRule,
    LearningSettings,
    MemorySettings,
    ModelChoice,
    RemoteAgent,
    ScheduleRules,
    Timeouts,
    ToolLimits,
    WhileBusy,
)
from baton.domain.agents.answer_schema import AnswerSchema, AnswerType
from baton.domain.agents.guardrail import Guardrail
from baton.domain.agents.tool import ToolDefinition, Url
from baton.domain.definition import AgentId, Definition, LibraryName, Locale, Text
from baton.domain.desks.desk import DeskDefinition
from baton.domain.handoffs.handoff import HandoffDefinition
from baton.domain.handoffs.triggers import ExitWord, Trigger
from baton.domain.handoffs.workflow_definition import WorkflowDefinition
from baton.domain.tenants.identity import PermissionName

MAX_LIBRARIES = 8
"""Libraries of an agent. Each is searched beside the agent's own documents."""
_EXIT_WORDS: tuple[str, ...] = ("cancel", "exit")
_OF_A_MODEL = (
    "model",
    "system_prompt",
    "answer_schema",
    "memory",
    "learning",
    "remote",
    "main",
    "mcp",
    "tools",
    "guardrails",
    "libraries",
    "sub_agents",
    "background_agents",
    "background",
    "handoffs",
    "triggers_in_session",
    "workflow",
    "ends_conversations",
    "events",
)
"""Fields that a desk lacks, because people answer there."""


class AgentKind(StrEnum):
    """The kind of an agent: who writes its answers."""

    AGENT = "agent"
    """A model or a function."""
    DESK = "desk"
    """People."""


class VersionPolicy(StrEnum):
    """The version of a tenant's agent that a running session uses."""

    PINNED = "pinned"
    """The version with which the session began."""
    LATEST = "latest"
    """The newest version in each turn."""


class AgentDefinition(Definition):
    """One agent, as its YAML file in ``agents/`` declares it."""

    id: AgentId
    name: Text
    description: Text
    kind: AgentKind = AgentKind.AGENT
    desk: DeskDefinition | None = None
    """The rules of a desk. Agents of another kind have none."""
    avatar_url: Url | None = None
    ends_conversations: bool = False
    """Whether the agent may close the conversation with the tool ``end_conversation``."""
    remote: RemoteAgent | None = None
    """The endpoint of a remote agent, which has its own model and prompt."""
    model: ModelChoice = ModelChoice()
    system_prompt: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(default="", validate_default=True)
    """The system prompt. Only remote agents and desks have none."""
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
    """The project's libraries of documents that the agent searches besides its own documents."""
    sub_agents: tuple[AgentId, ...] = ()
    """Agents that it may ask. An entry in a file may be ``{agent: <id>, background: true}``."""
    background_agents: tuple[AgentId, ...] = ()
    """The sub-agents that work in the background: the conversation continues, and the result starts a run."""
    background: BackgroundSettings = BackgroundSettings()
    """The time limit of background work, and the treatment of its results in closed conversations."""
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
    schedules: ScheduleRules = ScheduleRules()
    """The schedules and reminders that its users may have."""
    events: tuple[EventRule, ...] = Field(default=(), max_length=MAX_EVENT_TYPES)
    """The types of events that begin a run of it."""
    while_busy: WhileBusy = WhileBusy.QUEUE
    """The treatment of messages that arrive while the agent works: ``queue``, ``steer`` or ``interrupt``."""
    while_busy_allowed: tuple[WhileBusy, ...] | None = Field(default=None, min_length=1, max_length=3)
    """The treatments that a message may choose; without the field, all of them."""
    version_policy: VersionPolicy = VersionPolicy.PINNED
    """The version of a tenant's agent that a running session uses: ``pinned``, the version with which it began, or
    ``latest``, the newest version in each turn."""
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

    def allows(self, treatment: WhileBusy) -> bool:
        """Return whether a message that arrives while the agent works may ask for ``treatment``."""
        return self.while_busy_allowed is None or treatment in self.while_busy_allowed

    def find_event_rule(self, event_type: str) -> EventRule | None:
        """Return the rule for events of a type; None if the agent does not take them."""
        return next((rule for rule in self.events if rule.type == event_type), None)

    def for_unseen_answer(self, answer_type: AnswerType | None) -> AgentDefinition:
        """Return a copy of the agent for one answer that nobody sees: JSON of ``answer_type``, or text without one."""
        guardrails = tuple(filter(None, (guardrail.around_model() for guardrail in self.guardrails)))
        changed = self.model_copy(
            update={
                "answer_schema": answer_type and answer_type.schema,
                "guardrails": guardrails,
                "limits": self._limits_of_one_answer,
            }
        )
        changed._code = self._code.of_model(answer_type.check if answer_type is not None else None)
        return changed

    def for_seen_answer(self) -> AgentDefinition:
        """Return a copy of the agent for one answer of its model to the user."""
        return self.model_copy(update={"limits": self._limits_of_one_answer})

    @property
    def _model_fields_of_desk(self) -> list[str]:
        """The names of the fields for models that this desk sets; empty for other kinds of agents."""
        if self.kind is not AgentKind.DESK:
            return []
        fields = type(self).model_fields
        return [name for name in _OF_A_MODEL if getattr(self, name) != fields[name].get_default()]

    @property
    def _limits_of_one_answer(self) -> ToolLimits:
        """Limits with which a single answer without tools never gets the request to finish its work."""
        return self.limits.model_copy(update={"model_calls": 3, "tool_calls": 1})

    def of_tenant(self, tenant_id: str, version: int) -> AgentDefinition:
        """Note the tenant that has made the agent and its tools, and the version. Return the agent itself."""
        self._version = version
        for part in (self, *self.tools, *(guardrail.as_tool for guardrail in self.guardrails)):
            part._tenant_id = tenant_id
        return self

    @model_validator(mode="before")
    @classmethod
    def _add_desk_rules(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or values.get("kind") != AgentKind.DESK:
            return values
        return {**values, "desk": values.get("desk") or {}}

    @model_validator(mode="before")
    @classmethod
    def _read_background_agents(cls, values: Any) -> Any:
        entries = values.get("sub_agents") if isinstance(values, Mapping) else None
        if not isinstance(entries, list | tuple) or not any(isinstance(entry, Mapping) for entry in entries):
            return values
        ids, background = [], []
        for index, entry in enumerate(entries):
            if isinstance(entry, Mapping):
                unknown = entry.keys() - {"agent", "background"}
                if unknown or not isinstance(entry.get("background", False), bool) or "agent" not in entry:
                    raise ValueError(f"sub_agents[{index}]: write an id, or `agent` with `background: true`")
                ids.append(entry["agent"])
                if entry.get("background"):
                    background.append(entry["agent"])
            else:
                ids.append(entry)
        declared = values.get("background_agents", ())
        if isinstance(declared, list | tuple):  # pydantic reports other values
            values = {**values, "background_agents": [*declared, *background]}
        return {**values, "sub_agents": ids}

    @field_validator("system_prompt")
    @classmethod
    def _has_a_prompt(cls, prompt: str, info: ValidationInfo) -> str:
        # If ``remote`` is invalid, it is absent from the data, and pydantic reports it separately.
        is_desk = info.data.get("kind") is AgentKind.DESK
        if not prompt and not is_desk and "remote" in info.data and info.data["remote"] is None:
            raise PydanticCustomError("missing", "Field required: what the model is told first")
        return prompt

    @model_validator(mode="after")
    def _fits_together(self) -> AgentDefinition:
        is_remote = self.remote is not None
        rules = {
            f"people answer at a desk: leave `{'`, `'.join(self._model_fields_of_desk)}` out": (
                self._model_fields_of_desk
            ),
            "only desks have `desk`: set `kind: desk` too, or leave it out": (
                self.desk is not None and self.kind is not AgentKind.DESK
            ),
            "a conversation cannot begin with a remote agent: leave `main` out": is_remote and self.main,
            "a remote agent decides on its answers itself: leave `answer_schema` out": (
                is_remote and self.answer_schema is not None
            ),
            "a call over MCP begins a conversation: set `main` too, or leave `mcp` out": self.mcp and not self.main,
            "guardrails judge agents of this deployment only: leave `guardrails` out": is_remote and self.guardrails,
            "a remote agent keeps its workflow to itself: leave `workflow` out": is_remote and self.workflow,
            "a remote agent finds no documents of this deployment: leave `libraries` out": is_remote and self.libraries,
            "while_busy is none of while_busy_allowed: add it there": not self.allows(self.while_busy),
            "background_agents names agents that are not in sub_agents: add them there": (
                set(self.background_agents) - set(self.sub_agents)
            ),
            "only an agent that conversations begin with takes events: set `main` too, or leave `events` out": (
                self.events and not self.main
            ),
            "events names one of the types twice": len({rule.type for rule in self.events}) < len(self.events),
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
        shared_names = sorted({name for name in guardrails if (guardrails + tools).count(name) > 1})
        if shared_names:
            raise ValueError(f"two guardrails, or a guardrail and a tool, have the name {', '.join(shared_names)}")
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

    def find_sentence(self, name: str, locale: str | None = None) -> str | None:
        """Return the agent's sentence ``name``; None if it has none.

        The sentence is in ``locale``, or else in its language, or else in the default locale.
        """
        sentence_locale = self.find_sentence_locale(name, locale)
        return self.sentences[sentence_locale][name] if sentence_locale is not None else None

    def find_sentence_locale(self, name: str, locale: str | None = None) -> str | None:
        """Return the locale whose sentence ``name`` is shown to a user of ``locale``; None if no locale has one."""
        candidates = (locale, locale.split("-")[0] if locale else None, self.default_locale)
        return next(
            (candidate for candidate in candidates if candidate and name in self.sentences.get(candidate, {})), None
        )


def is_desk(agent: AgentDefinition | None) -> bool:
    """Return whether the agent is a desk, where people answer; False for None."""
    return agent is not None and agent.desk is not None
