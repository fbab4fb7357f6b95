"""Readers of another user's conversation without ``pii:read`` get no personal data of it, whatever they read."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from baton.api.runs.sse import Timing
from baton.composition.app import build
from baton.domain.tenants.identity import Permission
from tests.fakes.chat_model import Answer
from tests.unit.api.served import Served, openapi

MAIL, PHONE = "ada.lovelace@example.com", "+43 660 1234567"
SAID = f"Write to {MAIL} or call {PHONE}."
READER = (Permission.THREAD_READ_ALL, Permission.AUDIT_READ, Permission.CONTEXT_INSPECT)


@pytest.fixture
async def served() -> Served:
    served = Served(timing=Timing(comment_seconds=0.0, first_event_seconds=1.0, follow_seconds=0.01))
    served.harness.model.script(Answer(("I noted ada.love", "lace@exam", "ple.com, and +43 66", "0 123", "4567.")))
    await served.harness.say("m1", SAID)
    await served.post(
        f"/threads/{served.harness.thread_id}/messages/m1/feedback", {"rating": "up", "comment": f"Mine is {MAIL}"}
    )
    return served


async def everything(served: Served, user: str, *permissions: str) -> dict[str, str]:
    """Return the answers of all addresses that read something of the thread, and of the lists that it is in."""
    thread_id = served.harness.thread_id
    run_id = (await served.get(f"/threads/{thread_id}/turns")).json()["items"][0]["runId"]
    paths = openapi()["paths"]
    below = [path for path, methods in paths.items() if "{thread_id}" in path and "get" in methods]
    names = {"thread_id": thread_id, "run_id": run_id}
    filled = [re.sub(r"\{(\w+)\}", lambda value: names.get(value[1], "x"), path) for path in below]
    request = [path.removeprefix("/v1") for path in filled]
    scope = [] if user == "ada" else ["/threads?scope=tenant", "/audit"]
    return {path: (await served.request("GET", path, *permissions, user=user)).text for path in [*request, *scope]}


async def test_a_reader_gets_placeholders_for_personal_data(served: Served) -> None:
    answers = await everything(served, "boss", *READER)
    for path, text in answers.items():
        assert MAIL not in text, path
        assert "1234567" not in text, path
    reported = "".join(answers.values())
    assert "[email]" in reported
    assert "[phone]" in reported


@pytest.mark.parametrize(("user", "more"), [("ada", ()), ("boss", (Permission.PII_READ,))])
async def test_the_user_and_holders_of_the_permission_get_what_was_said(
    served: Served, user: str, more: tuple[str, ...]
) -> None:
    answers = await everything(served, user, *READER, *more)
    for path in (f"/threads/{served.harness.thread_id}/messages", f"/threads/{served.harness.thread_id}/events"):
        assert MAIL in answers[path], path
        assert PHONE in answers[path], path


async def test_a_text_is_not_sent_to_a_reader_in_pieces(served: Served) -> None:
    """Half an address is not recognised, so anybody who continues in the middle of a text gets nothing of it."""
    path = f"/threads/{served.harness.thread_id}/events"
    events = [json.loads(line[6:]) for line in (await served.get(path)).text.splitlines() if line.startswith("data: ")]
    for after in range(events[-1]["metadata"]["seq"] + 1):
        reported = (await served.get(path, *READER, user="boss", after=after)).text
        for piece in ("ada.lovelace", "lovelace@", "example.com", "1234567", "660"):
            assert piece not in reported, after


async def test_a_reader_who_follows_is_audited_once_in_a_while(served: Served) -> None:
    served.harness.audit.records.clear()
    for _ in range(3):
        await served.get(f"/threads/{served.harness.thread_id}/events", *READER, user="boss")
    assert [record.action for record in served.harness.audit.records] == ["thread.read"]


async def test_json_of_tools_is_redacted_whatever_its_members_are_called() -> None:
    results = {"customer_id": MAIL, "status": f"call {PHONE}", MAIL: [{"id": "c-1", "code": SAID}], "userId": MAIL}
    redacted = await build(Served().harness).privacy.readers.redact({"input": results, "messageId": "m-1"})
    assert redacted["messageId"] == "m-1"
    assert redacted["input"]["userId"] == MAIL  # ids of users are shown as they are
    reported = json.dumps({name: item for name, item in redacted["input"].items() if name != "userId"})
    assert MAIL not in reported
    assert "1234567" not in reported
    assert '"id": "c-1"' in reported


async def test_numbers_in_json_of_tools_are_redacted_like_texts() -> None:
    readers = build(Served().harness).privacy.readers
    people = {"phone": 6502530000, "mobileNumbers": [436601234567, 12], "card_number": 4111111111111111, "age": 41}
    calls: dict[str, Any] = {"customer_id": 4111111111111111, "contacts": [people], "orderNumber": 123456789}
    shape: dict[str, Any] = {"input": calls, "timestamp": 1763900000000}
    redacted = await readers.redact(shape)
    reported = json.dumps(redacted)
    for number in ("6502530000", "436601234567", "4111111111111111"):
        assert number not in reported
    visible = redacted["input"]["contacts"][0]
    assert (visible["phone"], visible["mobileNumbers"], visible["age"]) == ("[phone]", ["[phone 2]", 12], 41)
    assert redacted["input"]["customer_id"] == visible["card_number"] == "[card]"
    assert redacted["input"]["orderNumber"] == 123456789
    assert redacted["timestamp"] == 1763900000000
