"""The ports of one conversation test, in memory, with the test's model, tools and agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property

from baton.adapters.agents.agent_files import AgentFiles
from baton.adapters.models.token_counter import TiktokenCounter
from baton.composition.outside_clients import make_functions
from baton.domain.handoffs.workflow import Workflow
from baton.domain.runs.task import Task
from baton.domain.runs.tool_call import ASK, ToolCallRecord
from baton.ports.agents.chat_model import ChatModel, TokenCounter
from baton.ports.clock import Clock
from baton.ports.threads.leases import Lease
from baton_local.root import TOKENIZER
from baton_testing.conversation_test import ToolStub
from baton_testing.fakes.ports import MemoryPorts
from baton_testing.fakes.threads.run_records import FakeRunRecords
from baton_testing.fakes.threads.workflows import FakeWorkflows
from baton_testing.models.metered import MeteredModel
from baton_testing.project_agents import RealTimeFunctions, make_real_tools
from baton_testing.stubbed_tools import StubbedTools
from baton_testing.virtual_time import LoopClock


@dataclass(frozen=True, slots=True)
class ModelNames:
    """The models of agents that name none."""

    default: str = "test-model"
    light: str = "light-model"


class SeenWorkflows(FakeWorkflows):
    """Workflows in memory that record every state."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.states: list[str] = []

    async def put(self, lease: Lease, workflow: Workflow, *, moved_from: Workflow | None = None) -> None:
        await super().put(lease, workflow, moved_from=moved_from)
        self.states.append(workflow.state)


class SeenRecords(FakeRunRecords):
    """Records in memory that note their order, because virtual time does not pass between the calls of a test."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, int] = {}
        """The position of each call and each sub-task in their common order, by id."""

    async def put_call(self, lease: Lease, call: ToolCallRecord) -> None:
        await super().put_call(lease, call)
        self.places.setdefault(call.id, len(self.places))

    async def put_task(self, lease: Lease, task: Task) -> None:
        await super().put_task(lease, task)
        self.places.setdefault(task.id, len(self.places))

    def make_sort_key(self, call: ToolCallRecord) -> tuple[datetime, int]:
        """Return a sort key of a call. A consultation is before the calls of its agent."""
        task_id = call.task_id if call.tool_name.startswith(ASK) else None
        return call.called_at, self.places.get(task_id or call.id, self.places[call.id])


class ConversationPorts(MemoryPorts):
    """The ports of one conversation test."""

    def __init__(
        self,
        *,
        clock: LoopClock,
        agents: AgentFiles,
        model: ChatModel,
        names: ModelNames,
        counter: TokenCounter,
        stubs: Mapping[str, ToolStub],
        reach: Sequence[str],
        logs_messages: bool = True,
    ) -> None:
        """``stubs`` are tools that the test answers. ``reach`` names external tools that are really called.

        ``logs_messages`` says whether exceptions of the agents' functions are logged.
        """
        self.clock = clock
        self.shipped_agents = agents
        self.functions: RealTimeFunctions = RealTimeFunctions(
            make_functions().packages, logs_messages=lambda: logs_messages
        )
        self.tools: StubbedTools = StubbedTools(make_real_tools(agents, self.functions), stubs, reach)
        self.counter = counter
        self.model: MeteredModel = MeteredModel(model)
        self.default_model, self.light_model = names.default, names.light

    @property
    def notes(self) -> tuple[str, ...]:
        """The faults of tools and functions so far."""
        return (*self.tools.notes, *self.functions.notes)

    @cached_property
    def records(self) -> SeenRecords:
        return SeenRecords()

    @cached_property
    def workflows(self) -> SeenWorkflows:
        return SeenWorkflows(self.clock)


@cache
def make_token_counter() -> TokenCounter:
    """Return the counter that deployments use, loaded once. Its vocabulary takes a fifth of a second to load."""
    return TiktokenCounter(TOKENIZER)
