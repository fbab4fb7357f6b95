"""The product as its composition joins it, on the wires of a generated case."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from baton.adapters.agent_files import AgentFiles
from baton.adapters.api_gateway import ApiGatewayConnections
from baton.adapters.sqs import SqsRecords, SqsTurnQueue
from baton.adapters.token_counter import TiktokenCounter
from baton.agents.approvals import Approvals
from baton.agents.run_context import RunServices
from baton.entry.actions import Actions, ActionServices
from baton.entry.controls import Controls
from baton.entry.queued_turns import QueuedTurns
from baton.handoffs.active_skills import ActiveSkills
from baton.handoffs.agent_registry import AgentRegistry
from baton.handoffs.conversations import Conversations
from baton.handoffs.forks import Forks
from baton.outbox.follow import Follower
from baton.outbox.replay import Replays
from baton.ports.chat_model import ChatModel
from baton.ports.live import LiveRegistry
from baton.ports.thread_store import ThreadStore
from baton.sessions.sessions import Sessions
from baton.turns.closing import Closer
from baton.turns.turns import Turns
from local.settings import ROOT
from tests.fakes.agent_client import ScriptedAgentClient
from tests.fakes.episodes import FakeClosings
from tests.fakes.files import FakeFiles
from tests.fakes.tools import FakeTools
from tests.faults.generated.monitor import Watched

if TYPE_CHECKING:
    from tests.faults.generated.case import Case

QUEUE_URL = "http://queue.test/turns.fifo"


class Product:
    """What ``baton.composition`` builds, with the case's clock. Only pipelines and uploads are doubles."""

    def __init__(self, case: Case, model: ChatModel) -> None:
        engines, clock = case.engines, case.clock
        stores = engines.stores(clock)
        connections = ApiGatewayConnections(engines.gateway)
        monitor, log, audit = case.monitor, stores.log, stores.audit
        leased = dict.fromkeys(("acquire", "begin_run", "take_over"), monitor.leased)
        self.store: ThreadStore = cast("Any", Watched(stores.threads, after=leased))
        live: LiveRegistry = cast("Any", Watched(stores.live, before={"request_cancel": monitor.asked_to_stop}))
        queue = SqsTurnQueue(engines.sqs, QUEUE_URL)
        self.replays = Replays(self.store, log, clock)
        self.follower = Follower(self.store, live, self.replays)
        agents = AgentRegistry(_agents())
        conversations = Conversations(stores.handoffs, stores.workflows, stores.skills, agents, audit, clock)
        services = RunServices(
            store=self.store,
            log=log,
            live=live,
            connections=connections,
            agents=agents,
            model=model,
            default_model="scripted",
            light_model="scripted",
            conversations=conversations,
            forks=Forks(self.store, agents, audit, _counter(), clock),
            active_skills=ActiveSkills(stores.skills, clock),
            counter=_counter(),
            files=FakeFiles(),
            sessions=Sessions(stores.episodes, FakeClosings(), audit),
            records=stores.records,
            tools=FakeTools(),
            agent_client=ScriptedAgentClient(),
            audit=audit,
            clock=clock,
        )
        self.turns = Turns(services, services.agents, self.replays, audit)
        closer = Closer(services, self.turns, audit)
        self.queued = QueuedTurns(self.turns, closer, connections, SqsRecords(engines.sqs, QUEUE_URL), clock)
        self.dead = QueuedTurns(self.turns, closer, connections, None, clock)
        self.actions = Actions(
            ActionServices(
                store=self.store,
                queue=queue,
                controls=Controls(self.store, live, queue, conversations, audit),
                approvals=Approvals(self.store, audit),
                live=live,
                connections=connections,
                replays=self.replays,
                catalog=_agents(),
                audit=audit,
                clock=clock,
            )
        )


@cache
def _agents() -> AgentFiles:
    return AgentFiles.load(ROOT / "agents", "assistant")


@cache
def _counter() -> TiktokenCounter:
    return TiktokenCounter(ROOT / "layers" / "tokenizer")
