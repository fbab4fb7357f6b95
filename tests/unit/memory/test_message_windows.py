"""A range of messages is read in windows whose memory is bounded, with few requests."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.threads.message import StoredMessage
from baton.memory.prompt.history_reading import PAGE, WINDOW, read_message_windows
from baton.ports.threads.messages import Page
from tests.harness.harness import Harness

LARGE = "x" * 100_000
PAGE_CHARACTERS = 300_000
"""Characters after which a page of messages ends here."""


async def windows(
    monkeypatch: pytest.MonkeyPatch, texts: list[str], first: int, end: int
) -> tuple[list[list[StoredMessage]], int]:
    """Return the windows of a range of a thread with these messages, and the number of their requests."""
    harness, requests = Harness(), 0
    for number, text in enumerate(texts):
        await harness.say(f"m{number}", text)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    read = harness.store.read_messages

    async def count_request(*arguments: Any, **named: Any) -> Page:
        nonlocal requests
        requests += 1
        page = await read(*arguments, **named)
        fits, size = 0, 0
        for message in reversed(page.messages):
            if size >= PAGE_CHARACTERS:
                break
            fits, size = fits + 1, size + len(message.text)
        visible = page.messages[len(page.messages) - fits :]
        return page if len(visible) == len(page.messages) else Page(visible, visible[0].ordinal)

    monkeypatch.setattr(harness.store, "read_messages", count_request)
    results = [window async for window in read_message_windows(harness.store, harness.ada, thread, first, end)]
    return results, requests


async def test_a_hundred_usual_messages_take_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    result, requests = await windows(monkeypatch, ["Hello"] * 60, 3, 118)
    assert [message.ordinal for window in result for message in window] == list(range(3, 118))
    assert (max(map(len, result)), requests) == (PAGE, 2)


async def test_large_messages_are_held_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    page_items, _ = await windows(monkeypatch, ["Hello"] * 10 + [LARGE] * 20, 1, 60)
    assert [message.ordinal for window in page_items for message in window] == list(range(1, 60))
    assert max(map(len, page_items)) <= WINDOW
