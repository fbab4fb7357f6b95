"""Approvals over ``/v1/runs``: anybody who may decide about a call may not therefore read the conversation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.wiki import run_until_interrupt, wiki
from tests.unit.api.resuming import events_of, resume
from tests.unit.api.served import Served


@pytest.fixture
def served() -> Served:
    return Served(wiki())


async def test_an_approver_hears_how_the_run_ends_and_nothing_of_what_is_said(served: Served) -> None:
    (interrupt,) = await run_until_interrupt(served.harness)
    served.harness.model.script("A secret of ada's.")
    assert (await served.get(f"/threads/{served.harness.thread_id}", "tool:approve", user="boss")).status_code == 404
    first = await served.post("/runs", resume(served, interrupt), "tool:approve", user="boss")
    repeated = await served.post("/runs", resume(served, interrupt), "tool:approve", user="boss")
    for reported in (first, repeated):
        assert reported.status_code == 200
        assert '"type":"RUN_FINISHED"' in reported.text
        assert "secret" not in reported.text
        assert "home is gone" not in reported.text
        assert "Delete it." not in reported.text
    assert [called.arguments for called in served.harness.tools.calls] == [{"page": "home"}]


@pytest.mark.parametrize(
    ("user", "permissions"), [("ada", ()), ("boss", ("tool:approve", "thread:read_all"))], ids=["its user", "a reader"]
)
async def test_a_user_who_may_read_the_conversation_hears_all_of_it(
    served: Served, user: str, permissions: tuple[str, ...]
) -> None:
    (interrupt,) = await run_until_interrupt(served.harness)
    served.harness.model.script("A secret of ada's.")
    reported = await served.post("/runs", resume(served, interrupt), *permissions, user=user)
    assert "A secret of ada's." in reported.text
    assert "home is gone" in reported.text


async def test_a_stranger_may_not_answer(served: Served) -> None:
    (interrupt,) = await run_until_interrupt(served.harness)
    assert (await served.post("/runs", resume(served, interrupt), user="eve")).status_code == 404
    assert served.harness.tools.calls == []


@pytest.mark.parametrize("payload", [False, "no", {"approved": "no"}])
async def test_a_payload_that_is_no_decision_is_refused(served: Served, payload: Any) -> None:
    (interrupt,) = await run_until_interrupt(served.harness)
    refused = await served.post("/runs", resume(served, interrupt, payload=payload))
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert served.harness.tools.calls == []


async def test_two_answers_to_one_interrupt_are_refused(served: Served) -> None:
    (interrupt,) = await run_until_interrupt(served.harness)
    refused = await served.post("/runs", resume(served, interrupt, interrupt))
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")


async def test_answers_to_some_of_what_is_open_are_refused_and_not_kept(served: Served) -> None:
    first, second = await run_until_interrupt(served.harness, "home", "about")
    refused = await served.post("/runs", resume(served, first))
    assert (refused.status_code, second["id"] in refused.text) == (422, True)
    pending = served.harness.store.rows["acme", served.harness.thread_id].thread.pending
    assert pending is not None
    assert len(pending.open) == 2


def make_body_with_new_message(served: Served, interrupt: dict[str, Any], message_id: str, text: str) -> dict[str, Any]:
    """The body with which AG-UI's clients send a message while a question is open; ``m1`` has asked for the call."""
    messages = [{"id": "m1", "role": "user", "content": "Delete it."}]
    if message_id != "m1":
        messages.append({"id": message_id, "role": "user", "content": text})
    cancelled = [{"interruptId": interrupt["id"], "status": "cancelled"}]
    return resume(served, interrupt) | {"messages": messages, "resume": cancelled}


async def list_user_ids(served: Served) -> list[str]:
    """The ids of what users have said in the conversation."""
    messages, _ = await served.items(f"/threads/{served.harness.thread_id}/messages", roles="user")
    return [message["id"] for message in messages]


async def test_a_message_in_place_of_an_answer_is_taken_once(served: Served) -> None:
    (interrupt,) = await run_until_interrupt(served.harness)
    served.harness.model.script("Then we talk.")
    body = make_body_with_new_message(served, interrupt, "m2", "Let us talk.")
    first = await served.post("/runs", body)
    repeated = await served.post("/runs", body)
    assert "Then we talk." in first.text
    assert events_of(repeated) == events_of(first)
    assert await list_user_ids(served) == ["m1", "m2"]
    assert served.harness.tools.calls == []


async def test_a_refusal_that_comes_with_the_question_is_a_refusal(served: Served) -> None:
    (interrupt,) = await run_until_interrupt(served.harness)
    served.harness.model.script("As you like.")
    body = make_body_with_new_message(served, interrupt, "m1", "")
    first = await served.post("/runs", body)
    repeated = await served.post("/runs", body)
    assert "The user refused this call." in first.text
    assert "As you like." in first.text
    assert events_of(repeated) == events_of(first)


async def test_who_may_approve_for_others_says_nothing_in_their_name(served: Served) -> None:
    (interrupt,) = await run_until_interrupt(served.harness)
    served.harness.model.script("As you like.")
    body = make_body_with_new_message(served, interrupt, "m2", "Delete everything.")
    reported = await served.post("/runs", body, "tool:approve", "thread:read_all", user="boss")
    assert "The user refused this call." in reported.text
    assert await list_user_ids(served) == ["m1"]
