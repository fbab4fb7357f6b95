"""Every queue of pipelines keeps its contract."""

from __future__ import annotations

import pytest

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
from baton.domain.documents.pipelines import Pipeline
from baton.ports.documents.pipelines import PipelineQueue
from tests.contracts.pipelines import PipelineQueueContract
from tests.fakes.pipelines import FakePipelineQueue
from tests.integration.store.conftest import Engine


@pytest.fixture(params=["memory", "dynamodb"])
async def queue(request: pytest.FixtureRequest) -> PipelineQueue:
    """An empty queue."""
    if request.param == "memory":
        return FakePipelineQueue()
    engine: Engine = request.getfixturevalue("on_dynamodb_local")
    for pipeline in Pipeline:
        async for page in engine.table.query(keys.pipeline(pipeline.value)):
            for item in page:
                await engine.table.delete({"PK": item["PK"], "SK": item["SK"]})
    return DynamoPipelineQueue(engine.table)


class TestPipelineQueue(PipelineQueueContract):
    pass
