"""A table as the template declares it, in a benchmark's own DynamoDB Local."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from baton_local.engines.clients import client
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.resources import create_table
from baton_local.root import ROOT
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import read_stack
from baton_local.stack.template import Endpoints


@contextmanager
def local_table() -> Iterator[tuple[str, str]]:
    """Yield the endpoint of a new DynamoDB Local and the name of an empty table. Both end with the block.

    The start takes a few seconds and blocks an event loop.
    """
    engine = DynamoDBLocal(default_cache_dir(), progress=lambda text: None)
    try:
        endpoint = engine.start()
        stack = read_stack(ROOT / "template.yaml", {"Stage": "local"}, Endpoints("", "", "", ""))
        yield endpoint, create_table(client("dynamodb", endpoint), stack.table)
    finally:
        engine.stop()
