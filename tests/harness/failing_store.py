"""A store that fail once."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.errors import StoreUnavailable


def fail_once(monkeypatch: pytest.MonkeyPatch, store: Any, operation: str, *, after: int = 0) -> None:
    """Make one call of ``operation`` fail with ``StoreUnavailable``, after ``after`` successful calls."""
    really = getattr(store, operation)
    calls_left = after

    async def fail(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls_left
        calls_left -= 1
        if calls_left != -1:
            return await really(*args, **kwargs)
        monkeypatch.setattr(store, operation, really)
        raise StoreUnavailable

    monkeypatch.setattr(store, operation, fail)
