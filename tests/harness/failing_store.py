"""A store that fails once."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.errors import StoreUnavailable


def failing_once(monkeypatch: pytest.MonkeyPatch, store: Any, operation: str, *, after: int = 0) -> None:
    """Have the next call of ``operation`` but ``after`` come to nothing, as when the store cannot be reached."""
    really = getattr(store, operation)
    calls_left = after

    async def fails(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls_left
        calls_left -= 1
        if calls_left != -1:
            return await really(*args, **kwargs)
        monkeypatch.setattr(store, operation, really)
        raise StoreUnavailable

    monkeypatch.setattr(store, operation, fails)
