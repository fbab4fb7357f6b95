"""Containment of a project's code: its exits and odd errors are failures of a call, and not the end of a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def contained(work: Awaitable[T]) -> T:
    """Await code of a project. An exit that it asks for is its failure, and not the end of the worker.

    Raises ``RuntimeError`` for it and for other errors that ``except Exception`` does not catch.
    """
    try:
        return await work
    except (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        raise
    except SystemExit as problem:
        raise RuntimeError(f"sys.exit({problem.code!r}) was called") from problem
    except BaseException as problem:
        raise RuntimeError(f"{type(problem).__name__} was raised, which is no Exception") from problem
