"""A harness whose clock is ahead of the machine's, as after POST /local/clock."""

from __future__ import annotations

from datetime import timedelta

import pytest

from baton.ports.clock import SystemClock
from tests.harness.harness import Harness


def run_ahead(harness: Harness, monkeypatch: pytest.MonkeyPatch, *, seconds: float = 86_400) -> None:
    """Advance the harness's clock by time that does not pass for the machine."""
    monkeypatch.setattr(SystemClock, "advanced_by", SystemClock.advanced_by + timedelta(seconds=seconds))
    harness.clock.advance(seconds)
