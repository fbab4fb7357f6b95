"""Records are stored without what the thread holds anyway, and read as they were made."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.memory.inspection import ContextItem
from baton.domain.runs.provider_parts import ProviderParts, Replay
from baton.memory.inspection import inspector
from baton.memory.inspection.compact_record import MISSING, compact, expand
from baton.ports.threads.run_records import ContextRecord
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, transfer
from tests.harness.harness import Harness
from tests.harness.remembered import remember

LONG = "The fern loses its leaves since we moved it to the window, and I do not know what to do about that. "


class StoredRecords:
    """The records of a harness's runs, as they were made and as they are stored."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pairs: list[tuple[dict[str, Any], ContextRecord]] = []
        monkeypatch.setattr(inspector, "compact", self._compact)

    def _compact(self, record: dict[str, Any], *arguments: Any) -> ContextRecord:
        stored = compact(record, *arguments)
        self.pairs.append((record, stored))
        return stored

    async def check(self, harness: Harness) -> None:
        """Check that every record is read as it was made, and that its items have the served shape."""
        assert self.pairs
        for record, _ in self.pairs:
            assert await harness.context(record["runId"]) == record
            for item in (item for block in record["blocks"] for item in block["items"]):
                assert ContextItem.model_validate(item).to_stored() == item


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> StoredRecords:
    return StoredRecords(monkeypatch)


async def test_a_long_conversation_is_read_as_it_was_and_its_records_stay_short(records: StoredRecords) -> None:
    harness = Harness(recalls=True)
    await remember(harness.search, harness.embedder, harness.ada, "My fern stands at the window.")
    for number in range(12):
        harness.model.script(f"Answer {number}. {LONG}")
        await harness.say(f"m{number}", f"{LONG} {number}")
    await records.check(harness)
    assert len(str(records.pairs[-1][0])) > 3 * len(str(records.pairs[-1][1].body))
    assert LONG not in str(records.pairs[-1][1].body)


async def test_equal_messages_and_a_history_that_is_cut_stay_apart(records: StoredRecords) -> None:
    harness = Harness()
    for number in range(30):
        harness.model.script(LONG * 60)
        await harness.say(f"m{number}", LONG)
    await records.check(harness)
    reasons = {item["reason"] for record, _ in records.pairs for block in record["blocks"] for item in block["items"]}
    assert len(reasons) > 1, "nothing was left out"


async def test_calls_of_tools_with_thinking_are_read_as_they_were(records: StoredRecords) -> None:
    harness = HandoffHarness(transfer(), Answer(("Name?",)))
    parts = ProviderParts.of("chat:here/m", Replay.ALWAYS, [{"fields": {"thinking": "secret"}}])
    await harness.say()
    harness.model.script(Answer((LONG,), parts=parts), Answer(("Good.",)))
    await harness.say("m2", LONG)
    await harness.say("m3", LONG)
    await records.check(harness)


async def test_the_messages_of_a_fork_are_not_taken_for_those_of_the_thread(records: StoredRecords) -> None:
    harness = HandoffHarness(transfer("helper"), Answer((f"How can I help? {LONG}",)), context_mode="forked")
    for number in range(3):
        await harness.say(f"m{number}", f"{LONG} {number}")
    await records.check(harness)


async def test_a_message_in_parts_is_read_as_it_was(records: StoredRecords) -> None:
    harness = Harness()
    image = {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
    await harness.say("m1", [{"type": "text", "text": LONG}, image])
    await harness.say("m2", LONG)
    await records.check(harness)


async def test_a_record_says_what_is_no_longer_stored(records: StoredRecords) -> None:
    harness = Harness()
    await harness.say("m1", LONG)
    await harness.say("m2", f"{LONG} 2")
    record, stored = records.pairs[-1]
    assert expand(stored, ()) != record
    assert expand(stored, ())["cut"] == [MISSING]


async def test_a_prompt_goes_with_a_record_only_if_the_record_refers_to_it(records: StoredRecords) -> None:
    harness = Harness()
    await harness.say("m1", LONG)
    [(record, _)] = records.pairs
    sent = record["calls"][0]["messages"][0]["content"] = f"Be brief. {LONG}"
    unused = f"An agent that nobody has asked. {LONG}"
    stored = compact(record, (), [sent, unused, "Short."])
    assert list(stored.prompts.values()) == [sent]
    assert expand(stored, ()) == record
