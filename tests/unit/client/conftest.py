"""A client without a network."""

from collections.abc import Iterator

import httpx
import pytest

from baton_client import Baton
from tests.unit.client.scripted import Clock, Script, Served


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A client of a scripted server."""
    clock, script = Clock(), Script()
    for module in Served.modules_with_time():
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.delenv("BATON_TOKEN", raising=False)
    with httpx.Client(transport=script) as http:
        yield Served(script, clock, Baton("http://baton.test", token="secret-token", http_client=http))
