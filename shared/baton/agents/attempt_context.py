"""The services of agents, and one attempt at a run: its lease, deadline, events and progress."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ag_ui.core import BaseEvent

from baton.agents.context_budgets import ContextBudgets
from baton.agents.incoming import Incoming, NoIncoming
from baton.agents.run_facts import RunFacts
from baton.agents.step_journal import StepJournal
from baton.agents.transcript import Transcript
from baton.authoring.functions import Functions
from baton.concurrency.deferred_tasks import DeferredTasks
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import ToolLimits
from baton.domain.agents.guardrail import Origin
from baton.domain.documents.numbered_passages import PassageNumbers
from baton.domain.errors import LeaseLost, StoreUnavailable
from baton.domain.runs.conversation_data import ConversationData
from baton.domain.runs.task import RemoteTask
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.runs.usage import ModelUsage, Usage
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending import SpendingWarning
from baton.domain.threads.content import with_text
from baton.domain.threads.events import make_spending_warning
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.thread import Run
from baton.domain.threads.turn_requests import MessageRequest
from baton.domain.times import Today
from baton.memory.agent_memory import AgentMemory
from baton.memory.inspection.inspection import Inspection
from baton.memory.prompt.history_reading import ReadHistory
from baton.memory.prompt.message_prompts import count_message_tokens, quote_cause
from baton.memory.recalled import MemorySearch
from baton.ports.agents.agent_client import AgentClient
from baton.ports.agents.chat_model import ChatModel, ModelCaller, ModelSettings, TokenCounter
from baton.ports.agents.tools import Tools, TurnContext
from baton.ports.clock import Clock
from baton.ports.documents.files import Files, ThreadFiles
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.leases import Lease
from baton.ports.threads.run_records import RunRecords
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.threads.background.background_work import BackgroundWork
from baton.threads.handoffs.conversation_states import ConversationTracker


@dataclass(frozen=True, slots=True)
class AgentServices:
    """The services that an agent at work uses, whether it answers the user or is consulted."""

    registry: AgentRegistry
    model: ChatModel
    default_model: str
    light_model: str
    """The model for tasks that must be quick rather than clever."""
    memory: AgentMemory
    tools: Tools
    agent_client: AgentClient
    records: RunRecords
    files: Files
    counter: TokenCounter
    audit: AuditLog
    clock: Clock
    background: Callable[[], BackgroundWork] | None
    """Returns the service that begins background tasks; None in a dry run, which begins no tasks."""
    budgets: ContextBudgets = field(default_factory=ContextBudgets)
    """The limits, in tokens, of each model's prompts."""
    functions: Functions = field(default_factory=Functions)
    """The functions of agents written in Python."""


Context = TypeVar("Context", bound=TurnContext)

EmitEvent = Callable[[BaseEvent], None]
"""Takes the events of a run in their order. It never blocks and raises no errors."""

MAX_RESERVE_SECONDS = 15.0
RESERVED_SHARE = 0.25
"""The share of a turn's time that is reserved for its last answer, at most ``MAX_RESERVE_SECONDS``."""
SHARE_OF_SILENCE = 0.9
"""The share of a consultation's time after which a silent model counts as failed."""


@dataclass(slots=True)
class ScreenedQuestion:
    """The verdict of guardrails on the user's message of a run."""

    text: str | None = None
    """The replacement of the message's text; None if the text is unchanged."""
    is_refused: bool = False
    judged_by: list[str] = field(default_factory=list)
    """The ids of agents whose guardrails have allowed the message."""

    def allow(self, agent: AgentDefinition) -> None:
        """Note that the agent's guardrails have allowed the message, perhaps with a replacement in ``text``."""
        self.is_refused = False
        self.judged_by.append(agent.id)

    def apply(self, message: StoredMessage, counter: TokenCounter) -> StoredMessage:
        """Return the message with the replacement of its text, which agents get and the thread stores.

        Return it unchanged without a replacement, or if it is no message of the user.
        """
        if self.text is None or message.role is not Role.USER:
            return message
        content = with_text(message.content, self.text)
        words = content if message.begun_by is None else quote_cause(message.begun_by, self.text)
        return replace(message, content=content, tokens=count_message_tokens(words, counter), is_rewritten=True)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a run, for the dialogue and for the agents and tools that work on it."""

    facts: RunFacts
    services: AgentServices
    lease: Callable[[], Lease]
    """The lease as last renewed. Every write carries its fence."""
    ensure_lease: Callable[[], Awaitable[None]]
    """Renews the lease if necessary. Raises ``LeaseLost`` if another worker has the run."""
    deadline: float
    """Event loop time by which the turn must have ended."""
    reserve_seconds: float
    """The time before the deadline in which no tool or agent is called, so that the agent can still answer."""
    emit: EmitEvent
    """Takes the run's events for its user."""
    today: Today
    """The day on which the run began, for all its agents. It does not change at midnight."""
    history: ReadHistory
    """The messages before the question that are available for the active agent's prompt."""
    search: MemorySearch
    """The memory search for the message, on behalf of the agent that is active when the run begins."""
    tracker: ConversationTracker
    transcript: Transcript
    journal: Mapping[str, ToolCallRecord]
    """The calls that earlier attempts have executed, by call id. They are not repeated."""
    remote_tasks: dict[str, RemoteTask]
    """Tasks of remote agents that an earlier attempt began, by the id of Baton's message to the remote agent.

    The run removes each task that it follows. Tasks that remain after the run are stopped.
    """
    steps: StepJournal
    """The recorded steps of agents with a ``run`` coroutine in this exchange."""
    inspection: Inspection
    """The notes of the Context Inspector on the run."""
    data: ConversationData
    """The data that tools keep in the conversation, with the changes of this attempt."""
    incoming: Incoming = field(default_factory=NoIncoming)
    """The user's messages that enter the run while it is in progress."""
    enter: Callable[[StoredMessage], None] | None = None
    """Passes a message that has entered a fork's run to the parent thread; None outside a fork."""
    ends_at_once_as: OutcomeType | None = None
    """The outcome of a run that is not answered: ERROR if given up, CANCELLED if cancelled while it waited.

    None if the run is answered.
    """
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to end the run before its answer is complete."""
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the question is stored. Until then no tool is called and no other agent is asked."""
    passed_on: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when another worker takes over the run, so that remote agents continue their work for that worker."""
    writes: DeferredTasks = field(default_factory=DeferredTasks)
    """Writes of records. The commit waits for them; the answer does not."""
    screened: ScreenedQuestion = field(default_factory=ScreenedQuestion)
    numbers: PassageNumbers = field(default_factory=PassageNumbers)
    """The numbers of passages in the prompts of the run. A consulted agent has separate numbers."""
    verdicts: dict[tuple[str, Origin, str], str | None] = field(default_factory=dict)
    """Verdicts on texts of the run's prompts other than the question, by agent id, origin and text.

    A verdict is the text to use, or None if the text is refused.
    """
    spent: list[ModelUsage] = field(default_factory=list)
    """The usage of each model call."""
    versions: dict[str, int] = field(default_factory=dict)
    """The versions of the tenant's agents that have taken part, by agent id."""
    warned: set[str] = field(default_factory=set)
    """The accounts about whose spending this attempt has warned the user."""

    @property
    def scope(self) -> Scope:
        return self.facts.scope

    @property
    def thread_id(self) -> str:
        return self.facts.thread.id

    @property
    def run(self) -> Run:
        return self.facts.run

    @property
    def files(self) -> ThreadFiles:
        """The files of the thread."""
        return self.services.files.of_thread(self.scope, self.thread_id)

    def emit_all(self, events: Iterable[BaseEvent]) -> None:
        """Emit each event as soon as the iterable yields it."""
        for event in events:
            self.emit(event)

    def warn(self, warning: SpendingWarning) -> None:
        """Warn the user that most of a spending limit is used up, once in this attempt for each account."""
        if warning.account not in self.warned:
            self.warned.add(warning.account)
            self.emit(make_spending_warning(warning))

    def note_version(self, agent: AgentDefinition) -> None:
        """Note the version of an agent that takes part, so that the session keeps using this version."""
        if agent.version is not None:
            self.versions[agent.id] = agent.version

    async def may_act(self) -> bool:
        """Wait until the question is stored, and return whether tools and agents may be called.

        They may not after the run was stopped. Raises ``LeaseLost`` and ``StoreUnavailable``.
        """
        await self.opened.wait()
        if self.stop.is_set():
            return False
        await self.ensure_lease()
        return not self.stop.is_set()

    async def keep_remote_task(self, task: RemoteTask) -> None:
        """Store the task of a remote agent, so that a worker that takes over the run can follow it.

        Raises ``LeaseLost`` and ``StoreUnavailable``. In both cases the remote agent continues its work.
        """
        try:
            await self.services.records.put_remote_task(self.lease(), task)
        except (LeaseLost, StoreUnavailable):
            self.passed_on.set()
            raise

    def make_context(self, kind: type[Context], agent: AgentDefinition, **fields: Any) -> Context:
        """Return the context that the Python code of ``agent`` gets. ``fields`` are the further fields of ``kind``."""
        run_id, zone, workflow = self.run.run_id, self.today.known_zone, self.tracker.current.workflow
        fields["workflow"] = workflow.own_copy if workflow is not None and workflow.agent_id == agent.id else None
        fields["begun_by"] = self.facts.began_with.begun_by
        return kind(self.scope, self.thread_id, run_id=run_id, agent_id=agent.id, time_zone=zone, **fields)

    def make_model_settings(self, agent: AgentDefinition, *, is_consulted: bool = False) -> ModelSettings:
        """Return the agent's model and its parameters.

        The model of a consulted agent must time out before the consultation does, so that the timeout counts as the
        model's failure.
        """
        choice = agent.model
        patience = SHARE_OF_SILENCE * agent.timeouts.consult_seconds if is_consulted else choice.timeout_seconds
        return ModelSettings(
            model=self.get_model(agent),
            temperature=choice.temperature,
            top_p=choice.top_p,
            max_output_tokens=choice.max_output_tokens,
            reasoning_effort=choice.reasoning_effort,
            verbosity=choice.verbosity,
            tool_choice=choice.tool_choice,
            parallel_tool_calls=choice.parallel_tool_calls,
            shows_reasoning=choice.show_reasoning and not is_consulted,
            extra=choice.extra,
            fallback=choice.fallback,
            timeout_seconds=min(choice.timeout_seconds, patience),
            answer_schema=agent.answer_schema,
            # Agents of a thread have separate keys, because their prompts differ. OpenAI allows 64 characters.
            cache_key=str(uuid.uuid5(uuid.UUID(self.thread_id), f"prompts\0{agent.id}")),
            caller=replace(self.model_caller, agent_id=agent.id),
        )

    @property
    def model_caller(self) -> ModelCaller:
        """The conversation on whose behalf models are asked."""
        request = self.facts.request
        may_overspend = isinstance(request, MessageRequest) and request.over_spending
        return replace(ModelCaller.of(self.scope, self.thread_id), may_overspend=may_overspend)

    def get_model(self, agent: AgentDefinition) -> str:
        """Return the name of the agent's model."""
        return agent.model.name or self.services.default_model

    def fit_agent(self, agent: AgentDefinition) -> AgentDefinition:
        """Return the agent with its working memory limited to the tokens that its model accepts."""
        return self.services.budgets.fit_agent(agent, self.get_model(agent), self.thread_id)

    def limit_seconds(self, seconds: float) -> float:
        """Return the seconds that a tool or agent may take: at most ``seconds``, and not the reserve of the turn.

        Return 0 if no time is left before the reserve.
        """
        remaining = self.deadline - self.reserve_seconds - asyncio.get_running_loop().time()
        return max(0.0, min(seconds, remaining))


class Budget:
    """The calls, tokens and time that one agent has left in this turn. An agent without budget must answer."""

    def __init__(self, limits: ToolLimits, is_late: Callable[[], bool]) -> None:
        """``is_late`` returns whether only the time reserved for the last answer is left."""
        self._limits = limits
        self._is_late = is_late
        self._model_calls = 0
        self._tool_calls = 0
        self._bad_calls = 0
        self._tokens = 0
        self._first_call_at: float | None = None

    @property
    def is_spent(self) -> bool:
        """True if the next model call is the last one, without tools."""
        limits = self._limits
        return (
            self._model_calls >= limits.model_calls - 1
            or self._tool_calls >= limits.tool_calls
            or self._bad_calls > limits.bad_calls
            or self._tokens >= limits.tokens
            or self._is_time_over()
            or self._is_late()
        )

    @property
    def allows_model_call(self) -> bool:
        """True if the limits of model calls and tokens allow one more model call."""
        return self._model_calls < self._limits.model_calls and self._tokens < self._limits.tokens

    @property
    def allows_repair(self) -> bool:
        """True if one more model call may correct an answer."""
        return self.allows_model_call and not self._is_late()

    @property
    def has_asked_model(self) -> bool:
        """True if the model has been asked."""
        return self._model_calls > 0

    def count_model_call(self, usage: Usage) -> None:
        self._model_calls += 1
        self._tokens += usage.total_tokens

    def count_tokens(self, tokens: int) -> None:
        """Count tokens that other agents used on this agent's behalf."""
        self._tokens += tokens

    def count_bad_call(self) -> None:
        self._bad_calls += 1

    def take_call(self) -> bool:
        """Count a tool call before it is made. Return False if it may not be made, because its budget is used up.

        The time of the agent's calls begins with the first call.
        """
        if self._first_call_at is None:
            self._first_call_at = asyncio.get_running_loop().time()
        if self._tool_calls >= self._limits.tool_calls or self._is_time_over():
            return False
        self._tool_calls += 1
        return True

    def _is_time_over(self) -> bool:
        began_at = self._first_call_at
        return began_at is not None and asyncio.get_running_loop().time() - began_at >= self._limits.tool_seconds
