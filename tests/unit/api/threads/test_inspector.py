"""The Context Inspector: what it records of a turn, who may read it, and that it never stands in a turn's way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.domain.errors import StoreUnavailable
from baton.domain.memory.inspection import InspectionPolicy, InspectorMode
from baton.domain.runs.provider_parts import ProviderParts, Replay
from baton.domain.runs.usage import Usage
from baton.domain.times import to_iso
from baton.memory.inspection.inspection import Inspection
from baton.memory.inspection.inspector import MAX_RECORD_BYTES, limit_size
from baton.ports.agents.chat_model import QUOTED_CONTEXT
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.remembered import learn, remember
from tests.unit.api.served import Served

INSPECT = "context:inspect"
QUESTION = "What is my cat called?"


@pytest.fixture
async def served() -> Served:
    """A user who was answered from a past conversation."""
    harness = Harness(recalls=True)
    await remember(harness.search, harness.embedder, harness.ada, "My cat is called Miso.")
    await remember(harness.search, harness.embedder, harness.ada, "It rains.")
    served = Served(harness)
    await harness.say("m1", "Hello")
    await harness.say("m2", QUESTION)
    harness.audit.records.clear()
    return served


def path(served: Served, message_id: str = "m2") -> str:
    harness = served.harness
    return f"/threads/{harness.thread_id}/turns/{harness.request(message_id).run_id}/context"


def block(record: dict[str, Any], kind: str) -> dict[str, Any]:
    [result] = [block for block in record["blocks"] if block["kind"] == kind]
    return result  # type: ignore[no-any-return]


async def test_a_record_holds_what_was_found_and_what_was_dropped_and_why(served: Served) -> None:
    record = (await served.get(path(served), INSPECT)).raise_for_status().json()
    assert [block["kind"] for block in record["blocks"]] == [
        "system",
        "procedure",
        "knowledge",
        "episodes",
        "history",
        "current",
    ]
    episodes = block(record, "episodes")
    cat, rain = episodes["items"]
    assert (cat["text"], cat["included"], cat["reason"]) == ("My cat is called Miso.", True, None)
    assert cat["date"] == "2026-03-14T09:26:00.000Z"
    assert 0.2 <= cat["signals"]["turn.meaning"] <= 1
    assert cat["signals"]["turn.words"] > 0
    assert cat["tokens"] > 0
    assert episodes["tokens"] > cat["tokens"]
    assert episodes["durationMs"] >= 0
    assert (rain["included"], rain["tokens"]) == (False, 0)
    assert rain["reason"].startswith("below the relevance floor")


async def test_a_record_holds_the_exact_messages_and_both_counts_of_their_tokens(served: Served) -> None:
    record = (await served.get(path(served), INSPECT)).json()
    [call] = record["calls"]
    request = served.harness.model.requests[-1]
    assert [(message["role"], message["content"]) for message in call["messages"]] == [
        ("user", QUOTED_CONTEXT.format(text=content)) if role == "context" else (role, content)
        for role, content in request.contents
    ]
    assert (call["agentId"], call["model"]) == ("assistant", "test-model")
    assert (call["inputTokens"], call["outputTokens"]) == (10, 2)
    assert call["estimatedTokens"] > sum(len(str(content).split()) for _, content in request.contents)
    assert [item["text"] for item in block(record, "history")["items"]] == ["Hello", "Hello there."]
    assert [item["text"] for item in block(record, "current")["items"]] == [QUESTION]


async def test_a_record_shows_what_a_model_did_not_take_and_how_its_tokens_were_spent() -> None:
    harness = Harness()
    signed = ProviderParts.of("chat:here/m", Replay.ALWAYS, [{"fields": {"thinking": "secret"}}])
    harness.model.script(
        Answer(("One.",), usage=Usage(10, 5, 2, 4, 3), parts=signed, dropped=("temperature",)), Answer(("Two.",))
    )
    served = Served(harness)
    await harness.say("m1")
    await harness.say("m2")
    [call] = (await served.get(path(served, "m1"), INSPECT)).raise_for_status().json()["calls"]
    assert (call["cacheWriteTokens"], call["reasoningTokens"], call["dropped"]) == (4, 3, ["temperature"])
    [call] = (await served.get(path(served, "m2"), INSPECT)).raise_for_status().json()["calls"]
    assert "dropped" not in call
    [answer] = [message for message in call["messages"] if message["role"] == "assistant"]
    assert answer["providerParts"] == {"origin": "chat:here/m", "tokens": signed.tokens if signed else 0}
    assert "secret" not in str(call)


async def test_a_record_says_where_each_item_comes_from() -> None:
    harness = Harness(recalls=True)
    message = await remember(harness.search, harness.embedder, harness.ada, "My cat is called Miso.")
    taught = await learn(harness, harness.ada, "assistant", "A cat called Miso lives here.")
    served = Served(harness)
    await harness.say("m1", "Hello")
    await harness.say("m2", QUESTION)
    record = (await served.get(path(served), INSPECT)).raise_for_status().json()
    assert record["threadId"] == harness.thread_id
    assert record["recordedAt"] == to_iso(harness.clock.now())
    [cat] = block(record, "episodes")["items"]
    assert cat["id"] == message.fields["message_id"]
    nothing = {"threadId": None, "episodeId": None, "messageIds": [], "documentId": None, "agentId": None}
    nothing |= {"library": None}
    nothing |= {"section": None, "pages": None, "url": None}
    assert cat["source"] == nothing | {
        "threadId": message.thread_id,
        "episodeId": message.source_id,
        "messageIds": [message.fields["message_id"]],
    }
    [chunk] = block(record, "knowledge")["items"]
    assert (chunk["id"], chunk["source"]) == (
        taught.id,
        nothing | {"documentId": taught.fields["document_id"], "agentId": "assistant"},
    )
    earlier = block(record, "history")["items"][0]
    assert earlier["source"] == nothing | {"messageIds": [earlier["id"]]}


async def test_each_reading_is_audited(served: Served) -> None:
    await served.get(path(served), INSPECT)
    [read] = served.harness.audit.records
    assert (read.action, read.outcome, read.scope.user_id) == ("context.read", "allowed", "ada")
    assert read.detail == {"runId": served.harness.request("m2").run_id, "userId": "ada"}


async def test_without_the_permission_nobody_reads_a_record(served: Served) -> None:
    answer = await served.get(path(served))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    [denied] = served.harness.audit.records
    assert (denied.action, denied.outcome) == ("context.read", "denied")


async def test_another_users_record_takes_the_permission_to_read_threads_as_well(served: Served) -> None:
    assert (await served.get(path(served), INSPECT, user="eve")).status_code == 404
    answer = await served.get(path(served), INSPECT, "thread:read_all", user="boss")
    assert answer.status_code == 200
    assert served.harness.audit.records[-1].detail["userId"] == "ada"


async def test_a_record_that_is_not_there_is_refused_with_the_setting(served: Served) -> None:
    answer = await served.get(f"/threads/{served.harness.thread_id}/turns/none%2Fsuch/context", INSPECT)
    assert answer.status_code == 404
    assert "BATON_INSPECTOR is all" in answer.json()["detail"]
    assert "may have no such run" in answer.json()["detail"]


async def test_turns_are_listed_newest_first_with_how_they_ended(served: Served) -> None:
    turns, cursor = await served.items(f"/threads/{served.harness.thread_id}/turns")
    assert cursor is None
    assert [turn["messageId"] for turn in turns] == ["m2", "m1"]
    assert turns[0] | {"runId": None, "startedAt": None, "endedAt": None} == {
        "runId": None,
        "messageId": "m2",
        "attempt": 1,
        "status": "success",
        "agentId": "assistant",
        "startedAt": None,
        "endedAt": None,
        "usage": {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12},
        "model": "test-model",
        "firstTokenMs": 0,
        "cost": None,
        "errorCode": None,
    }


async def test_turns_can_be_paged(served: Served) -> None:
    for number in range(3, 8):
        await served.harness.say(f"m{number}")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"cursor": cursor} if cursor else {}
        turns, cursor = await served.items(f"/threads/{served.harness.thread_id}/turns", limit=2, **params)
        seen += [turn["messageId"] for turn in turns]
        if cursor is None:
            break
    assert seen == [f"m{number}" for number in range(7, 0, -1)]


# What is recorded


async def test_a_record_that_cannot_be_kept_does_not_fail_the_turn() -> None:
    harness = Harness(recalls=True)
    harness.context_records.failure = StoreUnavailable()
    assert (await harness.say()).types[-1] == "RUN_FINISHED"


@pytest.mark.parametrize(
    ("policy", "recorded"),
    [
        (InspectionPolicy(InspectorMode.OFF), 0),
        (InspectionPolicy(InspectorMode.ALL), 20),
        (InspectionPolicy(InspectorMode.SAMPLE, 0), 0),
        (InspectionPolicy(InspectorMode.SAMPLE, 1), 20),
    ],
)
async def test_the_setting_decides_which_turns_are_recorded(policy: InspectionPolicy, recorded: int) -> None:
    harness = Harness(inspection_policy=policy)
    for number in range(20):
        await harness.say(f"m{number}")
    assert len(harness.context_records.records) == recorded


def test_a_sample_is_about_its_share_and_the_same_for_every_attempt() -> None:
    policy = InspectionPolicy(InspectorMode.SAMPLE, 0.3)
    chosen = [policy.records(f"run-{number}") for number in range(2_000)]
    assert 500 < sum(chosen) < 700
    assert chosen == [policy.records(f"run-{number}") for number in range(2_000)]


@pytest.mark.parametrize("redacts", [False, True])
async def test_a_turn_is_shown_with_the_feedback_on_its_answers(redacts: bool) -> None:
    policy = InspectionPolicy(redacts=redacts)
    served = Served(Harness(inspection_policy=policy))
    for number in (1, 2):
        await served.harness.say(f"m{number}", "Hello")
    thread = f"/threads/{served.harness.thread_id}"
    messages, _ = await served.items(f"{thread}/messages")
    body = {"rating": "down", "comment": "Ask ada@example.com."}
    rated = (await served.post(f"{thread}/messages/{messages[3]['id']}/feedback", body)).json()
    turns, _ = await served.items(f"{thread}/turns")
    reported = {"messageId": messages[3]["id"], **rated["feedback"]}
    assert [turn.get("feedback") for turn in turns] == [[reported], None]
    for turn, visible in zip(turns, ([reported], []), strict=True):
        record = (await served.get(f"{thread}/turns/{turn['runId']}/context", INSPECT)).json()
        if redacts and visible:
            visible = [{**reported, "comment": "Ask [email]."}]
        assert record["feedback"] == visible


async def test_redaction_covers_every_text_of_a_record() -> None:
    harness = Harness(recalls=True, inspection_policy=InspectionPolicy(redacts=True))
    await remember(harness.search, harness.embedder, harness.ada, "Mail about my cat goes to miso@example.com.")
    await harness.say(content="Where does mail about my cat go? To ada@example.com?")
    assert "example.com" not in str(list(harness.context_records.records.values()))
    record = str(await harness.context())
    assert "example.com" not in record
    assert "mail about my cat" in record.lower()
    assert "[email]" in record
    assert "[email 2]" in record


@pytest.mark.parametrize("size", [10, 1_000_000, 5_000_000])
def test_a_record_keeps_within_its_size_and_says_what_was_cut(size: int) -> None:
    message = {"role": "user", "content": "x" * size}
    call = {"messages": [message] * 3}
    item = {"included": False, "text": "y" * size}
    record = {"cut": [], "blocks": [{"items": [item] * 50}], "calls": [call] * 5, "callsLeftOut": 0}
    body = limit_size(record)
    assert len(body) <= MAX_RECORD_BYTES
    assert (b'"cut":[]' in body) == (size == 10)


def test_a_record_of_very_many_items_is_cut_too() -> None:
    items = [{"included": bool(number % 2), "text": "some text " * 5} for number in range(60_000)]
    calls = [{"messages": [{"content": "hm"}] * 30_000}] * 40
    body = limit_size({"cut": [], "blocks": [{"items": items}], "calls": calls, "callsLeftOut": 0})
    assert len(body) <= MAX_RECORD_BYTES
    assert b"items that were left out" in body


def test_half_a_character_that_a_model_wrote_does_not_prevent_a_record() -> None:
    record = {"cut": [], "blocks": [], "calls": [{"messages": [{"content": "caf\u00e9 \ud83d"}]}], "callsLeftOut": 0}
    [call] = json.loads(limit_size(record))["calls"]
    assert call["messages"] == [{"content": "caf\u00e9 ?"}]


async def test_a_run_without_a_model_call_has_a_record_of_nothing() -> None:
    harness = Harness()
    await harness.say()
    await harness.app.memory.inspector.keep(harness.ada, harness.thread_id, "r", Inspection(), ())
    record = await harness.context("r")
    assert (record["blocks"], record["calls"]) == ([], [])
