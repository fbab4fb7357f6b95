"""Turns with a failing model, over both interfaces."""

from __future__ import annotations

import pytest

from tests.e2e.ag_ui_rules import check_run, text_of
from tests.e2e.problems import check_problem
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import User, run_input
from tests.fault_model import (
    Behaviour,
    FaultModel,
    answers,
    breaks_after,
    endless,
    ends_after,
    error_after,
    filtered_answer,
    filtered_prompt,
    hangs_after,
    html,
    invalid_json,
    rate_limited,
    refused_connection,
    sends,
    silence,
    status,
    unauthorized,
    unavailable,
)

BEFORE: dict[str, tuple[Behaviour, str, bool]] = {
    "too many requests": (rate_limited(retry_after="0"), "model_rate_limited", True),
    "an outage": (unavailable(), "model_unavailable", True),
    "a wrong key": (unauthorized(), "model_misconfigured", False),
    "an unknown model": (status(404), "model_misconfigured", False),
    "a filtered question": (filtered_prompt(), "content_filtered", False),
    "silence": (silence(), "model_timeout", True),
    "no connection": (refused_connection(), "model_unavailable", True),
    "a web page": (html(), "model_unavailable", True),
    "no JSON": (invalid_json(), "model_unavailable", True),
    "an empty answer": (answers(""), "model_unavailable", True),
    "an empty stream": (sends("[DONE]"), "model_unavailable", True),
}
DURING: dict[str, tuple[Behaviour, str, bool]] = {
    "silence": (hangs_after("It was ", "a dark "), "model_timeout", True),
    "a lost connection": (breaks_after("It was ", "a dark "), "model_unavailable", True),
    "an end too soon": (ends_after("It was ", "a dark "), "model_unavailable", True),
    "an upstream error": (error_after("It was ", "a dark ", error={"code": "502"}), "model_unavailable", True),
    "a late rate limit": (error_after("It was ", "a dark ", error={"code": "429"}), "model_rate_limited", True),
    "a filtered answer": (filtered_answer("It was ", "a dark "), "content_filtered", False),
}
KEY = "sk-very-secret-key"
SECRETS = (KEY, "internal.example", "provider says")


@pytest.mark.parametrize("fault", BEFORE)
async def test_over_http_a_failed_model_is_a_problem(alice: User, model: FaultModel, fault: str) -> None:
    behaviour, code, retryable = BEFORE[fault]
    model.otherwise = behaviour
    body = {"message": "Hello", "sessionId": new_id(), "messageId": "m-1", "agentId": "impatient"}
    failed = await alice.post("/messages", body)
    check_problem(failed, 502, code, retryable=retryable)
    assert KEY not in failed.text  # the local cloud shows developers the endpoint's other words
    request_count = len(model.requests)
    repeated = await alice.post("/messages", body)
    check_problem(repeated, 502, code, retryable=retryable)
    assert repeated.json()["detail"] == failed.json()["detail"]
    assert len(model.requests) == request_count
    model.reset()
    assert (await alice.ask("Better?", sessionId=body["sessionId"]))["messages"][-1]["content"] == "Better?"


@pytest.mark.parametrize("fault", DURING)
async def test_over_http_a_model_that_fails_late_is_a_problem_too(alice: User, model: FaultModel, fault: str) -> None:
    behaviour, code, retryable = DURING[fault]
    model.otherwise = behaviour
    thread_id = new_id()
    body = {"message": "Tell me a story", "sessionId": thread_id, "agentId": "impatient"}
    check_problem(await alice.post("/messages", body), 502, code, retryable=retryable)
    stored = (await alice.messages(thread_id))[-1]
    assert (stored["role"], stored["content"], stored["metadata"]["status"]) == (
        "assistant",
        "It was a dark ",
        "cancelled",
    )


@pytest.mark.parametrize("fault", DURING)
async def test_over_the_socket_a_failed_run_keeps_what_was_said(
    socket: SocketClient, alice: User, model: FaultModel, fault: str
) -> None:
    behaviour, code, retryable = DURING[fault]
    model.script(behaviour)
    thread_id = new_id()
    run = await socket.say("Tell me a story", thread_id=thread_id, agentId="impatient")
    assert text_of(run) == "It was a dark "
    assert [event["type"] for event in run[-2:]] == ["TEXT_MESSAGE_END", "RUN_ERROR"]
    error = run[-1]
    assert (error["code"], error["metadata"]["retryable"]) == (code, retryable)
    assert error["message"]
    assert not [secret for secret in SECRETS if secret in str(run)]
    stored = (await alice.messages(thread_id))[-1]
    assert (stored["content"], stored["metadata"]["status"]) == ("It was a dark ", "cancelled")
    after = await socket.say("Go on", thread_id=thread_id)
    assert after[-1]["type"] == "RUN_FINISHED"
    assert after[0]["metadata"]["seq"] == error["metadata"]["seq"] + 1
    # A question that was filtered would be filtered again, so no later prompt holds it.
    first = "Go on" if code == "content_filtered" else "Tell me a story"
    assert model.requests[-1].dialogue[0] == ("user", first)


@pytest.mark.parametrize("fault", ["a wrong key", "a filtered question", "too many requests"])
async def test_over_the_socket_a_run_may_fail_before_a_word(
    socket: SocketClient, alice: User, model: FaultModel, fault: str
) -> None:
    behaviour, code, retryable = BEFORE[fault]
    model.otherwise = behaviour
    thread_id = new_id()
    run = await socket.say("Hello", thread_id=thread_id)
    assert [event["type"] for event in run] == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_ERROR"]
    assert (run[-1]["code"], run[-1]["metadata"]["retryable"]) == (code, retryable)
    assert [message["role"] for message in await alice.messages(thread_id)] == ["user"]
    model.reset()
    assert text_of(await socket.say("Better?", thread_id=thread_id)) == "Better?"


async def test_a_run_over_http_fails_as_a_stream(alice: User, model: FaultModel) -> None:
    model.script(unauthorized())
    run = await alice.run(run_input("Hello"))
    check_run(run)
    assert (run[-1]["type"], run[-1]["code"]) == ("RUN_ERROR", "model_misconfigured")


async def test_what_may_be_repeated_is_repeated_and_nobody_notices(alice: User, model: FaultModel) -> None:
    model.script(rate_limited(retry_after="0"), refused_connection(), answers("Here I am."))
    run = await alice.run(run_input("Hello"))
    check_run(run)
    assert (run[-1]["type"], text_of(run)) == ("RUN_FINISHED", "Here I am.")
    assert len(model.requests) == 3


async def test_an_answer_cut_at_the_models_limit_is_an_answer(alice: User, model: FaultModel) -> None:
    model.script(answers("As far as I", finish="length"))
    assert (await alice.ask("Hello"))["messages"][-1]["content"] == "As far as I"


async def test_a_model_that_counts_nothing_is_counted_by_baton(alice: User, model: FaultModel) -> None:
    model.script(answers("Hello there.", usage=False))
    usage = (await alice.ask("Hello"))["usage"]
    assert usage["inputTokens"] > 50
    assert usage["outputTokens"] == 3


async def test_a_turn_that_takes_too_long_is_stopped_and_kept(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    model.script(endless())
    thread_id = new_id()
    run = await socket.say("Talk", thread_id=thread_id, agentId="hurried")
    assert (run[-1]["code"], run[-1]["metadata"]["retryable"]) == ("turn_timeout", True)
    assert text_of(run).startswith("on on ")
    stored = (await alice.messages(thread_id))[-1]
    assert (stored["content"], stored["metadata"]["status"]) == (text_of(run), "cancelled")
    await model.wait_until(lambda seen: seen.hangups == 1)
    assert text_of(await socket.say("Thank you", thread_id=thread_id)) == "Thank you"
