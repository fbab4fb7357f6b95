"""Commands that a user types in a chat, and agents in a terminal."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.unit.command.served import ScriptedServer, listing, stream
from tests.unit.command.typed import Typed

BEGUN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
ENDED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}}
SHOP = {"id": "shop", "name": "Shop", "description": "Sells.", "main": True, "version": None}
LIMIT = {"code": "spending_limit_reached", "detail": "The limit is reached.", "canContinue": True}
HOUR = {"Retry-After": "3600"}
STOCK = {"id": "stock", "name": "Stock", "description": "Counts.", "main": False, "version": 2}


@pytest.fixture
def shop(server: ScriptedServer) -> ScriptedServer:
    """A server with two agents that answers nothing to everything."""
    server.answer("POST /v1/runs", stream(BEGUN, ENDED))
    server.answer("GET /v1/agents", listing(STOCK, SHOP))
    server.answer("GET /v1/agents/shop", httpx.Response(200, json=SHOP))
    return server


def converse(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, *messages: str) -> str:
    """Chat, and return what was shown."""
    monkeypatch.setattr("baton_client.command.chat.open_chat_input", lambda: Typed(*messages))
    result = server.run("chat")
    assert result.exit_code == 0, result.output
    return result.output


def list_messages(server: ScriptedServer) -> list[tuple[str, str | None]]:
    """The conversation and the agent of each message."""
    bodies = [json.loads(request.content) for request in server.sent("POST /v1/runs")]
    return [(body["threadId"], body["forwardedProps"].get("agentId")) for body in bodies]


def test_another_conversation_is_begun(shop: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    converse(shop, monkeypatch, "One", "Two", "/new", "Three")
    threads = [thread for thread, _ in list_messages(shop)]
    assert (threads[0] == threads[1], threads[1] == threads[2]) == (True, False)


def test_another_agent_is_talked_to_in_another_conversation(
    shop: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    converse(shop, monkeypatch, "One", "/agent shop", "Two")
    (first, no_agent), (second, agent) = list_messages(shop)
    assert (first == second, no_agent, agent) == (False, None, "shop")


def test_an_agent_that_does_not_exist_changes_nothing(shop: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    output = converse(shop, monkeypatch, "One", "/agent nobody", "Two")
    assert "No GET /v1/agents/nobody." in output
    assert len(set(list_messages(shop))) == 1


def test_agents_are_listed_those_that_conversations_begin_with_first(
    shop: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = converse(shop, monkeypatch, "/agent").splitlines()
    assert [line.split("\t")[0] for line in output if "\t" in line] == ["shop", "stock"]


def test_a_conversation_is_closed_and_the_next_message_begins_another_one(
    shop: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []

    def run(request: httpx.Request) -> httpx.Response:
        thread_id = json.loads(request.content)["threadId"]
        shop.answer(f"POST /v1/threads/{thread_id}/close", lambda request: _make_closed(closed, thread_id))
        return stream(BEGUN, ENDED)

    shop.answer("POST /v1/runs", run)
    converse(shop, monkeypatch, "One", "/end", "Two")
    (first, _), (second, _) = list_messages(shop)
    assert (closed, first == second) == ([first], False)


def _make_closed(closed: list[str], thread_id: str) -> httpx.Response:
    closed.append(thread_id)
    return httpx.Response(200, json={})


def test_a_command_that_does_not_exist_is_named(shop: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    output = converse(shop, monkeypatch, "/unknown")
    assert "There is no command /unknown." in output
    assert shop.sent("POST /v1/runs") == []


def test_agents_are_listed_and_shown(shop: ScriptedServer) -> None:
    assert json.loads(shop.run("agents", "list", "--json").stdout) == {"items": [SHOP, STOCK]}
    assert shop.run("agents", "show", "shop").stdout.splitlines() == [
        "Shop (shop, the deployment)",
        "Sells.",
        "Conversations begin with it.",
    ]


def test_the_functions_of_an_agent_in_python_are_shown(server: ScriptedServer) -> None:
    functions = ["run", "prompt", "before_tool check_amount"]
    server.answer("GET /v1/agents/shop", httpx.Response(200, json={**SHOP, "functions": functions}))
    assert server.run("agents", "show", "shop").stdout.splitlines()[3:] == [
        "Its code answers, and not its model: run.",
        "Its functions: prompt, before_tool check_amount.",
    ]


def test_an_agents_definition_is_printed_as_its_file_has_it(server: ScriptedServer) -> None:
    text = "id: shop\nname: Shop\n"
    server.answer("GET /v1/agents/shop", httpx.Response(200, text=text, headers={"content-type": "application/yaml"}))
    assert server.run("agents", "show", "shop", "--yaml").stdout == text
    assert server.requests[-1].headers["accept"] == "application/yaml"


def test_a_lost_server_is_reported_once_and_the_answer_goes_on(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [
        BEGUN,
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "name": "Shop"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "One "},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "two"},
        ENDED,
    ]

    def refuse_connection(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    def begin(request: httpx.Request) -> httpx.Response:
        thread_id = json.loads(request.content)["threadId"]
        rest = [{**event, "metadata": {"seq": seq}} for seq, event in enumerate(events, 1)][3:]
        server.answer(
            f"GET /v1/threads/{thread_id}/events",
            refuse_connection,
            refuse_connection,
            refuse_connection,
            stream(*rest),
        )
        return stream(*events[:3])

    async def at_once(seconds: float) -> None:
        pass

    monkeypatch.setattr("asyncio.sleep", at_once)
    server.answer("POST /v1/runs", begin)
    result = server.run("chat", "-m", "Hi")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("The server cannot be reached") == 1
    assert "two" in result.stdout


def test_a_message_to_people_is_delivered_and_a_person_answers(
    shop: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivered = {**ENDED, "outcome": {"type": "delivered"}, "metadata": {"seq": 5, "outcome": "delivered"}}
    author = {"kind": "person", "id": "anna", "name": "Anna"}
    receipt = {"type": "document", "source": {}, "metadata": {"name": "receipt.pdf"}}
    messages = [
        {"type": "TEXT_MESSAGE_START", "messageId": "p", "name": "Anna", "metadata": {"seq": 2, "author": author}},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "p", "delta": "Hello."},
        {"type": "TEXT_MESSAGE_END", "messageId": "p", "metadata": {"seq": 4, "attachments": [receipt]}},
    ]
    shop.answer("POST /v1/runs", stream(BEGUN, *messages, delivered))
    output = converse(shop, monkeypatch, "Is anybody there?")
    assert "Anna (a person): Hello." in output
    assert "[receipt.pdf]" in output
    assert "(Delivered. A person answers.)" in output


def test_a_user_may_go_on_beyond_a_spending_limit_that_asks(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer("POST /v1/runs", httpx.Response(429, json=LIMIT, headers=HOUR), stream(BEGUN, ENDED))
    typed = Typed("Hello", answers=("y",))
    monkeypatch.setattr("baton_client.command.chat.open_chat_input", lambda: typed)
    assert server.run("chat").exit_code == 0
    first, second = (json.loads(request.content) for request in server.sent("POST /v1/runs"))
    assert typed.prompts == ["  Go on anyway? [y/N] "]
    assert first["messages"] == second["messages"]
    assert "overSpending" not in first["forwardedProps"]
    assert second["forwardedProps"]["overSpending"] is True


def test_a_message_whose_run_has_ended_at_the_limit_is_sent_again_as_another(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = {"type": "RUN_ERROR", "code": "spending_limit_reached", "message": "The limit is reached."}
    server.answer(
        "POST /v1/runs", stream(BEGUN, {**failure, "metadata": {"seq": 2, "canContinue": True}}), stream(BEGUN, ENDED)
    )
    monkeypatch.setattr("baton_client.command.chat.open_chat_input", lambda: Typed("Hello", answers=("y",)))
    server.run("chat")
    [first], [second] = (json.loads(request.content)["messages"] for request in server.sent("POST /v1/runs"))
    assert (first["content"], first["id"] == second["id"]) == (second["content"], False)


@pytest.mark.parametrize(("arguments", "exit_code"), [((), 1), (("--over-spending",), 0)])
def test_a_script_goes_on_beyond_a_spending_limit_only_by_an_option(
    server: ScriptedServer, arguments: tuple[str, ...], exit_code: int
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if json.loads(request.content)["forwardedProps"].get("overSpending"):
            return stream(BEGUN, ENDED)
        return httpx.Response(429, json=LIMIT, headers=HOUR)

    server.answer("POST /v1/runs", answer)
    result = server.run("chat", "-m", "Hello", *arguments)
    assert (result.exit_code, "--over-spending" in result.output) == (exit_code, exit_code == 1)


WAITS = {
    "type": "RUN_FINISHED",
    "threadId": "t",
    "runId": "r",
    "outcome": {
        "type": "interrupt",
        "interrupts": [{"id": "i", "reason": "tool_call", "responseSchema": {"properties": {"approved": {}}}}],
    },
}


def test_an_answer_that_a_spending_limit_refuses_is_sent_again_and_not_its_question(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = httpx.Response(429, json=LIMIT, headers=HOUR)
    server.answer("POST /v1/runs", stream(BEGUN, WAITS), refusal, stream(BEGUN, ENDED))
    typed = Typed("Refund it", answers=("y", "y"))
    monkeypatch.setattr("baton_client.command.chat.open_chat_input", lambda: typed)
    assert server.run("chat").exit_code == 0
    _, refused, repeated = (json.loads(request.content) for request in server.sent("POST /v1/runs"))
    assert (refused["messages"], repeated["messages"]) == ([], [])
    assert refused["resume"] == repeated["resume"]
    assert repeated["forwardedProps"]["overSpending"] is True


def test_answers_whose_run_has_ended_at_the_limit_are_not_sent_again(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = {"type": "RUN_ERROR", "code": "spending_limit_reached", "message": "The limit is reached."}
    server.answer(
        "POST /v1/runs", stream(BEGUN, WAITS), stream(BEGUN, {**failure, "metadata": {"seq": 2, "canContinue": True}})
    )
    typed = Typed("Refund it", answers=("y",))
    monkeypatch.setattr("baton_client.command.chat.open_chat_input", lambda: typed)
    assert "The limit is reached." in server.run("chat").output
    assert len(server.sent("POST /v1/runs")) == 2
