"""Every store of requests and of retention keeps its contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from baton.adapters.dynamodb.forget_requests import DynamoForgetRequests
from baton.adapters.dynamodb.retentions import DynamoRetentions
from baton.adapters.dynamodb.table import Table
from local.engines.clients import client
from tests.contracts.forgetting import Forgotten, RequestContract, RetentionContract
from tests.engines import TableAt
from tests.fakes.clock import FakeClock
from tests.fakes.erasure import FakeForgetRequests, FakeRetentions


@pytest.fixture(params=["in_memory", "moto_server", "dynamodb_local"])
def forgotten(request: pytest.FixtureRequest, new_table: Callable[[str], TableAt]) -> Iterator[Forgotten]:
    clock = FakeClock()
    if request.param == "in_memory":
        yield Forgotten(FakeForgetRequests(), FakeRetentions(), clock)
        return
    at = new_table(request.getfixturevalue(request.param))
    dynamodb = client("dynamodb", at.endpoint)
    table = Table(dynamodb, at.name)
    yield Forgotten(DynamoForgetRequests(table, clock), DynamoRetentions(table, clock), clock)
    dynamodb.close()


class TestRequests(RequestContract):
    pass


class TestRetention(RetentionContract):
    pass
