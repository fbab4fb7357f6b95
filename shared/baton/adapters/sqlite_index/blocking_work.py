"""Blocking work on the files of the index, run in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import apsw
from botocore.exceptions import ClientError

from baton.domain.errors import SearchUnavailable, StoreUnavailable

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Run ``work`` in a thread, and return its result. Raises ``SearchUnavailable`` for failures of files and of S3."""
    try:
        return await asyncio.to_thread(work)
    except (apsw.Error, ClientError, OSError, StoreUnavailable) as failure:
        raise SearchUnavailable from failure
