"""Readers without ``pii:read`` get placeholders for another user's texts: of every operation and kind of record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from baton.api.runs.sse import Timing
from baton.domain.memory.procedure import Procedure, ProcedureScope, parse_draft
from baton.domain.tenants.identity import Permission
from baton.ports.tenants.privacy import PiiKind, PiiSpan
from baton.tenants.privacy.export import ExportKind
from tests.unit.api.recorded import RecordedHarness
from tests.unit.api.served import Served
from tests.unit.api.sweep import Sweep

AT_ONCE = Timing(comment_seconds=0.0, first_event_seconds=1.0, follow_seconds=0.01)
ALL_BUT_PII = [permission for permission in Permission if permission is not Permission.PII_READ]
NOT_OTHERS = [
    permission for permission in ALL_BUT_PII if permission not in (Permission.THREAD_READ_ALL, Permission.USER_MANAGE)
]


class EveryText:
    """A detector to which every text is somebody's number: whatever is not redacted can be seen."""

    async def detect(self, text: str) -> Sequence[PiiSpan]:
        return [PiiSpan(0, len(text), PiiKind.NATIONAL_ID)]


@pytest.fixture(scope="module")
async def sweep() -> Sweep:
    harness = RecordedHarness()
    await harness.everything()
    await harness.time_zones.put(harness.ada, "Europe/Vienna")
    steps = [{"text": "Post it there."}]
    skill = parse_draft({"name": "Post", "description": "Posts it for me", "triggers": ["post it"], "steps": steps})
    procedure = Procedure(skill, "acme", "assistant", "ada", harness.clock.now(), scope=ProcedureScope.USER)
    await harness.private_skills.save(harness.ada, procedure, made_of="w-1")
    vars(harness)["pii_detector"] = EveryText()
    served = Served(harness, AT_ONCE)
    message = next(
        message for message in await messages(served) if message["role"] == "assistant" and "content" in message
    )
    path = f"/threads/{message['threadId']}/messages/{message['id']}/feedback"
    (await served.post(path, {"rating": "up", "comment": "Quite to my taste"})).raise_for_status()
    await served.patch(f"/threads/{message['threadId']}", {"title": "Words for nobody else"})
    return Sweep(served)


async def messages(served: Served) -> list[dict[str, Any]]:
    lines = json_lines((await served.get("/users/me/export")).text)
    return [line for line in lines if line.get("type") == "message"]


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def kinds(lines: list[dict[str, Any]]) -> set[str]:
    return {line.get("type", "session") for line in lines}


def is_note(line: dict[str, Any]) -> bool:
    """Return whether a line of an export is a note of a desk's people, which its user does not see."""
    return line.get("metadata", {}).get("toolName") == "desk_note"


def prose(value: Any) -> Iterator[str]:
    """Yield the texts of several words in JSON."""
    if isinstance(value, str):
        if any(item.isspace() for item in value.strip()) and len(value) >= 6:
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from prose(item)
    elif isinstance(value, list):
        for item in value:
            yield from prose(item)


def bodies(text: str) -> list[Any]:
    """Return the JSON of an answer: the whole, its lines, or its events."""
    lines = [line.removeprefix("data: ") for line in text.splitlines()]
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in lines if line.startswith(("{", "["))]


async def private_texts(sweep: Sweep) -> set[str]:
    """Return ada's texts, as her own export has them, without those that everybody in the tenant may see."""
    own: set[str] = set()
    for content in ("everything", "sessions"):
        own |= set(prose(json_lines((await sweep.served.get("/users/me/export", content=content)).text)))
    async for _, text in sweep.answers_to("zoe", *NOT_OTHERS):
        own -= set(prose(bodies(text)))
    return own


async def test_the_export_has_every_kind_of_record(sweep: Sweep) -> None:
    inside = {ExportKind.SESSION_BEGIN, ExportKind.SESSION_MESSAGE, ExportKind.SESSION_END, ExportKind.CURSOR}
    result = kinds(json_lines((await sweep.served.get("/users/me/export")).text))
    assert result >= {kind.value for kind in ExportKind if kind not in inside} | {"session"}


@pytest.mark.parametrize("content", ["everything", "sessions"])
async def test_an_export_by_somebody_else_has_placeholders_in_every_kind_of_record(sweep: Sweep, content: str) -> None:
    path = "/users/ada/export"
    whole = (await sweep.served.get(path, *Permission, user="boss", content=content)).text
    redacted = (await sweep.served.get(path, *ALL_BUT_PII, user="boss", content=content)).text
    assert set(prose(json_lines(redacted))) == {text for text in prose(json_lines(redacted)) if text.startswith("[")}
    texts, visible = json_lines(whole), json_lines(redacted)
    assert [line.get("type") for line in visible if line.get("type") != "audit"] == [
        line.get("type") for line in texts if line.get("type") != "audit"
    ]
    own = json_lines((await sweep.served.get("/users/me/export", content=content)).text)
    assert not any(map(is_note, own))
    assert [line for line in own if line.get("type") != "audit"] == [
        line for line in texts if line.get("type") != "audit" and not is_note(line)
    ]


async def test_no_operation_shows_another_users_texts(sweep: Sweep) -> None:
    private = await private_texts(sweep)
    assert len(private) > 50
    assert {"Quite to my taste", "Words for nobody else"} <= private
    async for path, text in sweep.answers_to("boss", *ALL_BUT_PII):
        assert private.isdisjoint(prose(bodies(text))), path
