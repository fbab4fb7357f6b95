"""The user's time zone: that of the machine where it can be known, sent with every message."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from baton_client import APIStatusError, Baton
from baton_client.run_input import RunInput
from baton_client.time_zones import find_machine_time_zone
from tests.unit.client.scripted import Script, Served, problem

ANSWER = {
    "sessionId": "550e8400-e29b-41d4-a716-446655440000",
    "runId": "r-1",
    "messages": [],
    "state": {
        "activeAgent": {"id": "assistant", "name": "Assistant", "isMain": True},
        "workflow": None,
        "resumable": [],
        "status": "active",
    },
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "outcome": {"type": "success"},
}


def read_sent_zone(client: Baton, script: Script, **fields: str) -> str | None:
    """The time zone of a message."""
    script.answer("POST /v1/messages", httpx.Response(200, json=ANSWER))
    client.messages.create("Hello", **fields)  # type: ignore[arg-type]
    zone: str | None = json.loads(script.requests[-1].content).get("timeZone")
    return zone


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The link to the machine's zone, on a machine whose environment names none."""
    monkeypatch.delenv("TZ", raising=False)
    return tmp_path / "localtime"


def link_zone(local: Path, target: str) -> Path:
    """Link the machine's local time to a zone, and return the link."""
    zone = local.parent / target
    zone.parent.mkdir(parents=True, exist_ok=True)
    zone.touch()
    local.symlink_to(zone)
    return local


@pytest.mark.parametrize(
    ("target", "zone"),
    [
        ("usr/share/zoneinfo/Europe/Vienna", "Europe/Vienna"),
        ("usr/share/zoneinfo/America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ("usr/share/zoneinfo/posix/Europe/Vienna", "Europe/Vienna"),
        ("var/db/timezone/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
        ("usr/share/zoneinfo/Etc/UTC", None),
        ("usr/share/zoneinfo/UTC", None),
        ("usr/share/zoneinfo/Etc/GMT", None),
        ("etc/my-clock", None),
    ],
)
def test_the_machines_zone_is_where_its_clock_is_linked_to(local: Path, target: str, zone: str | None) -> None:
    assert find_machine_time_zone(link_zone(local, target)) == zone


def test_a_machine_without_the_link_knows_no_zone(local: Path) -> None:
    assert find_machine_time_zone(local) is None
    local.write_bytes(b"TZif2")
    assert find_machine_time_zone(local) is None
    local.unlink()
    local.symlink_to(local)
    assert find_machine_time_zone(local) is None


@pytest.mark.parametrize(
    ("named", "zone"),
    [
        ("Asia/Tokyo", "Asia/Tokyo"),
        (":Asia/Tokyo", "Asia/Tokyo"),
        ("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
        ("UTC", None),
        ("Etc/UTC", None),
        ("CET-1CEST", None),
        ("/opt/clock", None),
    ],
)
def test_the_environment_comes_first(
    local: Path, monkeypatch: pytest.MonkeyPatch, named: str, zone: str | None
) -> None:
    link_zone(local, "usr/share/zoneinfo/Europe/Vienna")
    monkeypatch.setenv("TZ", named)
    assert find_machine_time_zone(local) == zone


def test_messages_carry_the_machines_zone_unless_another_or_none_is_given(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Vienna")
    http = httpx.Client(transport=served.script)

    def client(**fields: str) -> Baton:
        return Baton("http://baton.test", token="t", http_client=http, **fields)  # type: ignore[arg-type]

    assert read_sent_zone(client(), served.script) == "Europe/Vienna"
    assert read_sent_zone(client(time_zone="Asia/Tokyo"), served.script) == "Asia/Tokyo"
    assert read_sent_zone(client(time_zone=""), served.script) is None
    assert read_sent_zone(client(), served.script, time_zone="Asia/Tokyo") == "Asia/Tokyo"
    assert read_sent_zone(client(), served.script, time_zone="") is None
    assert read_sent_zone(client().with_options(time_zone="Asia/Tokyo"), served.script) == "Asia/Tokyo"
    assert read_sent_zone(client().with_options(time_zone=""), served.script) is None
    assert read_sent_zone(client(time_zone="Asia/Tokyo").with_options(max_retries=1), served.script) == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "UTC")
    assert read_sent_zone(client(), served.script) is None


def test_a_run_names_the_zone(served: Served) -> None:
    served.script.answer("POST /v1/runs", problem(422, "invalid_request"))
    client = served.client.with_options(time_zone="Asia/Tokyo")
    with pytest.raises(APIStatusError):
        client.runs.create("Hello")
    assert json.loads(served.script.requests[-1].content)["forwardedProps"]["timeZone"] == "Asia/Tokyo"


def test_an_import_has_the_zone_of_then_and_not_the_machines(served: Served) -> None:
    client = served.client.with_options(time_zone="Asia/Tokyo")
    answer = {"episodeId": ANSWER["sessionId"], "sessionId": ANSWER["sessionId"]}
    for fields in ({}, {"time_zone": "Europe/Vienna"}):
        served.script.answer("POST /v1/episodes/import", httpx.Response(202, json=answer))
        client.episodes.import_session("s-1", [], **fields)  # type: ignore[arg-type]
    zones = [json.loads(request.content).get("timeZone") for request in served.script.requests]
    assert zones == [None, "Europe/Vienna"]


def test_the_language_of_the_client_is_sent_unless_a_call_names_another() -> None:
    script = Script()
    script.answer("*", httpx.Response(200, json=ANSWER))
    with httpx.Client(transport=script) as http:
        client = Baton("http://baton.test", locale="de-AT", http_client=http)
        client.messages.create("Hello")
        client.messages.create("Hello", locale="fr")
        client.desks.ask("t")
        client.with_options(locale="").messages.create("Hello")
    assert [json.loads(request.content).get("locale") for request in script.requests] == ["de-AT", "fr", "de-AT", None]


def test_the_language_of_a_run_is_among_its_properties() -> None:
    run_input = RunInput.of(
        "Hello",
        thread_id="t",
        message_id="m",
        agent_id=None,
        answers=(),
        tools=(),
        context={},
        branch=None,
        locale="de",
    )
    assert run_input.to_json()["forwardedProps"]["locale"] == "de"
