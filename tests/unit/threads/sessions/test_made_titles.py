"""Titles that the light model makes after the first answer."""

from __future__ import annotations

import asyncio
import json
import uuid
from datetime import timedelta
from typing import Any

import pytest

from baton.adapters.models.provider_models import ProviderModels
from baton.domain.errors import ModelRateLimited, NotFound
from baton.domain.threads.queued import QueuedTitle, RecordDelivery
from baton.domain.threads.thread_title import TitleSource
from baton_testing.fakes.threads.connections import FakeConnections, events_in
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.harness import Harness

HOUR = timedelta(hours=1)


def make_titled(source: TitleSource = TitleSource.MODEL) -> Harness:
    """A harness whose threads are given titles."""
    return Harness(title_source=source)


def list_queued(harness: Harness) -> list[QueuedTitle]:
    return [message for _, message in harness.queue.sent if isinstance(message, QueuedTitle)]


async def work(harness: Harness) -> None:
    """Carry out the records that name threads, as another worker would."""
    for queued in list_queued(harness):
        body = queued.model_dump_json(by_alias=True)
        await harness.app.queued_turns.run(body, "receipt", RecordDelivery(str(uuid.uuid4()), 1), seconds=60)


async def answer(
    harness: Harness, text: str = "How do I get to Lisbon?", answer: str = "By train.", message_id: str = "m-1"
) -> None:
    harness.model.script(answer)
    await harness.say(message_id, text)


async def title_of(harness: Harness) -> str | None:
    return (await harness.store.get_thread(harness.ada, harness.thread_id)).title


def read_last_prompt(harness: Harness) -> str:
    """The model's last prompt."""
    content = harness.model.requests[-1].prompts[-1].content
    assert isinstance(content, str)
    return content


def list_received(harness: Harness) -> list[dict[str, Any]]:
    """The events that the connection was sent."""
    assert isinstance(harness.connections, FakeConnections)
    return [event for frame in harness.connections.frames["c-1"] for event in events_in(frame)]


async def title_events(harness: Harness) -> list[Any]:
    return [event["value"] for event in list_received(harness) if event.get("name") == "thread_title"]


async def test_the_light_model_names_a_thread_after_its_first_answer() -> None:
    harness = make_titled()
    await answer(harness)
    assert await title_of(harness) is None
    await harness.live.attach(harness.ada, harness.thread_id, "c-1", harness.clock.now() + HOUR)
    harness.model.script('"Travel to Lisbon."')
    await work(harness)
    assert await title_of(harness) == "Travel to Lisbon"
    assert await title_events(harness) == [{"title": "Travel to Lisbon"}]
    settings = harness.model.requests[-1].settings
    assert (settings.model, settings.metadata) == ("light-model", {"task": "thread_title"})
    assert json.loads(read_last_prompt(harness)) == {"user": "How do I get to Lisbon?", "assistant": "By train."}


async def test_the_light_model_may_be_one_of_a_named_provider() -> None:
    groq = ScriptedChatModel()
    default = ScriptedChatModel(otherwise=Answer(("Hello there.",)))
    model = ProviderModels({"default": lambda: default, "groq": lambda: groq})
    harness = Harness(title_source=TitleSource.MODEL, light_model="groq/small", model=model)
    default.script("By train.")
    await harness.say("m-1", "How do I get to Lisbon?")
    groq.script("Travel to Lisbon")
    await work(harness)
    assert await title_of(harness) == "Travel to Lisbon"
    assert [request.settings.model for request in groq.requests] == ["small"]


async def test_a_second_delivery_and_later_turns_ask_for_no_other_title() -> None:
    harness = make_titled()
    await answer(harness)
    harness.model.script("Travel to Lisbon")
    await work(harness)
    requests_before = len(harness.model.requests)
    await work(harness)
    assert len(harness.model.requests) == requests_before
    await answer(harness, "And back?", message_id="m-2")
    assert len(list_queued(harness)) == 1


async def test_a_thread_whose_title_was_never_made_is_named_after_a_later_turn() -> None:
    harness = make_titled()
    harness.queue.is_down = True
    await answer(harness)
    harness.queue.is_down = False
    harness.model.script("Two.")
    await harness.say("m-2", "And to Porto?")
    harness.model.script("Travel to Lisbon")
    await work(harness)
    assert await title_of(harness) == "Travel to Lisbon"


async def test_a_title_of_the_users_is_never_replaced() -> None:
    harness = make_titled()
    await answer(harness)
    await harness.app.sessions.titles.rename(harness.ada, harness.thread_id, "Mine")
    requests_before = len(harness.model.requests)
    await work(harness)
    assert (await title_of(harness), len(harness.model.requests)) == ("Mine", requests_before)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.preview == "How do I get to Lisbon?"


async def test_a_title_that_the_user_gives_while_the_model_writes_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = make_titled()
    await answer(harness)
    keep = harness.store.keep_made_title

    async def rename_first(*args: Any, **kwargs: Any) -> Any:
        await harness.app.sessions.titles.rename(harness.ada, harness.thread_id, "Mine")
        return await keep(*args, **kwargs)

    monkeypatch.setattr(harness.store, "keep_made_title", rename_first)
    await harness.live.attach(harness.ada, harness.thread_id, "c-1", harness.clock.now() + HOUR)
    harness.model.script("Travel")
    await work(harness)
    assert await title_of(harness) == "Mine"
    assert await title_events(harness) == [{"title": "Mine"}]


@pytest.mark.parametrize("failure", [ModelRateLimited(), Answer((), error=NotFound()), "", "\n**\n"])
async def test_the_beginning_of_the_first_message_stands_in_for_a_model_that_fails(failure: Any) -> None:
    harness = make_titled()
    await answer(harness, "How do I\nget to Lisbon? " + "I have a week. " * 10)
    harness.model.script(failure, failure)
    await work(harness)
    assert await title_of(harness) == "How do I get to Lisbon? I have a week. I have a week. I…"


async def test_neither_the_model_nor_the_title_is_given_personal_data() -> None:
    harness = make_titled()
    await answer(harness, "Write to ada@example.com please", "Sent to ada@example.com.")
    harness.model.script("Mail to **bob@example.com**")
    await work(harness)
    assert "ada@example.com" not in read_last_prompt(harness)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (thread.title, thread.preview) == ("Mail to [email]", "Write to [email] please")


async def test_a_run_without_an_answer_asks_for_no_title() -> None:
    harness = make_titled()
    harness.model.script(ModelRateLimited())
    await harness.say()
    assert list_queued(harness) == []


@pytest.mark.parametrize(
    ("source", "title"), [(TitleSource.BEGINNING, "How do I get to Lisbon?"), (TitleSource.NONE, None)]
)
async def test_a_setting_leaves_the_model_out(source: TitleSource, title: str | None) -> None:
    harness = make_titled(source)
    await answer(harness)
    requests_before = len(harness.model.requests)
    await work(harness)
    assert (await title_of(harness), len(harness.model.requests)) == (title, requests_before)
    assert bool(list_queued(harness)) is (source is TitleSource.BEGINNING)


async def test_a_deleted_thread_is_not_named() -> None:
    harness = make_titled()
    await answer(harness)
    del harness.store.rows[harness.ada.tenant_id, harness.thread_id]  # type: ignore[attr-defined]
    await work(harness)
    assert list_queued(harness)


async def test_a_title_comes_after_the_events_of_a_run_in_progress_and_nobody_waits_for_its_end() -> None:
    harness = make_titled()
    await answer(harness)
    await harness.live.attach(harness.ada, harness.thread_id, "c-1", harness.clock.now() + HOUR)
    gate = asyncio.Event()
    harness.model.script(Answer(("Two.",), gate=gate), "Travel to Lisbon")
    running = asyncio.ensure_future(harness.say("m-2", "And to Porto?"))
    await harness.wait_for_requests(2)
    await work(harness)
    assert (await title_of(harness), await title_events(harness)) == ("Travel to Lisbon", [])
    gate.set()
    await running
    assert await title_events(harness) == [{"title": "Travel to Lisbon"}]
    *_, finished, last = list_received(harness)
    assert (finished["type"], last.get("name")) == ("RUN_FINISHED", "thread_title")
    assert len(list_queued(harness)) == 1
