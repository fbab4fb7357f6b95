"""Ingestion over DynamoDB, S3 and the embedded index, killed at some of its writes."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from baton.adapters.dynamodb.documents import DynamoDocuments
from baton.adapters.s3_documents import S3Documents
from baton.domain.search import IndexName, SearchFilter
from baton_local.sqlite_index import SqliteIndex
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.embedder import DIMENSIONS
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

        async def killing(*arguments: Any, **options: Any) -> Any:
            with self._world.write():
                return await method(*arguments, **options)

        return killing


class World(Pipeline):
    """The pipeline over real stores."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        super().__init__(f"t{uuid.uuid4().hex}")
        self.number, self.kill_at, self.dies_before = 0, 0, True
        self.clock = FakeClock()
        self.real_index = SqliteIndex(folder, DIMENSIONS)
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
        return {each.source_id async for each in self.real_index.list(self.scope, IndexName.KNOWLEDGE, chosen)}


@pytest.fixture
def new_world(on_dynamodb_local: Engine, tmp_path: Path) -> Callable[[], World]:
    return lambda: World(on_dynamodb_local, tmp_path)


async def replaced(world: World) -> Any:
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
    ref = await replaced(world)
    begun = world.number
    await world.run(ref)
    writes = world.number - begun
    for place in range(1, writes + 1, 4):
        world = new_world()
        ref = await replaced(world)
        world.kill_at, world.dies_before = world.number + place, dies_before
        with contextlib.suppress(Killed):
            await world.run(ref)
        await world.run(ref)
        document = await world.get(ref)
        assert document is not None
        assert document.active is not None
        assert (document.active.number, document.next, document.stale, document.check_at) == (2, None, (), None)
        assert await world.sources() == {f"{ref.document_id}@2"}


async def test_a_removal_that_is_killed_is_made_good_by_another(new_world: Callable[[], World]) -> None:
    for place in (1, 2, 3, 5):
        world = new_world()
        ref = await replaced(world)
        await world.delete(ref)
        world.kill_at = world.number + place
        with contextlib.suppress(Killed):
            await world.run(ref)
        await world.run(ref)
        assert await world.get(ref) is None
        assert await world.sources() == set()
