"""Users of the product with its demo model, and three doors to speak through."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.handoff.doors import DOORS, Door
from tests.e2e.sockets import PATIENCE_SECONDS
from tests.e2e.users import User


@pytest.fixture(scope="session")
async def demo_client(demo_cloud: RunningCloud) -> AsyncIterator[httpx.AsyncClient]:
    """A client of that cloud, without a token."""
    async with httpx.AsyncClient(base_url=demo_cloud.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        yield client


@pytest.fixture
def new_demo_user(demo_cloud: RunningCloud, demo_client: httpx.AsyncClient, tenant: str) -> NewUser:
    """Make a user of that cloud: ``new_demo_user("ada", "skill:create")``."""

    def make(name: str, *permissions: str, tenant: str = tenant, seconds: float = 3600) -> User:
        token = demo_cloud.token(tenant, name, *permissions, seconds=seconds)
        return User(demo_cloud, demo_client, tenant, name, token)

    return make


@pytest.fixture
def ada(new_demo_user: NewUser) -> User:
    """A user who may create skills."""
    return new_demo_user("ada", "skill:create")


@pytest.fixture(params=DOORS, ids=[door.__name__ for door in DOORS])
async def door(request: pytest.FixtureRequest, ada: User) -> AsyncIterator[Door]:
    """Ada's way to speak: each of those that there are."""
    async with request.param.of(ada) as opened:
        yield opened
