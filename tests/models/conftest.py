"""Fixtures that the tests of model adapters share, and the choice of the endpoints that a usual run tries.

Most of these tests are tried with dozens of endpoints, often with several values of another parameter. A usual run
tries one in ``SHARE`` of a test's pairs, in rotation, so that each endpoint meets a part of the tests, and each value a
part of the endpoints. Of tests marked ``long_conversation``, which ask most of what an endpoint can do, it tries one in
``LONG_SHARE``. ``make models`` and ``make all`` try all pairs, and so does naming a test (``pytest path::test``).
"""

from __future__ import annotations

import zlib
from collections import defaultdict

import pytest

from tests.models.standins import stand_in_server, stand_ins
from tests.nightly import RUNS_ALL, leave_out

__all__ = ["stand_in_server", "stand_ins"]

FOLDER = "tests/models/"
SHARE = 15
LONG_SHARE = 3
ENDPOINT_PARAMETERS = ("endpoint", "model", "family")
MANY = 8
"""Tests with this many endpoints or fewer, such as one for each adapter, are tried with all."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the pairs that this run does not try."""
    if RUNS_ALL or any("::" in argument for argument in config.args):
        return
    variants: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.nodeid.startswith(FOLDER):
            variants[item.nodeid.partition("[")[0]].append(item)
    leave_out(config, items, (item for name, variant in variants.items() for item in _leave_out(name, variant)))


def _leave_out(name: str, variants: list[pytest.Function]) -> list[pytest.Function]:
    if not hasattr(variants[0], "callspec"):
        return []
    parameter = next(
        (
            endpoint_parameter
            for endpoint_parameter in ENDPOINT_PARAMETERS
            if endpoint_parameter in variants[0].callspec.indices
        ),
        None,
    )
    endpoints = len({item.callspec.indices[parameter] for item in variants}) if parameter else 0
    if endpoints <= MANY:
        return []
    turn = zlib.crc32(name.encode())
    return [
        item
        for item in variants
        if (sum(item.callspec.indices.values()) + turn) % min(_share(item), endpoints)  # one endpoint at least
    ]


def _share(item: pytest.Item) -> int:
    return LONG_SHARE if item.get_closest_marker("long_conversation") else SHARE
