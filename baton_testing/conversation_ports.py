"""The ports of one conversation test: all in memory, the model, the tools and the agents as the test has them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache

from baton.adapters.token_counter import TiktokenCounter
from baton.domain.usage import Usage
from baton.domain.workflow import Workflow
from baton.ports.agents import AgentCatalog
from baton.ports.chat_model import ChatModel, Finished, ModelChunk, ModelSettings, Prompt, TokenCounter, ToolSpec
from baton.ports.files import ThreadFiles
from baton.ports.leases import Lease
from baton.ports.tools import Tools
from baton_local.root import TOKENIZER
from baton_testing.fakes.audit import FakeAuditLog
from baton_testing.fakes.episodes import FakeClosings, FakeEpisodes
from baton_testing.fakes.files import FakeFiles
from baton_testing.fakes.handoffs import FakeHandoffs
from baton_testing.fakes.idle_threads import FakeIdleThreads
from baton_testing.fakes.live import FakeLiveRegistry
from baton_testing.fakes.ports import FakePorts
from baton_testing.fakes.procedures import FakeProcedures
from baton_testing.fakes.push import FakePushConfigs
from baton_testing.fakes.run_records import FakeRunRecords
from baton_testing.fakes.stream_log import FakeStreamLog
from baton_testing.fakes.thread_store import FakeThreadStore
from baton_testing.fakes.turn_queue import FakeTurnQueue
from baton_testing.fakes.workflows import FakeWorkflows
from baton_testing.virtual_time import LoopClock


@dataclass(frozen=True, slots=True)
class ModelNames:
    """The models that agents ask for if they name none."""

    default: str = "test-model"
    light: str = "light-model"


class CountedModel:
    """``ports.chat_model.ChatModel`` that counts the tokens of another one."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.used = Usage()

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield what the model yields."""
        async with aclosing(self._model.stream(settings, prompts, thread_files=thread_files, tools=tools)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Finished) and chunk.usage is not None:
                    self.used += chunk.usage
                yield chunk


class SeenWorkflows(FakeWorkflows):
    """Workflows in memory that note every state."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__(clock)
        self.states: list[str] = []

    async def put(self, lease: Lease, workflow: Workflow, *, moved_from: Workflow | None = None) -> None:
        await super().put(lease, workflow, moved_from=moved_from)
        self.states.append(workflow.state)


class ConversationPorts:
    """``composition.ports.Ports`` of one conversation (``all``), and those of them that tests look into."""

    def __init__(
        self,
        *,
        clock: LoopClock,
        catalog: AgentCatalog,
        model: ChatModel,
        names: ModelNames,
        tools: Tools,
        counter: TokenCounter,
    ) -> None:
        self.clock = clock
        self.model = CountedModel(model)
        self.store = FakeThreadStore(clock)
        self.records = FakeRunRecords()
        self.workflows = SeenWorkflows(clock)
        self.queue = FakeTurnQueue()
        self.closings = FakeClosings()
        self.files = FakeFiles()
        audit = FakeAuditLog()
        self.handoffs = FakeHandoffs(audit)
        self.all = FakePorts(
            clock=clock,
            store=self.store,
            log=FakeStreamLog(clock),
            live=FakeLiveRegistry(clock),
            records=self.records,
            handoffs=self.handoffs,
            workflows=self.workflows,
            procedures=FakeProcedures(),
            episodes=FakeEpisodes(),
            idle=FakeIdleThreads(self.store, clock),
            audit=audit,
            push_configs=FakePushConfigs(clock),
            files=self.files,
            queue=self.queue,
            closings=self.closings,
            catalog=catalog,
            model=self.model,
            default_model=names.default,
            light_model=names.light,
            counter=counter,
            tools=tools,
            with_learning=False,
        )


@cache
def token_counter() -> TokenCounter:
    """Return the counter that deployments use. Its vocabulary takes a fifth of a second to load."""
    return TiktokenCounter(TOKENIZER)
