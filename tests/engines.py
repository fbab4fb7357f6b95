"""A pytest plugin with engines for tests, such as DynamoDB Local: each starts on first use and ends with the session.

Under pytest-xdist, every worker process has its own engines, except for one DynamoDB Local, which starts with the run
and which all share. Tables and queues are declared by the product's template, and have new names.
"""

import os
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from baton_local import resources
from baton_local.engines import Engine
from baton_local.engines.clients import client
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.engines.moto import MotoServer
from baton_local.engines.queues import Queues
from baton_local.root import ROOT
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import Stack, read_stack
from baton_local.stack.template import Endpoints

SHARED_DYNAMODB = "BATON_TEST_DYNAMODB"
"""The variable with the endpoint of the DynamoDB Local that the processes of a run share."""


@dataclass(frozen=True)
class TableAt:
    """A table that was created for one test module."""

    endpoint: str
    name: str


@dataclass(frozen=True)
class QueueAt:
    """A FIFO queue that was created for one test, with its dead letter queue."""

    endpoint: str
    url: str
    dead_letters_url: str


def pytest_configure(config: pytest.Config) -> None:
    """In the process that distributes the tests, start the shared engine, unless only unit tests run."""
    spreads = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    only_units = all("tests/unit" in argument for argument in config.args)
    if spreads and not only_units and not config.option.collectonly:
        engine = DynamoDBLocal(default_cache_dir(), restarted=_report_restart)
        os.environ[SHARED_DYNAMODB] = engine.start()
        config.add_cleanup(engine.stop)


def _report_restart() -> None:
    sys.stderr.write("DynamoDB Local ended and was started again, without its tables: tests fail from here on.\n")


def use_or_start(variable: str, engine: Engine) -> Iterator[str]:
    """Yield the endpoint in the variable; without one, start ``engine``, yield its endpoint, and stop it afterwards."""
    options = os.environ.get(variable)
    if options:
        yield options
        return
    yield engine.start()
    engine.stop()


@pytest.fixture(scope="session")
def product_stack() -> Stack:
    """The declarations of template.yaml, resolved with invalid addresses."""
    nowhere = Endpoints(
        gateway="http://gateway.invalid",
        sockets="ws://gateway.invalid/ws",
        connections="http://gateway.invalid/local/gateway",
        queues="http://queues.invalid",
    )
    return read_stack(ROOT / "template.yaml", {"Stage": "local"}, nowhere, default_cache_dir())


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[str]:
    """The endpoint of a DynamoDB Local in memory."""
    yield from use_or_start(SHARED_DYNAMODB, DynamoDBLocal(default_cache_dir()))


@pytest.fixture(scope="session")
def moto_server() -> Iterator[str]:
    """The endpoint of a moto server: S3, Secrets Manager, and a DynamoDB for small tests."""
    engine = MotoServer()
    yield engine.start()
    engine.stop()


@pytest.fixture(scope="session")
def queues() -> Iterator[str]:
    """The endpoint of the local queues, in memory."""
    engine = Queues()
    yield engine.start()
    engine.stop()


@pytest.fixture(scope="session")
def new_table(product_stack: Stack) -> Callable[[str], TableAt]:
    """A function that creates a table of the template's definition, with a new name, at an endpoint."""

    def make(endpoint: str) -> TableAt:
        dynamodb = client("dynamodb", endpoint)
        name = resources.create_table(dynamodb, product_stack.table, f"test-{uuid.uuid4()}")
        dynamodb.close()
        return TableAt(endpoint, name)

    return make


@pytest.fixture(scope="module")
def dynamodb_local_table(dynamodb_local: str, new_table: Callable[[str], TableAt]) -> TableAt:
    """A table in DynamoDB Local that only this test module uses."""
    return new_table(dynamodb_local)


@pytest.fixture(scope="module")
def moto_table(moto_server: str, new_table: Callable[[str], TableAt]) -> TableAt:
    """A table in moto that only this test module uses."""
    return new_table(moto_server)


@pytest.fixture(scope="session")
def new_queue(product_stack: Stack, queues: str) -> Callable[..., QueueAt]:
    """A function that creates the template's FIFO queue and its dead letter queue. Arguments replace attributes."""

    def make(*, max_receives: int | None = None, **attributes: str) -> QueueAt:
        suffix = f"-{uuid.uuid4().hex}.fifo"
        [live] = [queue for queue in product_stack.queues if queue.dead_letters_to and "TurnsQueue" in queue.name]
        [dead] = [queue for queue in product_stack.queues if queue.arn == live.dead_letters_to]
        fresh_dead = replace(dead, name=dead.name.replace(".fifo", suffix), arn=dead.arn.replace(".fifo", suffix))
        fresh_live = replace(
            live,
            name=live.name.replace(".fifo", suffix),
            attributes={**live.attributes, **attributes},
            dead_letters_to=fresh_dead.arn,
            receives_before_that=max_receives or live.receives_before_that,
        )
        sqs = client("sqs", queues)
        urls = resources.create_queues(sqs, [fresh_live, fresh_dead])
        sqs.close()
        return QueueAt(queues, urls[fresh_live.name], urls[fresh_dead.name])

    return make
