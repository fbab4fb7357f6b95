"""The ports of one conversation in memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from baton.adapters.pii import InProcessPiiDetector
from baton.authoring.functions import Functions
from baton.composition.outside_clients import make_functions
from baton.composition.ports import Ports
from baton.domain.agents.model_providers import Provider
from baton.domain.memory.inspection import InspectionPolicy
from baton.domain.runs.usage import NO_PRICES
from baton.domain.tenants.inbound_hook import HookSettings
from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.domain.tenants.webhook import WebhookSettings
from baton.domain.threads.thread import USUAL_TIMES
from baton.domain.threads.thread_title import TitleSource
from baton.memory.recall.recall import DEADLINE
from baton.ports.tracing import NO_TRACER
from baton.tenants.removed_tenants import RemovedTenants
from baton_testing.fakes.agents.a2a import FakeA2ATasks, FakePushQueue
from baton_testing.fakes.agents.agent_client import ScriptedAgentClient
from baton_testing.fakes.clock import FakeTimeZones
from baton_testing.fakes.documents.documents import FakeDocuments
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.files import FakeFiles
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from baton_testing.fakes.memory.episodes import FakeClosings, FakeEpisodes
from baton_testing.fakes.memory.private_skills import FakePrivateSkills
from baton_testing.fakes.memory.procedures import FakeProcedures
from baton_testing.fakes.tenants.audit import FakeAuditLog
from baton_testing.fakes.tenants.forget_requests import FakeForgetRequests
from baton_testing.fakes.tenants.removals import FakeTenantRemovals
from baton_testing.fakes.tenants.spending import FakeSpending
from baton_testing.fakes.tenants.tenants import FakeAgentDefinitions, FakeTenantLimits
from baton_testing.fakes.tenants.usage import FakeTenantObjects
from baton_testing.fakes.threads.activity import FakeActivityCounts
from baton_testing.fakes.threads.connections import FakeConnections
from baton_testing.fakes.threads.desks import FakeDeskPlaces
from baton_testing.fakes.threads.handoffs import FakeHandoffs
from baton_testing.fakes.threads.idle_threads import FakeIdleThreads
from baton_testing.fakes.threads.live import FakeLiveRegistry
from baton_testing.fakes.threads.run_records import FakeContextRecords, FakeRunRecords
from baton_testing.fakes.threads.schedules import FakeBackgroundTasks, FakeDelayQueue, FakeDueItems, FakeSchedules
from baton_testing.fakes.threads.stream_log import FakeStreamLog
from baton_testing.fakes.threads.thread_store import FakeThreadStore
from baton_testing.fakes.threads.turn_queue import FakeTurnQueue
from baton_testing.fakes.threads.workflows import FakeWorkflows


class MemoryPorts(Ports):
    """Fakes of the ports that a conversation uses. Set ``clock`` before the others are read."""

    lease_times = USUAL_TIMES
    inspection_policy = InspectionPolicy()
    recall_deadline = DEADLINE
    with_episode_facts = True
    with_learning = False
    title_source = TitleSource.NONE
    prices = NO_PRICES
    deployment_limits = DeploymentLimits()
    queue_records = None
    tracer = NO_TRACER
    webhook_settings = WebhookSettings()
    hook_settings = HookSettings()

    @cached_property
    def functions(self) -> Functions:
        return Functions(make_functions().packages, logs_messages=lambda: True)

    @cached_property
    def store(self) -> FakeThreadStore:
        return FakeThreadStore(self.clock)

    @cached_property
    def removals(self) -> FakeTenantRemovals:
        return FakeTenantRemovals()

    @cached_property
    def removed_tenants(self) -> RemovedTenants:
        return RemovedTenants(self.removals, self.clock)

    @cached_property
    def log(self) -> FakeStreamLog:
        return FakeStreamLog(self.clock)

    @cached_property
    def live(self) -> FakeLiveRegistry:
        return FakeLiveRegistry(self.clock, self.store)

    @cached_property
    def records(self) -> FakeRunRecords:
        return FakeRunRecords()

    @cached_property
    def audit(self) -> FakeAuditLog:
        return FakeAuditLog()

    @cached_property
    def handoffs(self) -> FakeHandoffs:
        return FakeHandoffs(self.audit)

    @cached_property
    def desk_places(self) -> FakeDeskPlaces:
        return FakeDeskPlaces(self.store, self.clock)

    @cached_property
    def workflows(self) -> FakeWorkflows:
        return FakeWorkflows(self.clock)

    @cached_property
    def schedules(self) -> FakeSchedules:
        return FakeSchedules()

    @cached_property
    def due_items(self) -> FakeDueItems:
        return FakeDueItems(self.schedules, self.background_tasks)

    @cached_property
    def background_tasks(self) -> FakeBackgroundTasks:
        return FakeBackgroundTasks()

    public_url = None

    @cached_property
    def delay_queue(self) -> FakeDelayQueue:
        return FakeDelayQueue()

    @cached_property
    def a2a_tasks(self) -> FakeA2ATasks:
        return FakeA2ATasks()

    @cached_property
    def time_zones(self) -> FakeTimeZones:
        return FakeTimeZones(self.clock)

    @cached_property
    def procedures(self) -> FakeProcedures:
        return FakeProcedures()

    @cached_property
    def private_skills(self) -> FakePrivateSkills:
        return FakePrivateSkills(self.procedures, self.clock)

    @cached_property
    def agent_definitions(self) -> FakeAgentDefinitions:
        return FakeAgentDefinitions()

    @cached_property
    def episodes(self) -> FakeEpisodes:
        return FakeEpisodes()

    @cached_property
    def idle(self) -> FakeIdleThreads:
        return FakeIdleThreads(self.store, self.clock)

    @cached_property
    def files(self) -> FakeFiles:
        return FakeFiles()

    @cached_property
    def documents(self) -> FakeDocuments:
        return FakeDocuments()

    @cached_property
    def context_records(self) -> FakeContextRecords:
        return FakeContextRecords()

    @cached_property
    def search(self) -> FakeSearchIndex:
        return FakeSearchIndex()

    @cached_property
    def embedder(self) -> FakeEmbedder:
        return FakeEmbedder()

    @cached_property
    def pii_detector(self) -> InProcessPiiDetector:
        return InProcessPiiDetector()

    @cached_property
    def tenant_limits(self) -> FakeTenantLimits:
        return FakeTenantLimits()

    @cached_property
    def activity(self) -> FakeActivityCounts:
        return FakeActivityCounts(self.store)

    @cached_property
    def spending(self) -> FakeSpending:
        return FakeSpending(self.clock)

    @cached_property
    def tenant_objects(self) -> FakeTenantObjects:
        return FakeTenantObjects(self.files)

    @cached_property
    def queue(self) -> FakeTurnQueue:
        return FakeTurnQueue()

    @cached_property
    def connections(self) -> FakeConnections:
        return FakeConnections()

    @cached_property
    def closings(self) -> FakeClosings:
        return FakeClosings()

    @cached_property
    def push_queue(self) -> FakePushQueue:
        return FakePushQueue()

    @cached_property
    def forget_requests(self) -> FakeForgetRequests:
        return FakeForgetRequests()

    @cached_property
    def agent_client(self) -> ScriptedAgentClient:
        return ScriptedAgentClient()

    @cached_property
    def model_providers(self) -> Mapping[str, Provider]:
        return {}

    @cached_property
    def context_lengths(self) -> dict[str, int]:
        """The declared context lengths of models in tokens, by name."""
        return {}

    def find_context_limit(self, model: str) -> int | None:
        return self.context_lengths.get(model)
