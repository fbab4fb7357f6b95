"""A tool that a person must agree to: the run ends, and another goes on with it, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.ag_ui_rules import check_run, text_of
from tests.e2e.fixtures import NewUser
from tests.e2e.problems import check_problem
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import Json, User, run_input
from tests.fault_model import FaultModel, answers, calls_tools

pytestmark = pytest.mark.nightly

APPROVED = {"approved": True}
CALL: tuple[str, Json] = ("next_number", {})
REFUSED = "The user refused this call. Do not try it again unless they ask for it."


@dataclass(frozen=True)
class Waiting:
    """A conversation that waits for an approval."""

    thread_id: str
    run: list[Json]

    @property
    def interrupts(self) -> list[Json]:
        """The interrupt that it waits for."""
        outcome = self.run[-1]["outcome"]
        assert outcome["type"] == "interrupt"
        findings: list[Json] = outcome["interrupts"]
        return findings

    @property
    def interrupt_id(self) -> str:
        """The id of the only thing that it waits for."""
        [interrupt] = self.interrupts
        return str(interrupt["id"])

    def answer(self, status: str = "resolved", payload: Any = None) -> Json:
        """The fields of the action ``answer``."""
        return {"threadId": self.thread_id, **self._entry(status, payload)}

    def resume(self, status: str = "resolved", payload: Any = None) -> Json:
        """AG-UI's ``RunAgentInput`` that answers."""
        resume = [self._entry(status, payload)]
        return run_input("", thread_id=self.thread_id) | {"messages": [], "resume": resume}

    def _entry(self, status: str, payload: Any) -> Json:
        """The answer itself; a resolved one agrees unless it says otherwise."""
        agreed = APPROVED if status == "resolved" else None
        return {"interruptId": self.interrupt_id, "status": status, "payload": payload or agreed}


@pytest.fixture
async def waiting(socket: SocketClient, model: FaultModel) -> Waiting:
    """Alice's conversation, whose agent wants the next number."""
    model.script(calls_tools(CALL, text="Let me count."), answers("Counted."))
    thread_id = new_id()
    run = await socket.say("Count", thread_id=thread_id, agentId="careful")
    return Waiting(thread_id, run)


async def calls_of(user: User, thread_id: str) -> list[Json]:
    """The records of the thread's tool calls."""
    items: list[Json] = (await user.read(f"/threads/{thread_id}/tool-calls"))["items"]
    return items


async def approvals_of(user: User, thread_id: str) -> list[tuple[str, str]]:
    """The answers in the thread with their users, oldest first."""
    records = (await user.read(f"/threads/{thread_id}/audit"))["items"]
    return [(record["userId"], record["outcome"]) for record in records if record["action"] == "tool.approve"][::-1]


def results(run: list[Json]) -> list[str]:
    """The results of a run's calls."""
    return [event["content"] for event in run if event["type"] == "TOOL_CALL_RESULT"]


async def test_the_run_ends_with_the_question_and_nothing_done(waiting: Waiting, alice: User) -> None:
    [interrupt] = waiting.interrupts
    [started] = [event for event in waiting.run if event["type"] == "TOOL_CALL_START"]
    assert (interrupt["reason"], interrupt["message"]) == ("tool_approval", "May I use next_number?")
    assert interrupt["toolCallId"] == started["toolCallId"]
    assert interrupt["expiresAt"].endswith("Z")
    assert text_of(waiting.run) == "Let me count."
    assert results(waiting.run) == []
    assert await calls_of(alice, waiting.thread_id) == []


async def test_an_answer_over_another_connection_goes_on_once(waiting: Waiting, alice: User, model: FaultModel) -> None:
    async with alice.connect() as elsewhere:
        await elsewhere.send("answer", **waiting.answer())
        run = await elsewhere.receive_until_end()
        check_run(run)
        assert run[0]["parentRunId"] == waiting.run[0]["runId"]
        assert run[0]["metadata"]["seq"] == waiting.run[-1]["metadata"]["seq"] + 1
        assert (run[-1]["outcome"], text_of(run)) == ({"type": "success"}, "Counted.")

        await elsewhere.send("answer", **waiting.answer("cancelled"))
        repeated = await elsewhere.receive_until_end()
    assert repeated[0]["runId"] == run[0]["runId"]
    assert repeated[-1]["outcome"] == {"type": "success"}
    [call] = await calls_of(alice, waiting.thread_id)
    assert (call["toolName"], call["succeeded"]) == ("next_number", True)
    assert len(model.requests) == 2
    assert await approvals_of(alice, waiting.thread_id) == [("alice", "approved")]


async def test_a_watcher_sees_it_go_on(waiting: Waiting, socket: SocketClient, alice: User) -> None:
    async with alice.connect() as elsewhere:
        await elsewhere.send("answer", **waiting.answer())
    run = await socket.receive_until_end()
    check_run(run)
    assert text_of(run) == "Counted."


async def test_resuming_over_http_goes_on_once(waiting: Waiting, alice: User, model: FaultModel) -> None:
    request = waiting.resume()
    run = await alice.run(request)
    check_run(run)
    assert (run[0]["runId"], run[0]["parentRunId"]) == (request["runId"], waiting.run[0]["runId"])
    assert text_of(run) == "Counted."
    [number] = results(run)
    repeated = await alice.run(waiting.resume())
    assert repeated[-1]["outcome"] == {"type": "success"}
    model.script(calls_tools(CALL), answers("Counted again."))
    next_time = await alice.run(run_input("Again", thread_id=waiting.thread_id))
    again = await alice.run(Waiting(waiting.thread_id, next_time).resume())
    assert int(number) + 1 == int(results(again)[0]), "the server was asked once for each approval"


async def test_a_message_over_http_learns_what_is_waited_for(alice: User, model: FaultModel) -> None:
    model.script(calls_tools(CALL), answers("Counted."))
    answered = await alice.ask("Count", agentId="careful", messageId="m-1")
    again = await alice.ask("Count", sessionId=answered["sessionId"], messageId="m-1")
    [interrupt] = answered["outcome"]["interrupts"]
    assert interrupt["message"] == "May I use next_number?"
    assert again["outcome"] == answered["outcome"]
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": APPROVED}]
    run = await alice.run(run_input("", thread_id=answered["sessionId"], messages=[], resume=resume))
    assert text_of(run) == "Counted."


async def test_a_connection_that_comes_later_learns_what_is_waited_for(waiting: Waiting, alice: User) -> None:
    async with alice.connect() as elsewhere:
        await elsewhere.send("resume", threadId=waiting.thread_id, after=waiting.run[-1]["metadata"]["seq"])
        snapshot = await elsewhere.receive()
    assert [interrupt["id"] for interrupt in snapshot["metadata"]["resume"]["interrupts"]] == [waiting.interrupt_id]


@pytest.mark.parametrize(
    ("status", "payload", "expected"),
    [
        ("cancelled", None, REFUSED),
        ("resolved", {"approved": False, "comment": "Not today."}, f"{REFUSED} They said: Not today."),
    ],
)
async def test_a_refusal_is_reported_to_the_model(
    waiting: Waiting, alice: User, model: FaultModel, status: str, payload: Any, expected: str
) -> None:
    run = await alice.run(waiting.resume(status, payload))
    check_run(run)
    assert run[-1]["outcome"] == {"type": "success"}
    assert results(run) == [expected]
    assert list(model.requests[-1].tool_results.values()) == [expected]
    [call] = await calls_of(alice, waiting.thread_id)
    assert (call["succeeded"], call["output"], call["errorMessage"]) == (False, None, expected)
    assert await approvals_of(alice, waiting.thread_id) == [("alice", "refused")]


async def test_a_plain_message_instead_cancels_the_question(
    waiting: Waiting, socket: SocketClient, alice: User, model: FaultModel
) -> None:
    model.reset()
    model.script(answers("As you like."))
    run = await socket.say("Never mind", thread_id=waiting.thread_id)
    assert (run[-1]["outcome"], text_of(run)) == ({"type": "success"}, "As you like.")
    [reported] = model.requests[-1].tool_results.values()
    assert reported == "This call was not carried out: the conversation went on without it."
    await socket.send("answer", **waiting.answer())
    refusal = await socket.receive_refusal()
    assert refusal["metadata"]["threadId"] == waiting.thread_id
    assert await calls_of(alice, waiting.thread_id) == []


async def test_somebody_else_may_approve_with_the_permission(
    waiting: Waiting, alice: User, new_user: NewUser, socket: SocketClient
) -> None:
    boss = new_user("boss", "tool:approve")
    async with boss.connect() as connected:
        await connected.send("answer", **waiting.answer())
        run = await socket.receive_until_end()
        await connected.check_no_more_events()
    check_run(run)
    assert text_of(run) == "Counted."
    assert await approvals_of(alice, waiting.thread_id) == [("boss", "approved")]
    assert (await boss.get(f"/threads/{waiting.thread_id}")).status_code == 404


async def test_somebody_else_is_refused_without_it_and_audited(
    waiting: Waiting, alice: User, new_user: NewUser, model: FaultModel
) -> None:
    bob = new_user("bob")
    async with bob.connect() as connected:
        await connected.send("answer", **waiting.answer())
        assert (await connected.receive_refusal())["code"] == "thread_unavailable"
    check_problem(await bob.post("/runs", waiting.resume()), 404, "thread_unavailable")
    assert len(model.requests) == 1
    assert await calls_of(alice, waiting.thread_id) == []
    assert ("bob", "denied") in await approvals_of(alice, waiting.thread_id)
    assert text_of(await alice.run(waiting.resume())) == "Counted."


async def test_a_run_with_two_questions_goes_on_when_both_are_answered(
    socket: SocketClient, alice: User, model: FaultModel
) -> None:
    model.script(calls_tools(CALL, CALL, ("add", {"a": 1, "b": 2})), answers("Counted."))
    thread_id = new_id()
    waiting = Waiting(thread_id, await socket.say("Count twice", thread_id=thread_id, agentId="careful"))
    assert [call["toolName"] for call in await calls_of(alice, thread_id)] == ["add"]
    first, second = (interrupt["id"] for interrupt in waiting.interrupts)
    await socket.send("answer", threadId=thread_id, interruptId=first, status="resolved", payload=APPROVED)
    await socket.send("answer", threadId=thread_id, interruptId=second, status="cancelled")
    run = await socket.receive_until_end()
    check_run(run)
    assert text_of(run) == "Counted."
    assert sorted(call["succeeded"] for call in await calls_of(alice, thread_id)) == [False, True, True]


async def test_answers_to_nothing_are_refused(waiting: Waiting, socket: SocketClient) -> None:
    unknown = waiting.answer() | {"interruptId": f"{'0' * 32}.1"}
    await socket.send("answer", **unknown)
    assert (await socket.receive_refusal())["code"] == "interrupt_unavailable"
    await socket.send("answer", **(waiting.answer() | {"status": "perhaps"}))
    assert (await socket.receive_refusal())["code"] == "invalid_request"
