"""The sources of a captured procedure, as those who decide on it read them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from baton.domain.memory.procedure import Procedure, ProcedureSource
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.unit.api.served import Served
from tests.unit.memory.procedures.tasks import (
    CALLS,
    DRAFT,
    IS_TASK,
    OPERATOR,
    capture,
    complete_task,
    equip,
    make_draft_answer,
)

APPROVE = "procedure:approve"
PATH = "/agents/assistant/procedures/report-an-outage/source"
MAIL = "miller@example.com"


@pytest.fixture
async def served() -> Served:
    """An API whose user ada has completed a task, of which a procedure was captured, and talked on."""
    harness = equip(Harness(assistant=OPERATOR), result=f"Done, {MAIL} is told.")
    harness.model.script("Nothing to hide.")
    await harness.say("m0", "My password is hunter22, do not tell.")
    await complete_task(harness, message=f"Please report an outage of Miller Ltd, {MAIL}, to #ops.")
    harness.model.script(IS_TASK, make_draft_answer())
    assert await capture(harness) is not None
    harness.model.script("You are welcome.")
    await harness.say("m2", "Thanks, from Berta.")
    return Served(harness)


async def source(served: Served, *permissions: str, user: str = "bob", **query: Any) -> dict[str, Any]:
    read: dict[str, Any] = (await served.get(PATH, *permissions, user=user, **query)).raise_for_status().json()
    return read


async def test_who_decides_reads_the_task_and_nothing_else_of_the_conversation(served: Served) -> None:
    read = await source(served, APPROVE)
    assert (read["missing"], read["redacted"], read["version"]) == (0, True, 1)
    messages = [
        (message["role"], message["text"], [call["name"] for call in message["toolCalls"]])
        for message in read["messages"]
    ]
    assert messages[0] == ("user", "Please report an outage of Miller Ltd, [email], to #ops.", [])
    assert messages[-1] == ("assistant", "I have reported it.", [])
    assert [calls for _, _, calls in messages if calls] == [["crm_find"], ["ticket_create"], ["slack_post"]]
    results = [message for message in read["messages"] if message["role"] == "tool"]
    assert [(result["text"], result["outcome"]) for result in results] == [("Done, [email] is told.", "succeeded")] * 3
    assert all(private not in str(read) for private in (MAIL, "hunter22", "Berta"))
    records = [record for record in served.harness.audit.records if record.action == "procedure.source"]
    assert [(record.scope.user_id, record.outcome, record.detail) for record in records] == [
        ("bob", "allowed", {"userId": "ada"})
    ]


async def test_personal_data_is_for_its_owner_and_those_who_may_read_it(served: Served) -> None:
    for user, permissions in (("ada", (APPROVE,)), ("bob", (APPROVE, "pii:read"))):
        read = await source(served, *permissions, user=user)
        assert not read["redacted"]
        assert MAIL in read["messages"][0]["text"]
        assert "hunter22" not in str(read)


async def test_without_the_permission_nothing_of_it_is_read(served: Served) -> None:
    refused = await served.get(PATH, "thread:read_all", "pii:read", user="bob")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    records = [record for record in served.harness.audit.records if record.action == "procedure.source"]
    assert [record.outcome for record in records] == ["denied"]


async def test_a_source_that_is_gone_leaves_the_procedure_readable(served: Served) -> None:
    store, ada = served.harness.procedures, served.harness.ada
    result = await store.get(ada, "assistant", "report-an-outage")
    assert result is not None
    await store.put(ada, _of(result, "Written by hand.", None))
    assert (await source(served, APPROVE))["messages"] == []
    gone = ProcedureSource("00000000-0000-4000-8000-000000000000", run_id="r", message_ids=("m-1", "m-2"))
    await store.put(ada, _of(result, "Of a conversation that is gone.", gone))
    read = await source(served, APPROVE)
    assert (read["messages"], read["missing"], read["version"]) == ([], 2, 3)
    assert (await source(served, APPROVE, version=1))["missing"] == 0


def _of(result: Procedure, description: str, made_of: ProcedureSource | None) -> Procedure:
    assert result.draft.name == DRAFT["name"]
    return replace(result, draft=replace(result.draft, description=description), source=made_of)


async def test_long_texts_are_shown_from_their_beginning_and_no_value_is_cut_open() -> None:
    harness = equip(Harness(assistant=OPERATOR), result="r" * 30_000)
    mails = " ".join(f"{'a' * 50}{number}@miller.example" for number in range(2_000))
    await complete_task(harness, message=f"Please report an outage. {mails}")
    harness.model.script(IS_TASK, make_draft_answer())
    assert await capture(harness) is not None
    messages = (await source(Served(harness), APPROVE))["messages"]
    assert [len(message["text"]) for message in messages if message["role"] == "tool"] == [10_000] * 3
    assert all(message["cut"] for message in messages if message["role"] in ("user", "tool"))
    assert "aaaa" not in messages[0]["text"]


async def test_a_long_text_of_a_message_shortens_no_other_text_of_it() -> None:
    harness = equip(Harness(assistant=OPERATOR))
    long, short = CALLS[0].arguments, CALLS[1].arguments
    calls = (replace(CALLS[0], arguments=json.dumps({**json.loads(long), "note": "n" * 100_000})), CALLS[1])
    harness.model.script(Answer.calling(*calls, text="I look and report."), Answer.calling(CALLS[2]), "Done.")
    await harness.say("m1", "Please report an outage.")
    harness.model.script(IS_TASK, make_draft_answer())
    assert await capture(harness) is not None
    messages = (await source(Served(harness), APPROVE))["messages"]
    [message] = [message for message in messages if len(message["toolCalls"]) == 2]
    assert (message["text"], message["toolCalls"][1]["arguments"], message["cut"]) == (
        "I look and report.",
        short,
        True,
    )
