"""POST /local/clock: time that passes on this machine, with what becomes due meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from baton.adapters.tokens.embed_keys import EmbedKeys
from baton.adapters.tokens.verifier import JwtVerifier
from baton.ports.clock import SystemClock, read_machine_time
from baton_local import advanced_clock
from baton_local.advanced_clock import AdvancedClock
from baton_local.tokens import LIFETIME_SECONDS, EmbedKey, TokenRequest
from tests.unit.identity.signing import OneSecret

DAY = 86_400


@pytest.fixture(autouse=True)
def _machine_time() -> Iterator[None]:
    yield
    SystemClock.advanced_by = timedelta()


class Sweeper:
    """A sweeper that notes when it is invoked, with a time at which something is due each day."""

    def __init__(self) -> None:
        self.began = datetime.now(UTC)
        self.hours: list[int] = []

    def fire(self) -> None:
        self.hours.append(round((SystemClock().now() - self.began).total_seconds() / 3600))

    def next_due(self, after: datetime, until: datetime) -> datetime | None:
        due = (self.began + timedelta(hours=hour) for hour in (20, 44, 45, 200))
        return next((moment for moment in due if after < moment <= until), None)


@pytest.fixture
def sweeper(monkeypatch: pytest.MonkeyPatch) -> Sweeper:
    sweeper = Sweeper()
    monkeypatch.setattr(advanced_clock, "_find_next_due", sweeper.next_due)
    monkeypatch.setattr(AdvancedClock, "_is_busy", lambda _: False)
    return sweeper


async def post(sweeper: Sweeper, body: Any, *, is_reached: bool = True) -> httpx.Response:
    """Ask for time to pass."""
    clock = AdvancedClock({}, cast("Any", {"SweeperFunction": sweeper}), is_reached)
    app = Starlette(routes=[Route("/local/clock", clock.answer, methods=["POST"])])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://baton.test") as client:
        return await client.post("/local/clock", json=body)


async def test_time_passes_from_one_due_time_to_the_next(sweeper: Sweeper) -> None:
    answer = await post(sweeper, {"advanceSeconds": 2 * DAY})
    assert answer.status_code == 200
    assert sweeper.hours == [20, 44, 45, 48]
    now = datetime.fromisoformat(answer.json()["now"])
    assert abs(now - sweeper.began - timedelta(days=2)) < timedelta(minutes=1)
    await post(sweeper, {"advanceSeconds": DAY})
    assert sweeper.hours[4:] == [72]


async def test_time_passes_after_the_runs_in_progress(sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch) -> None:
    advanced: list[timedelta] = []

    def is_busy(_: AdvancedClock) -> bool:
        advanced.append(SystemClock.advanced_by)
        return len(advanced) == 1

    monkeypatch.setattr(AdvancedClock, "_is_busy", is_busy)
    await post(sweeper, {"advanceSeconds": DAY})
    assert advanced[:2] == [timedelta(), timedelta()]
    assert advanced[2] > timedelta()


async def test_runs_that_do_not_end_hold_the_time_up_for_a_minute(
    sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(AdvancedClock, "_is_busy", lambda _: True)
    monkeypatch.setattr(advanced_clock, "time", SimpleNamespace(sleep=pauses.append, monotonic=lambda: sum(pauses)))
    assert (await post(sweeper, {"advanceSeconds": 2 * DAY})).status_code == 200
    assert sweeper.hours == [20, 44, 45, 48]
    assert 59 < sum(pauses) < 61


@pytest.mark.parametrize("seconds", [0, -1, 1.5, "60", True, None, 10**12])
async def test_time_does_not_stand_or_go_back(sweeper: Sweeper, seconds: Any) -> None:
    assert (await post(sweeper, {"advanceSeconds": seconds})).status_code == 422
    assert sweeper.hours == []


async def test_functions_in_other_processes_keep_the_machines_time(sweeper: Sweeper) -> None:
    assert (await post(sweeper, {"advanceSeconds": DAY}, is_reached=False)).status_code == 409
    assert SystemClock.advanced_by == timedelta()


async def test_tokens_keep_the_machines_time(sweeper: Sweeper) -> None:
    await post(sweeper, {"advanceSeconds": 30 * DAY})
    key = EmbedKey.load_or_make(None)
    keys = EmbedKeys(OneSecret(json.loads(key.as_secret())), "keys", allow_any_tenant=True)
    verifier = JwtVerifier(lambda: (), keys)
    token = key.sign(TokenRequest(tenant="demo", user="ada"))
    remaining = verifier.verify(token).expires_at - read_machine_time(SystemClock())
    assert timedelta(seconds=LIFETIME_SECONDS - 60) < remaining <= timedelta(seconds=LIFETIME_SECONDS)
