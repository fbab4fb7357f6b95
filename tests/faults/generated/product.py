"""The product as its composition joins it, on the wires of a generated case."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from aws_lambda_powertools import Logger

from baton.adapters.agents.agent_files import AgentFiles
from baton.adapters.aws.api_gateway import ApiGatewayConnections
from baton.adapters.aws.blocking_calls import ThreadedOperations
from baton.adapters.aws.sqs import SqsRecords, SqsTurnQueue
from baton.adapters.models.token_counter import TiktokenCounter
from baton.composition.app import build
from baton.domain.errors import EmbedderUnavailable, SearchUnavailable
from baton.entry import queued_turns
from baton.ports.agents.chat_model import ChatModel
from baton_local.root import ROOT, TOKENIZER
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.fakes.ports import FakePorts
from tests.faults.generated.monitor import Watched

if TYPE_CHECKING:
    from tests.faults.generated.case import Case

# The module of queued turns adds keys to its log lines. Powertools refuses them without a logger of its service, whose
# name is the one that the first import of the module has met, in a local cloud for example.
Logger(service=queued_turns.logger.service)

QUEUE_URL = "http://queue.test/turns.fifo"


class Product:
    """The product as ``baton.composition`` builds it, at the case's clock. Pipelines, tools and uploads are doubles."""

    def __init__(self, case: Case, model: ChatModel) -> None:
        engines, stores = case.engines, case.engines.stores(case.clock)
        leased = dict.fromkeys(("acquire", "begin_run", "take_over"), case.monitor.note_lease)
        ports = FakePorts(
            clock=case.clock,
            store=cast("Any", Watched(stores.threads, after=leased)),
            log=stores.log,
            live=cast("Any", Watched(stores.live, before={"request_cancel": case.monitor.note_stop_request})),
            records=stores.records,
            handoffs=stores.handoffs,
            workflows=stores.workflows,
            procedures=stores.procedures,
            private_skills=stores.private_skills,
            episodes=stores.episodes,
            search=cast("Any", case.searching(FakeSearchIndex(), "search", SearchUnavailable)),
            embedder=cast("Any", case.searching(FakeEmbedder(), "embedder", EmbedderUnavailable)),
            closings=cast("Any", case.closings),
            with_episode_facts=False,  # the model says what it was asked, which is not JSON
            idle=cast("Any", None),  # nobody sweeps
            audit=stores.audit,
            queue=SqsTurnQueue(ThreadedOperations(engines.sqs), QUEUE_URL),
            queue_records=SqsRecords(ThreadedOperations(engines.sqs), QUEUE_URL),
            connections=ApiGatewayConnections(engines.gateway),
            shipped_agents=_agents(),
            model=model,
            counter=_counter(),
        )
        app = build(ports)
        self.store, self.episodes = ports.store, ports.episodes
        self.session_closing = app.memory.session_closing
        self.turns, self.queued, self.dead = app.turns, app.queued_turns, app.dead_turns
        self.actions, self.replays, self.follower = app.actions, app.replays, app.follower


@cache
def _agents() -> AgentFiles:
    return AgentFiles.load(ROOT / "agents", "assistant")


@cache
def _counter() -> TiktokenCounter:
    return TiktokenCounter(TOKENIZER)
