"""The services of agents, and one attempt at a run: its lease, deadline, events, and what it has done so far."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ag_ui.core import BaseEvent

from baton.agents.context_budgets import ContextBudgets
from baton.agents.incoming import Incoming, NoIncoming
from baton.agents.run_facts import RunFacts
from baton.agents.step_journal import StepJournal
from baton.agents.transcript import Transcript
from baton.authoring.functions import Functions
from baton.concurrency.tasks import gather_all, stop_all
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
from baton.domain.threads.events import spending_warning
from baton.domain.threads.message import OutcomeType, Role, StoredMessage, with_text
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
    """Returns the work in the background; None in a dry run, which begins no tasks."""
    budgets: ContextBudgets = field(default_factory=ContextBudgets)
    """The tokens that a prompt may have, by model."""
    functions: Functions = field(default_factory=Functions)
    """The functions of agents that are written in Python."""


Context = TypeVar("Context", bound=TurnContext)

EmitEvent = Callable[[BaseEvent], None]
"""Takes an event of a run, in order. It neither waits nor fails."""

MAX_RESERVE_SECONDS = 15.0
RESERVED_SHARE = 0.25
"""The share of a turn's time that is reserved for its last answer, up to the seconds above."""
SHARE_OF_SILENCE = 0.9
"""The share of a consultation's time after which a silent model counts as failed."""


class Writes:
    """Background writes of records. The answer does not wait for them, the commit does."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Future[None]] = []
        self._waiting: list[Coroutine[Any, Any, None]] | None = []

    def begin(self) -> None:
        """Start the waiting writes. Later ones start at once."""
        waiting, self._waiting = self._waiting or (), None
        for write in waiting:
            self.add(write)

    def add(self, write: Coroutine[Any, Any, None]) -> None:
        """Start a write, or let it wait for ``begin``."""
        if self._waiting is not None:
            self._waiting.append(write)
        else:
            self._tasks.append(asyncio.ensure_future(write))

    async def done(self) -> None:
        """Wait until everything is written. Raises ``LeaseLost`` and ``StoreUnavailable``."""
        tasks, self._tasks = self._tasks, []
        await gather_all(*tasks)

    async def stop(self) -> None:
        """Cancel all writes, because another worker takes the run over and makes them again."""
        for write in self._waiting or ():
            write.close()
        await stop_all(*self._tasks)


@dataclass(slots=True)
class ScreenedQuestion:
    """The verdict of guardrails on the user's message of a run."""

    text: str | None = None
    """The replacement; None if the text stays."""
    is_refused: bool = False
    judged_by: list[str] = field(default_factory=list)
    """The agents whose guardrails have not refused it."""

    def allow(self, agent: AgentDefinition) -> None:
        """Note that the agent's guardrails have allowed the message, or replaced its words."""
        self.is_refused = False
        self.judged_by.append(agent.id)

    def apply(self, message: StoredMessage, counter: TokenCounter) -> StoredMessage:
        """Return the message as it is shown to agents and stored."""
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
    """Makes sure that no other worker has the run. Raises ``LeaseLost``."""
    deadline: float
    """Event loop time by which the turn must have ended."""
    reserve_seconds: float
    """Reserved at the end of the turn, so that the agent can still answer with what it has."""
    emit: EmitEvent
    """Takes the run's events for its user."""
    today: Today
    """The day of the run. It is the same for all its agents, and does not change at midnight."""
    history: ReadHistory
    """The messages before the question that the active agent's prompt may hold."""
    search: MemorySearch
    """The search of memory for the message, done for the agent that is active when the run begins."""
    tracker: ConversationTracker
    transcript: Transcript
    journal: Mapping[str, ToolCallRecord]
    """The calls that earlier attempts have executed, by id. They are not repeated."""
    remote_tasks: dict[str, RemoteTask]
    """Tasks of remote agents that an earlier attempt has begun, by Baton's id of the message that a task works on.

    The run removes those that it follows. The others are stopped after the run.
    """
    steps: StepJournal
    """The steps of agents with ``run`` in this exchange."""
    inspection: Inspection
    """The notes of the Context Inspector on the run."""
    data: ConversationData
    """The data that tools keep in the conversation, with the changes of this attempt."""
    incoming: Incoming = field(default_factory=NoIncoming)
    """The user's messages that enter the run."""
    enter: Callable[[StoredMessage], None] | None = None
    """Adds a message that has entered a fork's run to the parent; None outside a fork."""
    ends_at_once_as: OutcomeType | None = None
    """ERROR if the run is given up, CANCELLED if it was cancelled while it waited; None if it is answered."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to end the run where it is."""
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the question is stored: before that no tool is called and no other agent asked."""
    passed_on: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when another worker takes the run over: remote agents continue working for it."""
    writes: Writes = field(default_factory=Writes)
    screened: ScreenedQuestion = field(default_factory=ScreenedQuestion)
    numbers: PassageNumbers = field(default_factory=PassageNumbers)
    """The numbers of passages in the prompts of the run. A consulted agent has its own."""
    verdicts: dict[tuple[str, Origin, str], str | None] = field(default_factory=dict)
    """Verdicts on the other texts of the run's prompts, by agent, origin and text: the text to use, or None."""
    spent: list[ModelUsage] = field(default_factory=list)
    """The usage of each call of a model."""
    versions: dict[str, int] = field(default_factory=dict)
    """The versions of the tenant's agents that have taken part, by the agent's id."""
    warned: set[str] = field(default_factory=set)
    """The accounts about whose spending the user was warned in this attempt."""

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
        """Emit the events as they are made."""
        for event in events:
            self.emit(event)

    def warn(self, warning: SpendingWarning) -> None:
        """Warn the user, once for each account, that most of a spending limit is used up."""
        if warning.account not in self.warned:
            self.warned.add(warning.account)
            self.emit(spending_warning(warning))

    def note_version(self, agent: AgentDefinition) -> None:
        """Note an agent that takes part, so that the session keeps its version."""
        if agent.version is not None:
            self.versions[agent.id] = agent.version

    async def may_act(self) -> bool:
        """Wait until the question is stored. Return False if the run was stopped: then no tool or agent may be called.

        Raises ``LeaseLost`` and ``StoreUnavailable``.
        """
        await self.opened.wait()
        if self.stop.is_set():
            return False
        await self.ensure_lease()
        return not self.stop.is_set()

    async def keep_remote_task(self, task: RemoteTask) -> None:
        """Store the task of a remote agent that has a message, for a worker that takes the run over.

        Raises ``LeaseLost`` and ``StoreUnavailable``; the agent continues working then.
        """
        try:
            await self.services.records.put_remote_task(self.lease(), task)
        except (LeaseLost, StoreUnavailable):
            self.passed_on.set()
            raise

    def make_context(self, kind: type[Context], agent: AgentDefinition, **fields: Any) -> Context:
        """Return the context of code of ``agent``, with the user and the run. ``fields`` are specific to ``kind``."""
        run_id, zone, workflow = self.run.run_id, self.today.known_zone, self.tracker.current.workflow
        fields["workflow"] = workflow.own_copy if workflow is not None and workflow.agent_id == agent.id else None
        fields["begun_by"] = self.facts.began_with.begun_by
        return kind(self.scope, self.thread_id, run_id=run_id, agent_id=agent.id, time_zone=zone, **fields)

    def model_settings(self, agent: AgentDefinition, *, is_consulted: bool = False) -> ModelSettings:
        """Return the agent's model and its parameters.

        The model of a consulted agent must time out before the consultation does, so that the timeout counts as the
        model's failure.
        """
        choice = agent.model
        patience = SHARE_OF_SILENCE * agent.timeouts.consult_seconds if is_consulted else choice.timeout_seconds
        return ModelSettings(
            model=self.model_of(agent),
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
        """The conversation for which models are asked."""
        request = self.facts.request
        may_overspend = isinstance(request, MessageRequest) and request.over_spending
        return replace(ModelCaller.of(self.scope, self.thread_id), may_overspend=may_overspend)

    def model_of(self, agent: AgentDefinition) -> str:
        """Return the name of the agent's model."""
        return agent.model.name or self.services.default_model

    def fit(self, agent: AgentDefinition) -> AgentDefinition:
        """Return the agent with the working memory that its model accepts."""
        return self.services.budgets.fit(agent, self.model_of(agent), self.thread_id)

    def work_seconds(self, seconds: float) -> float:
        """Return the seconds that a tool or agent may take: ``seconds``, less near the turn's end, 0 after it."""
        remaining = self.deadline - self.reserve_seconds - asyncio.get_running_loop().time()
        return max(0.0, min(seconds, remaining))


class Budget:
    """The calls, tokens and time that one agent has left in this turn. After that it must answer."""

    def __init__(self, limits: ToolLimits, is_late: Callable[[], bool]) -> None:
        """``is_late`` returns whether only the reserve for the last answer is left of the turn's time."""
        self._limits = limits
        self._is_late = is_late
        self._model_calls = 0
        self._tool_calls = 0
        self._bad_calls = 0
        self._tokens = 0
        self._since: float | None = None

    @property
    def is_spent(self) -> bool:
        """True if the next model call is the last one, without tools."""
        limits = self._limits
        return (
            self._model_calls >= limits.model_calls - 1
            or self._tool_calls >= limits.tool_calls
            or self._bad_calls > limits.bad_calls
            or self._tokens >= limits.tokens
            or self._is_over()
            or self._is_late()
        )

    @property
    def allows_model_call(self) -> bool:
        """True if the model may be asked once more."""
        return self._model_calls < self._limits.model_calls and self._tokens < self._limits.tokens

    @property
    def allows_repair(self) -> bool:
        """True if an answer may be corrected by one more model call."""
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
        """Count a call before it is made. Returns False if the budget or the time is used up."""
        if self._since is None:
            self._since = asyncio.get_running_loop().time()
        if self._tool_calls >= self._limits.tool_calls or self._is_over():
            return False
        self._tool_calls += 1
        return True

    def _is_over(self) -> bool:
        began = self._since
        return began is not None and asyncio.get_running_loop().time() - began >= self._limits.tool_seconds
