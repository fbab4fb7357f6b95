"""People of a desk over HTTP."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from baton.api.desks import desk_events
from baton.api.runs.sse import Timing
from baton.domain.errors import ThreadUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.threads.desks import desk_access
from tests.harness.desks import DeskHarness, desk
from tests.harness.sockets import Socketed
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served

ANSWER = "desk:answer"


@pytest.fixture
def served() -> Served:
    return Served(DeskHarness(support=desk(triggers=["talk to a human"], desk={"permission": "desk:support"})))


def read_events(answer: Any) -> list[dict[str, Any]]:
    """The events of a stream, each with its id."""
    events = []
    for block in answer.text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            events.append({**json.loads(fields["data"]), "id": fields["id"]})
    return events


class People:
    """Ada at the desk, and the people who answer her."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.path = f"/threads/{served.harness.thread_id}"
        assert isinstance(served.harness, DeskHarness)
        self.harness = served.harness

    async def post(self, path: str, body: Any = None, *permissions: str, user: str = "anna") -> Any:
        granted = permissions or (ANSWER, "desk:support")
        return await self.served.post(f"{self.path}/desk{path}", body if body is not None else {}, *granted, user=user)

    async def events(self, last_event_id: str) -> list[dict[str, Any]]:
        async with self.served._client("anna", ANSWER, "desk:support") as client:
            answer = await client.get("/desk/events", headers={"Last-Event-ID": last_event_id})
        return read_events(answer)

    async def get(self, path: str, *permissions: str, user: str = "anna", **params: Any) -> Any:
        return await self.served.get(path, *(permissions or (ANSWER, "desk:support")), user=user, **params)


@pytest.fixture
async def people(served: Served) -> People:
    people = People(served)
    await people.harness.ask()
    return people


async def test_people_see_who_waits_and_take_them(people: People) -> None:
    [item] = (await people.get("/desk")).json()["items"]
    assert (item["deskId"], item["status"], item["userId"], item["unread"]) == ("support", "waiting", "ada", 1)
    assert item["lastMessage"] == "I want to talk to a human"
    taken = await people.post("/take")
    assert taken.status_code == 200
    assert taken.json()["person"] == {"kind": "person", "id": "anna", "name": "anna"}
    assert (await people.get("/desk", status="waiting")).json()["items"] == []
    assert len((await people.get("/desk", status="mine")).json()["items"]) == 1
    assert (await people.get("/desk", status="mine", user="ben")).json()["items"] == []
    assert (await people.post("/take")).status_code == 200


async def test_the_second_to_take_learns_who_was_first(people: People) -> None:
    await people.post("/take")
    refused = await people.post("/take", user="ben")
    assert (refused.status_code, refused.json()["code"]) == (409, "desk_taken")
    assert refused.json()["person"]["id"] == "anna"


async def test_a_reply_is_one_message_however_often_it_is_sent(people: People) -> None:
    await people.post("/take")
    body = {"messageId": "p1", "content": "Hello, I am Anna."}
    first = await people.post("/messages", body)
    assert first.status_code == 201
    assert first.json()["metadata"]["author"] == {"kind": "person", "id": "anna", "name": "anna"}
    second_answer = await people.post("/messages", body)
    assert (second_answer.status_code, second_answer.json()) == (200, first.json())
    other = await people.post("/messages", {"messageId": "p1", "content": "Something else"})
    assert other.json()["code"] == "message_id_conflict"
    items = (await people.served.get(f"{people.path}/messages")).json()["items"]
    assert [item["content"] for item in items if item.get("name") == "anna"] == ["Hello, I am Anna."]
    await people.post("/return", {})
    assert (await people.post("/messages", body)).status_code == 200


async def test_what_a_person_has_done_is_answered_again_after_a_lost_answer(people: People) -> None:
    note = {"messageId": "n1", "text": "She has the receipt."}
    passed_on = {"deskId": "billing", "note": "Please check."}
    assert [(await people.post("/take")).status_code for _ in range(2)] == [200, 200]
    await people.post("/notes", note)
    first = await people.post("/transfer", passed_on)
    second_answer = await people.post("/transfer", passed_on)
    assert (first.status_code, second_answer.status_code, second_answer.json()) == (200, 200, first.json())
    assert (await people.post("/notes", note)).status_code == 201
    assert (await people.post("/transfer", {**passed_on, "note": "Other"})).json()["code"] == "desk_not_taken"
    assert (await people.post("/transfer", passed_on, user="ben")).json()["code"] == "desk_not_taken"
    await people.post("/take", user="ben")
    first = await people.post("/return", {"note": "Done."}, user="ben")
    second_answer = await people.post("/return", {"note": "Done."}, user="ben")
    assert (first.status_code, second_answer.status_code, second_answer.json()) == (200, 200, first.json())
    assert (await people.post("/return", {"note": "Done."})).json()["code"] == "not_at_desk"
    assert (await people.post("/return", {}, user="ben")).json()["code"] == "not_at_desk"
    assert (await people.post("/notes", note)).status_code == 201
    assert (await people.post("/notes", {**note, "text": "Other"})).json()["code"] == "message_id_conflict"
    harness = people.harness
    page = await harness.store.read_messages(harness.ada, await harness.thread(), limit=50, before=None)
    notes = [message.text for message in page.messages if message.is_note]
    assert notes == ["She has the receipt.", "Please check.", "Done."]


async def test_a_visit_that_another_one_has_followed_is_not_ended_again(people: People) -> None:
    await people.post("/take")
    await people.post("/return")
    assert (await people.post("/return")).status_code == 200
    await people.harness.ask("m2")
    assert (await people.post("/return")).json()["code"] == "desk_not_taken"
    await people.harness.say("m3", "cancel")
    assert (await people.post("/return")).json()["code"] == "not_at_desk"


async def test_a_note_is_no_reply_of_the_same_id(people: People) -> None:
    await people.post("/take")
    await people.post("/notes", {"messageId": "n1", "text": "She is angry."})
    refused = await people.post("/messages", {"messageId": "n1", "content": "She is angry."})
    assert refused.json()["code"] == "message_id_conflict"
    await people.post("/messages", {"messageId": "p1", "content": "Hello"})
    refused = await people.post("/notes", {"messageId": "p1", "text": "Hello"})
    assert refused.json()["code"] == "message_id_conflict"


async def test_a_reply_reads_the_conversation_once_before_its_run(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    await people.post("/take")
    reads, get_thread = [], people.harness.store.get_thread

    async def note_read(scope: Scope, thread_id: str) -> Thread:
        reads.append(thread_id)
        return await get_thread(scope, thread_id)

    monkeypatch.setattr(people.harness.store, "get_thread", note_read)
    assert (await people.post("/messages", {"messageId": "p1", "content": "Hello"})).status_code == 201
    assert reads == [people.harness.thread_id]


async def test_only_who_has_taken_it_answers_and_hands_it_back(people: People) -> None:
    for path, body in (
        ("/messages", {"messageId": "p1", "content": "Hi"}),
        ("/return", {}),
        ("/transfer", {"deskId": "billing"}),
    ):
        refused = await people.post(path, body)
        assert refused.json()["code"] == "desk_not_taken", path


async def test_a_conversation_that_was_handed_back_is_at_no_desk(people: People) -> None:
    await people.post("/take")
    back = await people.post("/return", {"note": "All is well."})
    assert back.status_code == 200
    assert back.json()["state"]["desk"] is None
    assert back.json()["state"]["activeAgent"]["id"] == "assistant"
    assert (await people.post("/take")).json()["code"] == "not_at_desk"
    assert (await people.get("/desk")).json()["items"] == []


async def test_people_without_the_permissions_learn_nothing(people: People) -> None:
    assert (await people.get("/desk", "thread:read_all")).status_code == 403
    assert (await people.get("/desk", ANSWER)).json()["items"] == []
    assert (await people.post("/take", {}, ANSWER)).status_code == 404
    assert (await people.post("/take", {}, "desk:support")).status_code == 403
    assert (await people.get(f"{people.path}/messages", ANSWER)).status_code == 404
    assert (await people.get(f"{people.path}/events", ANSWER)).status_code == 404


async def test_people_read_the_session_at_their_desk_and_none_before(served: Served) -> None:
    people = People(served)
    await people.harness.say("m0", "My secret of last week")
    await people.served.post(f"{people.path}/close", {})
    await people.harness.run_queue()
    await people.harness.ask("m1")
    items = (await people.get(f"{people.path}/messages")).json()["items"]
    assert "secret" not in str(items)
    assert items[0]["id"] == "m1"
    events = await people.get(f"{people.path}/events")
    assert events.status_code == 200
    assert "secret" not in events.text
    assert "talk to a human" in events.text
    await people.post("/take")
    await people.post("/return", {})
    assert (await people.get(f"{people.path}/messages")).status_code == 404


async def test_the_user_asks_for_a_person_by_a_button(served: Served) -> None:
    people = People(served)
    await people.harness.say("m0", "Hello")
    answer = await people.served.post(f"{people.path}/desk", {"deskId": "billing"})
    assert answer.status_code == 200
    assert answer.json()["state"]["desk"]["agentId"] == "billing"
    second_answer = await people.served.post(f"{people.path}/desk", {"deskId": "billing"})
    assert (second_answer.status_code, second_answer.json()["messages"]) == (200, answer.json()["messages"])
    other = await people.served.post(f"{people.path}/desk", {})
    assert other.json()["code"] == "handoff_in_progress"
    unknown = await People(Served(DeskHarness())).served.post(f"{people.path}/desk", {"deskId": "nowhere"})
    assert unknown.status_code == 404


SENTENCES = {
    "en": {"desk_waiting": "Somebody will come."},
    "de": {"desk_waiting": "Gleich kommt jemand."},
    "es": {"desk_waiting": "Ya viene alguien."},
}


@pytest.mark.parametrize(
    ("way", "claim", "language"),
    [
        ("button", None, "de-AT"),
        ("message", None, "de-AT"),
        ("run", None, "de-AT"),
        ("frame", None, "de-AT"),
        ("frame", "es", "es"),
    ],
)
async def test_a_desk_speaks_the_language_of_the_page_to_a_user_whose_token_has_none(
    way: str, claim: str | None, language: str
) -> None:
    support = desk(triggers=["talk to a human"], desk={"permission": "desk:support"}, sentences=SENTENCES)
    served = Served(DeskHarness(support=support))
    harness, text = served.harness, "I want to talk to a human"
    harness.model.script("Ada wants a person.")
    if way == "frame":
        harness.ada = replace(harness.ada, locale=claim)
        socket = Socketed(harness)
        await socket.send("message", messageId="m1", content=text, locale="de-AT")
        await socket.run_queue()
    elif way == "button":
        await harness.say("m0", "Hello")
        await served.post(f"/threads/{harness.thread_id}/desk", {"locale": "de-AT"})
    elif way == "message":
        await served.post("/messages", {"sessionId": harness.thread_id, "message": text, "locale": "de-AT"})
    else:
        message = {"id": "m1", "role": "user", "content": text}
        await served.post("/runs", run_input(served, messages=[message], forwardedProps={"locale": "de-AT"}))
    people = People(served)
    [item] = (await people.get("/desk")).json()["items"]
    assert item["locale"] == language
    history = (await people.get(f"{people.path}/messages")).json()["items"]
    assert SENTENCES[language[:2]]["desk_waiting"] in [message["content"] for message in history]


async def test_a_language_that_is_none_is_refused(served: Served) -> None:
    refused = await served.post("/messages", {"message": "Hello", "locale": "English (US)"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "locale must be a language tag" in refused.text


async def test_users_learn_which_desks_an_agent_offers_and_when_they_open() -> None:
    hours = {"zone": "UTC", "week": {"mon-sun": "00:00-24:00"}}
    closed = {"hours": hours | {"week": {"mon": "closed"}}}
    served = Served(DeskHarness(support=desk(desk=closed, required_permissions=["help:people"])))
    assistant, *others = (await served.get("/agents", "help:people")).json()["items"]
    assert [(offered["id"], offered["isOpen"], offered["opensAt"]) for offered in assistant["desks"]] == [
        ("support", False, None),
        ("billing", True, None),
    ]
    assert assistant["isDefault"] is True
    assert [(offered["isDefault"], offered["desks"]) for offered in others] == [(False, [])] * len(others)
    [assistant, *_] = (await served.get("/agents")).json()["items"]
    assert [offered["id"] for offered in assistant["desks"]] == ["billing"]  # the other one needs a permission


async def test_a_delivered_message_is_a_finished_run_for_clients_of_the_protocol(served: Served) -> None:
    people = People(served)
    await people.harness.ask()
    thread_id = people.harness.thread_id

    async def run(message_id: str, **version: str) -> Any:
        body = {"threadId": thread_id, "runId": message_id, "messages": [], "state": {}, "tools": [], "context": []}
        message = {"id": message_id, "role": "user", "content": "Is anybody there?"}
        answer = await people.served.post("/runs", body | version | {"messages": [message], "forwardedProps": {}})
        return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")][-1]

    finished = await run("m2", protocolVersion="1.0")
    assert (finished["outcome"], finished["metadata"]["outcome"]) == ({"type": "delivered"}, "delivered")
    older = await run("m3")
    assert (older["outcome"], older["metadata"]["outcome"]) == ({"type": "success"}, "delivered")


async def test_people_follow_their_desks_and_resume_where_they_were(served: Served) -> None:
    served.timing = Timing(follow_seconds=0.0)
    served = Served(served.harness, served.timing)
    people = People(served)
    await people.harness.ask()
    [first] = read_events(await people.get("/desk/events"))
    assert first["value"]["item"]["status"] == "waiting"
    assert await people.events(first["id"]) == []
    await people.post("/take")
    [taken] = await people.events(first["id"])
    assert taken["value"]["item"]["person"]["id"] == "anna"
    await people.post("/return")
    [departure] = await people.events(taken["id"])
    assert departure["value"] == {"threadId": people.harness.thread_id, "item": None}
    assert await people.events(departure["id"]) == []
    assert len(await people.events("no id of ours")) == 0
    assert (await people.get("/desk/events", "thread:read_all")).status_code == 403


async def test_a_message_at_a_desk_is_delivered_and_answered_by_no_agent(people: People) -> None:
    answer = await people.served.post("/messages", {"sessionId": people.harness.thread_id, "message": "Anybody?"})
    assert answer.status_code == 200
    assert answer.json()["outcome"] == {"type": "delivered"}
    assert [message["role"] for message in answer.json()["messages"]] == ["user"]
    context = f"{people.path}/runs/{answer.json()['runId']}/context"
    assert (await people.served.get(context, "context:inspect", "thread:read_all", user="boss")).status_code == 404


async def test_the_people_of_a_desk_learn_that_it_has_left_and_others_that_there_is_nothing(people: People) -> None:
    await people.post("/take")
    await people.post("/transfer", {"deskId": "billing"})
    back = await people.post("/take")
    assert back.status_code == 200  # both desks are theirs
    await people.post("/return")
    assert (await people.post("/take")).json()["code"] == "not_at_desk"
    assert (await people.post("/take", {}, ANSWER)).json()["code"] == "not_at_desk"  # it was at billing as well


async def test_the_people_of_another_desk_see_what_the_user_still_waits_for(people: People) -> None:
    await people.post("/take")
    await people.served.post("/messages", {"sessionId": people.harness.thread_id, "message": "Anybody?"})
    [before] = (await people.get("/desk")).json()["items"]
    await people.post("/transfer", {"deskId": "billing"})
    [item] = (await people.get("/desk")).json()["items"]
    fields = ("unread", "unansweredSince", "lastMessage", "userName")
    assert (item["deskId"], [item[name] for name in fields]) == ("billing", [before[name] for name in fields])
    assert item["unread"] == 2


async def test_a_page_reads_a_bounded_number_of_conversations_and_the_next_page_continues(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_access, "MAX_SEARCHED", 2)
    ids = [people.harness.thread_id]
    for number in range(4):
        people.harness.thread_id = f"6b1f0c7e-1111-4222-8333-44445555000{number}"
        people.harness.clock.advance(1)
        await people.harness.ask()
        ids.append(people.harness.thread_id)
    people.path = f"/threads/{ids[-1]}"
    assert (await people.post("/take")).status_code == 200
    listed, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = (await people.get("/desk", status="mine", limit=1, **({"cursor": cursor} if cursor else {}))).json()
        listed += [item["threadId"] for item in page["items"]]
        cursor, pages = page["nextCursor"], pages + 1
    assert listed == [ids[-1]]
    assert pages > 2
    everything = (await people.get("/desk", limit=100)).json()
    assert [item["threadId"] for item in everything["items"]] == ids


async def test_many_conversations_of_one_user_hide_nobody_from_the_live_list(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor from a person who resumes, to whom an id cannot say all that they have seen."""
    for name, value in (("MAX_OF_USER", 3), ("PAGE", 2), ("MAX_MARKS", 3)):
        monkeypatch.setattr(desk_events, name, value)
    people = People(Served(served.harness, Timing(follow_seconds=0.0)))
    harness, ada, ids = people.harness, people.harness.ada, []
    for number, user in enumerate(["ada"] * 5 + ["bea", "cem"]):
        harness.ada, harness.thread_id = replace(ada, user_id=user), f"6b1f0c7e-1111-4222-8333-44445555000{number}"
        harness.clock.advance(1)
        await harness.ask()
        ids.append(harness.thread_id)
    expected = [*ids[:3], *ids[5:]]
    events = await people.events("-")
    assert [event["value"]["item"]["threadId"] for event in events] == expected
    people.path = f"/threads/{ids[0]}"
    harness.ada = ada
    await people.post("/take")
    await people.post("/return")
    listed, *changed = await people.events(events[-1]["id"])
    assert (listed["name"], listed["value"]) == ("desk_listed", {"threadIds": [*ids[1:4], *ids[5:]]})
    assert [event["value"]["threadId"] for event in changed] == [*ids[1:4], *ids[5:]]


async def test_a_closed_session_is_audited_as_a_return(people: People) -> None:
    await people.served.post(f"{people.path}/close", {})
    await people.harness.run_queue()
    records = [(record.action, record.detail) for record in people.harness.audit.records]
    assert ("desk.return", {"deskId": "support", "reason": "closed"}) in records
    assert (await people.post("/take")).json()["code"] == "not_at_desk"


async def test_bodies_that_hold_nothing_can_be_left_out(people: People) -> None:
    await people.post("/take")
    async with people.served._client("anna", ANSWER, "desk:support") as client:
        assert (await client.post(f"{people.path}/desk/return")).status_code == 200
    async with people.served._client("ada") as client:
        assert (await client.post(f"{people.path}/desk")).status_code == 200


FILE = {"type": "document", "source": {"type": "data", "value": "eA==", "mimeType": "text/plain"}}


@pytest.mark.parametrize(
    ("content", "preview"),
    [
        ([FILE | {"metadata": {"name": "receipt.txt"}}, FILE], "receipt.txt, document"),
        ([FILE, {"type": "text", "text": "My receipt"}], "My receipt"),
    ],
)
async def test_a_message_of_files_is_listed_by_their_names(people: People, content: Any, preview: str) -> None:
    await people.served.post("/messages", {"sessionId": people.harness.thread_id, "message": content})
    [item] = (await people.get("/desk")).json()["items"]
    assert item["lastMessage"] == preview
    await people.post("/take")
    await people.post("/messages", {"messageId": "p1", "content": [FILE | {"metadata": {"name": "answer.txt"}}]})
    [item] = (await people.get("/desk")).json()["items"]
    assert item["lastMessage"] == "answer.txt"


@pytest.mark.parametrize("permission", [None, "vip"])
async def test_a_conversation_is_transferred_only_to_desks_that_its_user_may_talk_to(permission: str | None) -> None:
    support = desk(triggers=["talk to a human"], desk={"permission": "desk:support"})
    harness = DeskHarness(support=support, billing_permissions=["vip"])
    harness.ada = replace(harness.ada, permissions=frozenset([permission] if permission else []))
    await harness.ask()
    people = People(Served(harness))
    await people.post("/take")
    others = [other["id"] for other in (await people.get(f"{people.path}/desk")).json()["desks"]]
    transferred = await people.post("/transfer", {"deskId": "billing"})
    if permission is None:
        assert (others, transferred.status_code, transferred.json()["code"]) == ([], 404, "unknown_agent")
        assert (await harness.thread()).active_agent_id == "support"
    else:
        assert (others, transferred.status_code) == (["billing"], 200)
        await harness.say("m2", "Hello?")
        assert (await harness.thread()).active_agent_id == "billing"


async def begin_visit(*permissions: str) -> People:
    """Ada, who has permissions, comes to support by the button, and a person takes her conversation."""
    support = desk(triggers=["talk to a human"], desk={"permission": "desk:support"})
    harness = DeskHarness(support=support, billing_permissions=["vip"])
    harness.ada = replace(harness.ada, permissions=frozenset(permissions))
    socket = Socketed(harness)
    await socket.send("desk", deskId="support")
    await socket.run_queue()
    people = People(Served(harness))
    await people.post("/take")
    return people


async def list_targets(people: People) -> list[str]:
    return [other["id"] for other in (await people.get(f"{people.path}/desk")).json()["desks"]]


async def test_a_conversation_without_a_message_of_its_user_is_transferred_to_desks_for_its_user() -> None:
    people = await begin_visit("vip", "another")
    for number in range(25):
        await people.harness.reply(f"Answer {number}.", f"p{number}")
    assert await list_targets(people) == ["billing"]
    assert (await people.harness.session()).permissions == ("vip",)
    assert (await people.post("/transfer", {"deskId": "billing"})).status_code == 200
    await people.harness.say("m1", "Hello?")
    assert (await people.harness.thread()).active_agent_id == "billing"


@pytest.mark.parametrize("permission", ["vip", "another"])
async def test_the_permissions_of_the_users_last_message_count_for_transfers(permission: str) -> None:
    people = await begin_visit("another" if permission == "vip" else "vip")
    people.harness.ada = replace(people.harness.ada, permissions=frozenset([permission]))
    await people.harness.say("m1", "Hello?")
    assert await list_targets(people) == (["billing"] if permission == "vip" else [])
    transferred = await people.post("/transfer", {"deskId": "billing"})
    assert transferred.status_code == (200 if permission == "vip" else 404)


async def test_the_case_has_the_reason_the_notes_and_the_other_desks(people: People) -> None:
    await people.post("/take")
    await people.post("/notes", {"messageId": "n1", "text": "She has the receipt."})
    case = (await people.get(f"{people.path}/desk")).json()
    assert case["item"]["status"] == "active"
    assert case["reason"]
    assert case["summary"] == "Ada wants a person."
    assert [(note["text"], note["author"]["id"]) for note in case["notes"]] == [("She has the receipt.", "anna")]
    assert [(desk["id"], desk["isOpen"]) for desk in case["desks"]] == [("billing", True)]
    own_desks = (await people.get("/desk/desks", ANSWER)).json()
    assert [desk["id"] for desk in own_desks["items"]] == ["billing"]  # support needs a permission
    assert (await people.get(f"{people.path}/desk", user="ada")).status_code == 200
    assert (await people.get(f"{people.path}/desk", "thread:read_all")).status_code == 403


async def test_a_draft_is_of_the_main_agents_model_and_nothing_of_it_is_stored(people: People) -> None:
    before = (await people.get(f"{people.path}/messages")).json()
    people.harness.model.script("I am sorry. What is your number?")
    draft = await people.post("/draft", {"kind": "reply", "instruction": "Ask for the number."})
    assert draft.json() == {"text": "I am sorry. What is your number?", "sources": []}
    [system, *_] = people.harness.model.requests[-1].prompts
    assert people.harness.assistant.system_prompt in system.content
    assert "Ask for the number." in str(people.harness.model.requests[-1].prompts)
    material = json.loads(str(people.harness.model.requests[-1].prompts[-1].content))
    assert material["kind"] == "reply"
    assert {"role": "user", "text": "I want to talk to a human"} in material["messages"]
    assert (await people.get(f"{people.path}/messages")).json() == before
    [record] = [record for record in people.harness.audit.records if record.action == "desk.draft"]
    assert (record.scope.user_id, record.detail["kind"]) == ("anna", "reply")
    refused = await people.post("/draft", {"kind": "summary", "instruction": "x" * 2_001})
    assert refused.status_code == 422


async def test_people_without_the_desk_get_no_draft_and_show_no_typing(people: People) -> None:
    questions = len(people.harness.model.requests)
    assert (await people.post("/draft", {"kind": "reply"}, ANSWER)).status_code == 404
    assert (await people.post("/typing", {}, ANSWER)).status_code == 404
    assert (await people.post("/typing")).json()["code"] == "desk_not_taken"
    assert len(people.harness.model.requests) == questions


async def test_users_see_that_the_person_is_typing(people: People) -> None:
    harness = people.harness
    await people.post("/take")
    await harness.live.attach(harness.ada, harness.thread_id, "c1", harness.clock.now() + timedelta(hours=1))
    answer = await people.post("/typing")
    assert (answer.status_code, answer.content) == (204, b"")
    event = harness.connections.events("c1")[-1]
    assert (event["name"], event["value"]) == ("typing", {"who": "person"})
    assert "seq" not in event["metadata"]


async def test_the_person_sees_that_the_user_is_typing(served: Served) -> None:
    people = People(Served(served.harness, Timing(follow_seconds=0.0)))
    harness = people.harness
    await harness.ask()
    await harness.app.controls.note_typing(harness.ada, harness.thread_id)  # nobody is there to see it
    await people.post("/take")
    [item] = await people.events("-")
    assert item["value"]["item"]["typing"] is False
    harness.clock.advance(1)
    await harness.app.controls.note_typing(harness.ada, harness.thread_id)
    [typing] = await people.events(item["id"])
    assert typing["value"]["item"]["typing"] is True
    harness.clock.advance(1)
    await served.post("/messages", {"sessionId": harness.thread_id, "message": "Anybody?"})
    [sent] = await people.events(typing["id"])
    assert sent["value"]["item"]["typing"] is False
    harness.clock.advance(3)
    await harness.app.controls.note_typing(harness.ada, harness.thread_id)
    [more] = await people.events(sent["id"])
    assert more["value"]["item"]["typing"] is True
    harness.clock.advance(10)
    [silent] = await people.events(more["id"])
    assert silent["value"]["item"]["typing"] is False
    with pytest.raises(ThreadUnavailable):
        await harness.app.controls.note_typing(harness.make_person_scope(user_id="eve"), harness.thread_id)


async def test_a_person_sends_a_file_into_the_conversation_that_they_have_taken(people: People) -> None:
    file = {"name": "form.pdf", "contentType": "application/pdf", "size": 4}

    async def upload(user: str) -> Any:
        return await people.served.post(f"{people.path}/files", file, ANSWER, "desk:support", user=user)

    assert (await upload("anna")).status_code == 404
    await people.post("/take")
    assert (await upload("ben")).status_code == 404
    uploaded = await upload("anna")
    assert uploaded.status_code == 201
    sent = await people.post("/messages", {"messageId": "p1", "content": [uploaded.json()["part"]]})
    assert sent.status_code == 201
    items = (await people.served.get(f"{people.path}/messages")).json()["items"]
    [part] = items[-1]["metadata"]["attachments"]
    assert part["source"]["value"] == uploaded.json()["fileId"]


async def test_the_person_who_has_taken_a_conversation_closes_it(people: People) -> None:
    async def close(user: str) -> Any:
        return await people.served.post(f"{people.path}/close", {}, ANSWER, "desk:support", user=user)

    await people.post("/take")
    assert (await close("ben")).status_code == 404
    answer = await close("anna")
    assert answer.status_code == 202
    await people.harness.run_queue()
    second_answer = await close("anna")
    assert (second_answer.status_code, second_answer.json()) == (202, answer.json())
    assert (await close("ben")).status_code == 404
    thread = await people.harness.thread()
    assert (thread.status, thread.conversation.desk) == ("closed", None)
    records = [
        (record.scope.user_id, record.action, record.outcome, record.detail.get("reason"))
        for record in people.harness.audit.records
    ]
    assert ("anna", "thread.close", "requested", None) in records
    assert ("anna", "thread.close", "closed", "PersonClosed") in records
    assert ("anna", "desk.return", "done", "closed") in records
    events = (await people.served.get(f"{people.path}/events")).text
    [closed] = [json.loads(line[6:]) for line in events.splitlines() if '"thread_closed"' in line]
    anna = {"kind": "person", "id": "anna", "name": "anna"}
    assert (closed["value"]["reason"], closed["value"]["person"]) == ("PersonClosed", anna)
