"""Agents in Python in conversations: tools, computed prompts, the state, progress and files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from baton import Agent, CallContext, Refuse, ToolFailed, TurnContext, tool
from baton.api.tenants.export_lines import make_record_shapes
from baton.domain.errors import StoreUnavailable
from baton.domain.runs.conversation_data import MAX_DATA_BYTES
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import NO_PRICES
from baton.domain.tenants.identity import Scope
from baton.ports.agents.tools import MAX_ATTACHED_BYTES
from baton.tenants.privacy.export import ExportKind
from tests.fakes.chat_model import Answer
from tests.harness.armed import call
from tests.harness.coded import make_coded_harness
from tests.harness.failing_store import fail_once
from tests.harness.harness import TODAY, Harness, Turn
from tests.harness.sessions import close
from tests.harness.timed import in_virtual_time
from tests.harness.wiki import answer, yes


class Receipt(BaseModel):
    number: str
    euros: Decimal


@tool(approval="always")
async def refund(number: str, euros: Decimal, context: CallContext) -> Receipt:
    """Refund an order. number: the order's number. euros: at most the order's total."""
    assert (context.user, context.tenant) == ("ada", "acme")
    return Receipt(number=number, euros=euros)


@tool
async def add(item: str, context: CallContext) -> str:
    """Put an item into the cart."""
    context.state.setdefault("cart", []).append(item)
    return f"{len(context.state['cart'])} in the cart"


@tool
async def lend(item: str) -> Refuse:
    """Lend an item."""
    return Refuse(f"{item} is gone.")


@tool
def clear(context: CallContext) -> str:
    """Empty the cart."""
    del context.state["cart"]
    return "empty"


@tool
async def fail(context: CallContext) -> str:
    """Fail."""
    context.state["cart"] = ["nonsense"]
    raise ToolFailed("It does not work.")


@tool
async def flood(kind: str, context: CallContext) -> str:
    """Keep too much."""
    context.state["flood"] = {"much": "x" * MAX_DATA_BYTES, "wrong": {1, 2}}[kind]
    return "kept"


def shop(*tools: Any, **fields: Any) -> Agent:
    """The main agent of the tests."""
    return Agent("assistant", "Sell.", main=True, tools=tools, **fields)


async def state(harness: Harness) -> Mapping[str, Any] | None:
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    return thread.conversation.data


def results(turn: Turn) -> list[str]:
    return [event.body["content"] for event in turn.events if event.type == "TOOL_CALL_RESULT"]


def system_notes(harness: Harness) -> list[str]:
    return [str(content) for role, content in harness.model.requests[-1].contents if role == "system"]


async def test_a_function_is_called_once_a_person_has_agreed() -> None:
    asks = Answer.calling(ToolCall("c1", "refund", '{"number": "A-7", "euros": 12.5}'))
    harness = make_coded_harness(shop(refund), answers=(asks, "Refunded."))
    turn = await harness.say()
    [interrupt] = turn.last["outcome"]["interrupts"]
    assert results(await answer(harness, yes(interrupt))) == ['{"number":"A-7","euros":"12.5"}']
    [offered] = harness.model.requests[0].tools
    assert (offered.name, offered.description) == ("refund", "Refund an order.")
    assert offered.parameters["properties"].keys() == {"number", "euros"}


async def test_a_computed_prompt_stands_behind_the_history_and_changes_nothing_before_it() -> None:
    agent = shop()

    @agent.prompt
    async def about(context: TurnContext) -> str:
        return f"{context.user} of {context.tenant} has {len(context.permissions)} permissions."

    harness = make_coded_harness(agent, answers=("One.", "Two."))
    await harness.say("m1", "First")
    await harness.say("m2", "Second", scope=Scope("acme", "ada", frozenset({"shop:vip"})))
    first, second = (request.contents for request in harness.model.requests)
    assert first == [("system", "Sell."), ("system", "ada of acme has 0 permissions."), TODAY, ("user", "First")]
    assert second == [
        ("system", "Sell."),
        ("user", "First"),
        ("assistant", "One."),
        ("system", "ada of acme has 1 permissions."),
        TODAY,
        ("user", "Second"),
    ]


async def test_a_prompt_may_be_computed_from_the_state_and_cannot_change_it() -> None:
    agent = shop(add)

    @agent.prompt
    def about(context: TurnContext) -> str | None:
        cart = context.state.pop("cart", [])
        return f"In the cart: {', '.join(cart)}." if cart else None

    harness = make_coded_harness(agent, answers=(Answer.calling(call("add", item="tea")), "Done.", "Two."))
    await harness.say("m1")
    assert "In the cart" not in "".join(system_notes(harness))
    await harness.say("m2")
    assert "In the cart: tea." in system_notes(harness)
    assert await state(harness) == {"cart": ["tea"]}


@pytest.mark.parametrize("returned", [7, "x" * 20_001, None])
async def test_a_turn_does_not_go_on_without_its_instructions(returned: Any) -> None:
    agent = shop()

    @agent.prompt
    def about() -> Any:
        if returned is None:
            raise RuntimeError("down")
        return returned

    harness = make_coded_harness(agent)
    turn = await harness.say()
    assert (turn.types[-1], turn.last["code"]) == ("RUN_ERROR", "internal_error")
    assert harness.model.requests == []


def test_a_prompt_that_takes_too_long_ends_the_turn() -> None:
    agent = shop()

    @agent.prompt
    async def about() -> str:
        await asyncio.sleep(11)
        return "Late."

    async def work() -> None:
        turn = await make_coded_harness(agent).say()
        assert turn.last["code"] == "internal_error"

    in_virtual_time(work)


async def test_an_agent_that_is_consulted_computes_its_prompt_too() -> None:
    faq = Agent("faq", "Answer.", description="Knows.")

    @faq.prompt
    def about(context: TurnContext) -> str:
        return f"You answer for {context.agent_id}."

    ask = Answer.calling(call("ask_faq", message="Well?"))
    harness = make_coded_harness(shop(sub_agents=[faq]), faq, answers=(ask, "Yes.", "It says yes."))
    await harness.say()
    assert ("system", "You answer for faq.") in harness.model.requests[1].contents


async def test_the_state_is_committed_with_the_turn_and_known_in_the_next() -> None:
    adds = [Answer.calling(call("add", item=item)) for item in ("tea", "milk")]
    harness = make_coded_harness(
        shop(add, clear), answers=(adds[0], "Done.", adds[1], "Done.", Answer.calling(call("clear")), "Ok.")
    )
    assert results(await harness.say("m1")) == ["1 in the cart"]
    assert results(await harness.say("m2")) == ["2 in the cart"]
    assert await state(harness) == {"cart": ["tea", "milk"]}
    await harness.say("m3")
    assert await state(harness) == {}


async def test_the_state_outlasts_the_end_of_a_session() -> None:
    harness = make_coded_harness(shop(add), answers=(Answer.calling(call("add", item="tea")), "Done."))
    await harness.say("m1")
    await close(harness)
    assert await state(harness) == {"cart": ["tea"]}


async def test_a_call_that_fails_changes_nothing() -> None:
    both = Answer.calling(call("add", item="tea"), call("fail", 2))
    harness = make_coded_harness(shop(add, fail), answers=(both, "Done."))
    await harness.say()
    assert await state(harness) == {"cart": ["tea"]}


@pytest.mark.parametrize("kind", ["much", "wrong"])
async def test_what_cannot_be_kept_fails_the_call(kind: str) -> None:
    harness = make_coded_harness(shop(flood), answers=(Answer.calling(call("flood", kind=kind)), "Sorry."))
    [result] = results(await harness.say())
    assert result == "Error: flood was carried out, but what it has noted cannot be kept."
    assert await state(harness) is None


async def test_calls_at_the_same_time_change_different_fields() -> None:
    @tool
    async def note(key: str, context: CallContext) -> str:
        """Note it."""
        context.state[key] = True
        await asyncio.sleep(0)
        return "noted"

    both = Answer.calling(call("note", key="a"), call("note", 2, key="b"))
    harness = make_coded_harness(shop(note), answers=(both, "Done."))
    await harness.say()
    assert await state(harness) == {"a": True, "b": True}


async def test_a_worker_that_takes_over_applies_what_was_recorded_and_calls_nothing_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []

    @tool
    async def add_once(item: str, context: CallContext) -> str:
        """Put an item into the cart."""
        calls.append(item)
        context.state.setdefault("cart", []).append(item)
        await context.attach(b"receipt", name="receipt.txt")
        return "added"

    adds = Answer.calling(call("add_once", item="tea"))
    harness = make_coded_harness(shop(add_once), answers=(adds, "Lost.", adds, "Done."))
    fail_once(monkeypatch, harness.store, "put_message")
    with pytest.raises(StoreUnavailable):
        await harness.say("m1")
    assert await state(harness) is None
    harness.clock.advance(60)
    turn = await harness.say("m1")
    assert (calls, await state(harness)) == (["tea"], {"cart": ["tea"]})
    assert turn.finished is not None
    assert [source["title"] for source in turn.finished.messages[-1].sources] == ["receipt.txt"]


async def test_a_branch_begins_with_the_state_that_was_there() -> None:
    adds = [Answer.calling(call("add", item=item)) for item in ("tea", "milk", "rice")]
    harness = make_coded_harness(shop(add), answers=(adds[0], "One.", adds[1], "Two.", adds[2], "Three."))
    await harness.say("m1")
    await harness.say("m2")
    await harness.say("m3", "Otherwise", branch={"from": "m2"})
    assert await state(harness) == {"cart": ["tea", "rice"]}


async def test_a_branch_from_the_beginning_begins_without_a_state() -> None:
    harness = make_coded_harness(shop(add), answers=(Answer.calling(call("add", item="tea")), "One.", "Other."))
    await harness.say("m1")
    await harness.say("m2", "Otherwise", branch={"from": "m1"})
    assert not await state(harness)


async def test_the_inspector_shows_the_state_before_and_after_a_turn() -> None:
    adds = [Answer.calling(call("add", item=item)) for item in ("tea", "milk")]
    harness = make_coded_harness(shop(add), answers=(adds[0], "One.", adds[1], "Two."))
    await harness.say("m1")
    turn = await harness.say("m2")
    record = await harness.context(turn.events[0].body["runId"])
    assert record["toolState"] == {
        "before": {"text": '{"cart": ["tea"]}'},
        "after": {"text": '{"cart": ["tea", "milk"]}'},
    }


async def test_the_export_of_a_conversation_has_its_state() -> None:
    harness = make_coded_harness(shop(add), answers=("One.", Answer.calling(call("add", item="tea")), "Two."))
    agents = await harness.agents.in_force(harness.ada)
    shape = make_record_shapes(agents.describe, NO_PRICES, "acme")[ExportKind.THREAD]
    await harness.say("m1")
    assert "toolState" not in shape(await harness.store.get_thread(harness.ada, harness.thread_id))
    await harness.say("m2")
    assert shape(await harness.store.get_thread(harness.ada, harness.thread_id))["toolState"] == {"cart": ["tea"]}


async def test_the_user_sees_the_progress_of_a_call() -> None:
    @tool
    async def work(context: CallContext) -> str:
        """Work."""
        for number in (1, 2, 2, 3):
            await context.progress(f"{number} of\n3")
        return "done"

    harness = make_coded_harness(shop(work), answers=(Answer.calling(call("work")), "Done."))
    turn = await harness.say()
    visible = [event.body for event in turn.events if event.type.startswith("ACTIVITY")]
    [started] = [event.body["toolCallId"] for event in turn.events if event.type == "TOOL_CALL_START"]
    assert {body["activityType"] for body in visible} == {"progress"}
    assert len({body["messageId"] for body in visible}) == 1
    *steps, end = visible
    assert [step["content"] for step in steps] == [
        {"toolCallId": started, "tool": "work", "label": f"{number} of 3", "status": "working"} for number in (1, 2, 3)
    ]
    assert end["patch"] == [{"op": "add", "path": "/status", "value": "succeeded"}]
    assert turn.types.index("ACTIVITY_SNAPSHOT") > turn.types.index("TOOL_CALL_END")
    assert turn.types.index("TOOL_CALL_RESULT") > max(
        i for i, kind in enumerate(turn.types) if kind == "ACTIVITY_DELTA"
    )


def test_a_call_that_reports_very_often_is_shown_now_and_then() -> None:
    @tool
    async def work(context: CallContext) -> str:
        """Work."""
        for number in range(200):
            await context.progress(f"{number}")
            await asyncio.sleep(0.05)
        return "done"

    async def converse() -> None:
        harness = make_coded_harness(shop(work), answers=(Answer.calling(call("work")), "Done."))
        turn = await harness.say()
        visible = [event.body for event in turn.events if event.type.startswith("ACTIVITY")]
        assert 20 < len(visible) < 30
        assert [change["value"] for change in visible[-1]["patch"]] == ["199", "succeeded"]

    in_virtual_time(converse)


async def test_files_that_a_call_attaches_are_sources_of_the_answer(tmp_path: Path) -> None:
    (tmp_path / "invoice.pdf").write_bytes(b"%PDF-")

    @tool
    async def invoice(context: CallContext) -> str:
        """Make an invoice."""
        await context.attach(tmp_path / "invoice.pdf")
        return await context.attach(b"1,2", name="lines.csv", media_type="text/csv")

    harness = make_coded_harness(shop(invoice), answers=(Answer.calling(call("invoice")), "Here it is."))
    turn = await harness.say()
    [sources] = [event.body["metadata"]["sources"] for event in turn.events if event.type == "TEXT_MESSAGE_END"]
    assert [(source["kind"], source["title"], source["mediaType"], source["isKept"]) for source in sources] == [
        ("file", "invoice.pdf", "application/pdf", True),
        ("file", "lines.csv", "text/csv", True),
    ]
    stored = await harness.files.of_thread(harness.ada, harness.thread_id).read(sources[1]["id"])
    assert (results(turn), stored) == ([sources[1]["id"]], b"1,2")


@pytest.mark.parametrize(
    ("name", "size", "problem"),
    [("gone.txt", None, "no file gone.txt"), ("large.bin", MAX_ATTACHED_BYTES + 1, "at most 20971520 bytes")],
)
async def test_a_file_that_cannot_be_attached_is_a_failed_call(
    tmp_path: Path, name: str, size: int | None, problem: str
) -> None:
    if size is not None:
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)

    @tool
    async def attach(context: CallContext) -> str:
        """Attach a file."""
        return await context.attach(tmp_path / name)

    turn = await make_coded_harness(shop(attach), answers=(Answer.calling(call("attach")), "Well.")).say()
    assert problem in results(turn)[0]


async def test_progress_after_the_end_of_a_call_is_not_shown() -> None:
    contexts: list[CallContext] = []

    @tool
    async def work(context: CallContext) -> str:
        """Work."""
        contexts.append(context)
        await context.progress("1 of 2")
        return "done"

    @tool
    async def more() -> str:
        """Work on."""
        await contexts[0].progress("2 of 2")
        return "done"

    calls = (Answer.calling(call("work")), Answer.calling(call("more")), "Done.")
    turn = await make_coded_harness(shop(work, more), answers=calls).say()
    assert ("1 of 2" in str(turn.events), "2 of 2" in str(turn.events)) == (True, False)


async def test_files_that_are_attached_at_the_same_time_share_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.agents.attached_files.MAX_ATTACHED_BYTES", 10)

    @tool
    async def attach(context: CallContext) -> str:
        """Attach two files."""
        files = [context.attach(b"123456", name=f"{name}.txt") for name in "ab"]
        stored = await asyncio.gather(*files, return_exceptions=True)
        return f"{sum(isinstance(item, str) for item in stored)} kept"

    harness = make_coded_harness(shop(attach), answers=(Answer.calling(call("attach")), "Well."))
    keep = harness.files.keep

    async def keep_later(*arguments: Any) -> str:
        await asyncio.sleep(0)
        return await keep(*arguments)

    monkeypatch.setattr(harness.files, "keep", keep_later)
    assert results(await harness.say()) == ["1 kept"]


async def test_tools_of_a_consulted_agent_show_progress_and_attach_files_too() -> None:
    @tool
    async def look(context: CallContext) -> str:
        """Look it up."""
        context.state["looked"] = True
        await context.progress("1 of 3")
        await context.attach(b"1,2", name="lines.csv")
        return "found"

    faq = Agent("faq", "Answer.", description="Knows.", tools=[look])
    ask = Answer.calling(call("ask_faq", message="Well?"))
    harness = make_coded_harness(
        shop(sub_agents=[faq]), faq, answers=(ask, Answer.calling(call("look")), "Yes.", "It says yes.")
    )
    turn = await harness.say()
    changes = [change for event in turn.events if event.type == "ACTIVITY_DELTA" for change in event.body["patch"]]
    assert {"op": "add", "path": "/agents/0/label", "value": "1 of 3"} in changes
    assert [event.body["activityType"] for event in turn.events if event.type == "ACTIVITY_SNAPSHOT"] == ["research"]
    [sources] = [event.body["metadata"]["sources"] for event in turn.events if event.type == "TEXT_MESSAGE_END"]
    assert [source["title"] for source in sources] == ["Faq", "lines.csv"]
    assert await state(harness) == {"looked": True}


async def test_a_file_that_cannot_be_kept_is_a_failure_that_the_model_learns() -> None:
    @tool
    async def invoice(context: CallContext) -> str:
        """Make an invoice."""
        return await context.attach(b"x" * (21 * 1024 * 1024), name="large.csv")

    harness = make_coded_harness(shop(invoice), answers=(Answer.calling(call("invoice")), "Sorry."))
    [result] = results(await harness.say())
    assert result == "Error: The files of a call have at most 20971520 bytes together."


async def test_a_tool_knows_the_users_time_zone() -> None:
    @tool
    def zone(context: CallContext) -> str:
        """Return it."""
        return str(context.time_zone)

    harness = make_coded_harness(shop(zone), answers=(Answer.calling(call("zone")), "Done."))
    assert results(await harness.say(time_zone="Europe/Rome")) == ["Europe/Rome"]


async def test_a_refusal_is_an_answer_and_no_warning_for_operators(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    harness = make_coded_harness(Agent("assistant", "Lend.", main=True, tools=[lend]))
    harness.model.script(Answer.calling(ToolCall("c1", "lend", '{"item": "A ladder"}')), "It is gone.")
    await harness.say()
    assert "Tool lend (python) has refused a call" in caplog.text
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []
    assert "A ladder" not in caplog.text
