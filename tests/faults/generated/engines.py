"""The engines of a generated case: real ones behind real adapters, or doubles for many more cases in the same time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb.memory.episodes import DynamoEpisodes
from baton.adapters.dynamodb.memory.private_skills import DynamoPrivateSkills
from baton.adapters.dynamodb.memory.procedures import DynamoProcedures
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.tenants.audit import DynamoAuditLog
from baton.adapters.dynamodb.threads.handoffs import DynamoHandoffs, DynamoWorkflows
from baton.adapters.dynamodb.threads.live import DynamoLiveRegistry, DynamoStreamLog
from baton.adapters.dynamodb.threads.run_records import DynamoRunRecords
from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore
from baton.ports.clock import Clock
from baton.ports.memory.episodes import Episodes
from baton.ports.memory.procedures import PrivateSkills, ProcedureStore
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.connections import LiveRegistry
from baton.ports.threads.handoffs import HandoffStore, WorkflowStore
from baton.ports.threads.run_records import RunRecords
from baton.ports.threads.stream_log import StreamLog
from baton.ports.threads.threads import ThreadStore
from baton_local.engines.clients import client
from baton_local.resources import create_bucket
from baton_local.stack.declarations import Stack
from tests.engines import TableAt
from tests.faults.generated.roles import BUCKET, guard_of_cases
from tests.faults.generated.wire import Wire, answer

if TYPE_CHECKING:
    from tests.faults.generated.case import Case

_AS_PRODUCT = {
    "retries": {"mode": "standard", "total_max_attempts": 4},
    "max_pool_connections": 4,
    "parameter_validation": False,
}


@dataclass(frozen=True)
class Stores:
    """The stores of a case's conversation."""

    threads: ThreadStore
    log: StreamLog
    live: LiveRegistry
    audit: AuditLog
    episodes: Episodes
    records: RunRecords
    handoffs: HandoffStore
    workflows: WorkflowStore
    procedures: ProcedureStore
    private_skills: PrivateSkills


class Engines(Protocol):
    """The engines of cases, one case at a time."""

    wire: Wire
    case: Case | None
    sqs: Any
    gateway: Any
    """boto3 clients, or what looks like them."""

    def stores(self, clock: Clock) -> Stores:
        """The stores of the current case."""

    def close(self) -> None:
        """Let go of everything."""


class RealEngines:
    """The product's own adapters on DynamoDB Local and moto; faults happen at the level of HTTP."""

    def __init__(self, table: TableAt, s3_endpoint: str, stack: Stack) -> None:
        self.table = table.name
        self.case: Case | None = None
        self.wire = Wire()
        self.dynamodb: Any = client("dynamodb", table.endpoint, **_AS_PRODUCT)
        self.s3: Any = client("s3", s3_endpoint, **_AS_PRODUCT)
        unsigned = {**_AS_PRODUCT, "signature_version": UNSIGNED}
        self.sqs: Any = client("sqs", "http://queue.test", **unsigned)
        self.gateway: Any = client("apigatewaymanagementapi", "http://gateway.test", **unsigned)  # type: ignore[call-overload]
        create_bucket(self.s3, BUCKET)
        guard = guard_of_cases(stack, table.name)
        for item in (self.dynamodb, self.s3, self.sqs, self.gateway):
            guard.watch(item.meta.events)
        self.wire.attach(self.dynamodb)
        self.wire.attach(self.s3)
        self.wire.attach(self.sqs, lambda operation, request: _of(self.case).queue.serve(operation, request))
        self.wire.attach(self.gateway, self._post)

    def stores(self, clock: Clock) -> Stores:
        # Anybody who stands still does so here in the middle of a request, while its timers go on: no time limit, or a
        # suspended process would take that for an outage.
        table = Table.of(self.dynamodb, self.table, seconds=float("inf"))
        return Stores(
            DynamoThreadStore(table, S3Bodies(self.s3, BUCKET), clock),
            DynamoStreamLog(table, clock),
            DynamoLiveRegistry(table, clock),
            DynamoAuditLog(table, clock),
            DynamoEpisodes(table, S3Bodies(self.s3, BUCKET)),
            DynamoRunRecords(table, S3Bodies(self.s3, BUCKET)),
            DynamoHandoffs(table, S3Bodies(self.s3, BUCKET)),
            DynamoWorkflows(table, clock),
            DynamoProcedures(table, clock),
            DynamoPrivateSkills(table, clock),
        )

    def close(self) -> None:
        for item in (self.dynamodb, self.s3, self.sqs, self.gateway):
            item.close()

    def _post(self, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        assert operation == "PostToConnection"
        assert isinstance(request.body, bytes)
        if _of(self.case).post(unquote(str(request.url).rpartition("/")[2]), request.body):
            return answer(200, {})
        return answer(410, {"message": "gone"}, "GoneException")


def _of(case: Case | None) -> Case:
    assert case is not None
    return case
