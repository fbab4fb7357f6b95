"""Tests of the turn's packages wait in virtual time: what takes seconds in production takes none there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from baton_testing.virtual_time import VirtualTimeLoop

IN_VIRTUAL_TIME = (
    "adapters/breakers",
    "adapters/tools",
    "agents",
    "entry",
    "steps",
    "threads/handoffs",
    "threads/outbox",
    "threads/sessions",
    "turns",
)
"""Folders of tests without threads and sockets, whose work would take no time at all on a virtual clock."""


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The event loop of an async test in this folder."""
    if any(item.path.is_relative_to(Path(__file__).parent / folder) for folder in IN_VIRTUAL_TIME):
        return {"virtual time": VirtualTimeLoop}
    return {"real time": asyncio.new_event_loop}
