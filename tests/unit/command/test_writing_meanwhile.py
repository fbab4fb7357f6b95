"""Messages that are typed in a chat while the agent works."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from baton_client.command import chat_meanwhile
from tests.unit.command.served import ScriptedServer, listing, problem, stream
from tests.unit.command.typed import Typed


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_meanwhile, "LOOK_SECONDS", 0)


def run_of(run_id: str, text: str, *between: dict[str, Any]) -> httpx.Response:
    """The events of a run that says a text."""
    message = {"messageId": f"of {run_id}"}
    events: list[dict[str, Any]] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": run_id},
        *between,
        {"type": "TEXT_MESSAGE_START", **message, "name": "Shop"},
        {"type": "TEXT_MESSAGE_CONTENT", **message, "delta": text},
        {"type": "TEXT_MESSAGE_END", **message},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": run_id, "outcome": {"type": "success"}},
    ]
    return stream(*({**event, "metadata": {"seq": n, "runId": run_id}} for n, event in enumerate(events, 1)))


def chat(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, *meanwhile: str) -> str:
    """Ask, write meanwhile, and return what was shown."""
    monkeypatch.setattr("baton_client.command.chat.open_chat_input", lambda: Typed("Find it.", meanwhile=meanwhile))
    result = server.run("chat")
    assert result.exit_code == 0, result.output
    return result.output


def bodies(server: ScriptedServer) -> list[dict[str, Any]]:
    return [json.loads(request.content) for request in server.sent("POST /v1/runs")]


def test_a_message_that_enters_the_run_is_shown_where_it_does_and_gets_no_second_answer(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = {"messageId": "m", "message": {"content": "To Graz, please."}}
    entered = {"type": "CUSTOM", "name": "message_steered", "value": value}
    server.answer("POST /v1/runs", run_of("r1", "To Graz.", entered))
    output = chat(server, monkeypatch, "/steer To Graz, please.")
    assert "> the agent has got: To Graz, please." in output
    assert output.count("Shop: To Graz.") == 1
    first, second = bodies(server)
    assert "whileBusy" not in first["forwardedProps"]
    assert second["forwardedProps"]["whileBusy"] == "steer"
    assert (first["threadId"], second["messages"][0]["content"]) == (second["threadId"], "To Graz, please.")


def test_messages_that_wait_are_answered_after_the_run_in_order(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer("POST /v1/runs", run_of("r1", "Three."), run_of("r2", "To Graz: one."), run_of("r3", "Bye."))
    lines = chat(server, monkeypatch, "And to Graz?", "Thanks.").splitlines()
    assert [line for line in lines if line.startswith("Shop: ")] == [
        "Shop: Three.",
        "Shop: To Graz: one.",
        "Shop: Bye.",
    ]
    assert [body["forwardedProps"].get("whileBusy") for body in bodies(server)] == [None, None, None]


def test_a_message_that_was_withdrawn_or_refused_is_not_answered(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    withdrawn = stream({"type": "RUN_ERROR", "code": "message_withdrawn", "message": "It was withdrawn."})
    refused = problem(422, "invalid_request", "whileBusy: the agent allows queue.")
    server.answer("POST /v1/runs", run_of("r1", "Three."), withdrawn, refused)
    output = chat(server, monkeypatch, "And to Graz?", "/interrupt Stop.")
    assert "(Withdrawn.)" in output
    assert "whileBusy: the agent allows queue." in output
    assert output.count("Shop: ") == 1


def test_commands_for_later_and_nothing_to_withdraw_are_named(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer("POST /v1/runs", run_of("r1", "Three."))
    output = chat(server, monkeypatch, "/new", "/withdraw", " ")
    assert "The agent works, so /new does nothing." in output
    assert "No message waits." in output
    assert len(bodies(server)) == 1


def test_words_of_people_are_shown_while_the_user_may_write(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = {"agentId": "support", "status": "active"}
    server.answer("GET /v1/threads/t", httpx.Response(200, json={"id": "t", "lastSeq": 5, "state": {"desk": desk}}))
    server.answer("GET /v1/threads/t/messages", listing())
    remaining = [{"op": "replace", "path": "/desk", "value": None}]
    words: list[dict[str, Any]] = [
        {"type": "TEXT_MESSAGE_START", "messageId": "p", "name": "Anna", "metadata": {"author": {"kind": "person"}}},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "p", "delta": "You get 20 euros."},
        {"type": "TEXT_MESSAGE_END", "messageId": "p"},
        {"type": "STATE_DELTA", "delta": remaining},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r0", "outcome": {"type": "success"}},
    ]
    numbered = [{**e, "metadata": {**e.get("metadata", {}), "seq": seq}} for seq, e in enumerate(words, 6)]
    server.answer("GET /v1/threads/t/events", stream(*numbered))
    server.answer("POST /v1/runs", run_of("r1", "You are welcome."))
    monkeypatch.setattr("baton_client.command.chat.open_chat_input", lambda: Typed("Thanks."))
    result = server.run("chat", "t")
    assert result.exit_code == 0, result.output
    visible = [line for line in result.output.splitlines() if ": " in line]
    assert visible == ["Anna (a person): You get 20 euros.", "Shop: You are welcome."]
    assert [request.url.params["after"] for request in server.sent("GET /v1/threads/t/events")] == ["5"]
