"""A store that fails once."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.errors import StoreUnavailable


def failing_once(monkeypatch: pytest.MonkeyPatch, store: Any, operation: str) -> None:
    """Have the next call of ``operation`` come to nothing, as when the store cannot be reached."""
    really = getattr(store, operation)

    async def fails(*_: Any, **__: Any) -> None:
        monkeypatch.setattr(store, operation, really)
        raise StoreUnavailable

    monkeypatch.setattr(store, operation, fails)
