"""Ingestion over DynamoDB, S3 and the embedded index, killed at some of its writes."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from baton.adapters.aws.s3_documents import S3Documents
from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.documents import DynamoDocuments
from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
from baton.adapters.dynamodb.tenants.searched_tenants import DynamoSearchedTenants
from baton.domain.documents import pipelines
from baton.domain.documents.document import DocumentRef
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.tenants.identity import Scope
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton.entry.jobs.pipeline_starts import AdmittedIngestions
from baton.knowledge.index_check import KnowledgeIndexCheck
from baton_testing.fakes.clock import FakeClock
from tests.embedded_index import make_embedded_index, new_bucket
from tests.fakes.pipelines import FakeExecutions
from tests.grants.declared import roles, searching
from tests.grants.simulator import Asked, decide
from tests.grants.watched import watch
from tests.integration.store.conftest import BUCKET, Engine
from tests.unit.knowledge.pipeline import AGENT, Killed, Pipeline, text_of


class Killing:
    """A store before or after one of whose writes the worker dies."""

    def __init__(self, inner: Any, world: World, *writes: str) -> None:
        self._inner, self._world, self._writes = inner, world, writes

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in self._writes:
            return method

        async def write_or_die(*arguments: Any, **options: Any) -> Any:
            with self._world.write():
                return await method(*arguments, **options)

        return write_or_die


class World(Pipeline):
    """The pipeline over real stores."""

    def __init__(self, engine: Engine, bucket: str) -> None:
        super().__init__(f"t{uuid.uuid4().hex}")
        self.number, self.kill_at, self.dies_before = 0, 0, True
        self.clock = FakeClock()
        self.real_index = make_embedded_index(engine.s3, bucket)
        self.table = engine.table
        self.use(
            Killing(DynamoDocuments(engine.table), self, "save", "note_progress", "remove"),
            Killing(S3Documents(engine.s3, BUCKET, self.clock), self, "write", "remove"),
            Killing(self.real_index, self, "put", "delete"),
        )

    @contextlib.contextmanager
    def write(self) -> Iterator[None]:
        self.number += 1
        is_last = self.number == self.kill_at
        if is_last and self.dies_before:
            raise Killed
        yield
        if is_last:
            raise Killed

    async def sources(self) -> set[str]:
        chosen = SearchFilter(agent_id=AGENT)
        return {item.source_id async for item in self.real_index.list(self.scope, IndexName.KNOWLEDGE, chosen)}


@pytest.fixture
def new_world(on_dynamodb_local: Engine) -> Callable[[], World]:
    bucket = new_bucket(on_dynamodb_local.s3)
    return lambda: World(on_dynamodb_local, bucket)


async def replace_document(world: World) -> Any:
    """A document with a version in use, and a newer one that is uploaded."""
    first = await world.create()
    await world.upload(first, text_of(3, "Bolts"))
    await world.run(first)
    second = await world.replace(first)
    await world.upload(second, text_of(3, "Nuts"))
    return second


@pytest.mark.parametrize("dies_before", [True, False])
async def test_a_run_that_is_killed_is_made_good_by_another(new_world: Callable[[], World], dies_before: bool) -> None:
    world = new_world()
    ref = await replace_document(world)
    started = world.number
    await world.run(ref)
    writes = world.number - started
    for index in range(1, writes + 1, 4):
        world = new_world()
        ref = await replace_document(world)
        world.kill_at, world.dies_before = world.number + index, dies_before
        with contextlib.suppress(Killed):
            await world.run(ref)
        await world.run(ref)
        document = await world.get(ref)
        assert document is not None
        assert document.active is not None
        assert (document.active.number, document.next, document.stale, document.check_at) == (2, None, (), None)
        assert await world.sources() == {f"{ref.document_id}@2"}


async def test_a_removal_that_is_killed_is_made_good_by_another(new_world: Callable[[], World]) -> None:
    for location in (1, 2, 3, 5):
        world = new_world()
        ref = await replace_document(world)
        await world.delete(ref)
        world.kill_at = world.number + location
        with contextlib.suppress(Killed):
            await world.run(ref)
        await world.run(ref)
        assert await world.get(ref) is None
        assert await world.sources() == set()


async def test_a_lost_index_is_rebuilt_from_the_table_and_the_bucket(new_world: Callable[[], World]) -> None:
    world = new_world()
    ref = await replace_document(world)
    await world.run(ref)
    await world.real_index.delete(world.scope, IndexName.KNOWLEDGE, SearchFilter(agent_id=AGENT))
    tenant = world.scope.tenant_id
    stored = await DynamoSearchedTenants(world.table).all()
    assert stored[tenant] == [AGENT]
    check = KnowledgeIndexCheck(world.documents, world.ingestions, world.real_index, None)
    assert [location.document_id for location in (await check.verify(tenant, [AGENT])).missing] == [ref.document_id]
    assert [is_started async for is_started, _ in check.rebuild(tenant, [AGENT])] == [True]
    [rebuild] = world.ingestions.rebuilds
    await world.run(rebuild)
    assert (await check.verify(tenant, [AGENT])).is_sound
    assert await world.sources() == {f"{ref.document_id}@2"}


async def test_tenants_are_found_by_their_documents_and_their_episodes(on_dynamodb_local: Engine) -> None:
    tenants, scope = DynamoSearchedTenants(on_dynamodb_local.table), Scope(f"t{uuid.uuid4().hex}", "ada")
    assert scope.tenant_id not in await tenants.all()
    listing = keys.tenant_episodes.of(scope, "some-episode")
    await on_dynamodb_local.table.put({"PK": uuid.uuid4().hex, "SK": "EPISODE", "listing": listing, "listed_at": "1"})
    assert (await tenants.all())[scope.tenant_id] == []


async def test_a_rebuild_asks_for_what_the_role_of_its_function_grants(on_dynamodb_local: Engine) -> None:
    table, clock, declared = on_dynamodb_local.table, FakeClock(), searching()
    admission = PipelineAdmission(DynamoPipelineQueue(table), FakeExecutions(), clock, pipelines.PipelineLimits(1, 1))
    ingestions, tenant = AdmittedIngestions(admission), f"t{uuid.uuid4().hex}"
    [(name, _)] = declared.of_type("AWS::DynamoDB::Table")
    with watch("SearchRole", table.client, **{table.name: declared.resolve_attribute(name, None)}) as request:
        await DynamoSearchedTenants(table).all()
        await DynamoDocuments(table).of_agent(Scope(tenant, "operator"), AGENT, limit=10, cursor=None)
        for number in range(2):  # one waits for the other
            ref = DocumentRef(tenant, AGENT, f"doc_{number:032x}", 1)
            assert await ingestions.rebuild(ref, created_at=clock.now())
        for subject in (await admission.queue.read_running(pipelines.Pipeline.INGESTION)).slots:
            await admission.note_end(pipelines.Pipeline.INGESTION, subject)
    decisions = decide(request, roles(declared))
    refused = [str(question) for question, one in zip(request, decisions, strict=True) if one.result != "Allowed"]
    assert refused == []
    assert {"dynamodb:Scan", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:DeleteItem"} <= {
        grant.action for decision in decisions for grant in decision.uses
    }
    others = Asked(
        "", "SearchRole", "dynamodb:PutItem", request[-1].resource, {"dynamodb:LeadingKeys": [f"{tenant}#t1"]}
    )
    assert [one.result for one in decide([others], roles(declared))] == ["ImplicitlyDenied"]
