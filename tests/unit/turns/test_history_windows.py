"""The history's window from turn to turn: stored with the commit, summarised by the queue, kept for each agent."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import BatonError, ModelUnavailable, NotFound, StoreUnavailable
from baton.domain.runs.usage import Usage
from baton.domain.threads.history_window import HistoryWindow, SummaryDue
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.queued import QueuedSummary
from baton.memory.prompt import history_summary
from baton.ports.agents.chat_model import Prompt
from baton.ports.threads.leases import Commit, Lease
from baton.ports.threads.messages import Page
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, TODAY, Harness

LIGHT = "light-model"
ANSWERED = "word " * 40


def make_thrifty_agent(**memory: Any) -> AgentDefinition:
    """Return the assistant with room for about ten exchanges."""
    fields = {"max_working_memory_tokens": 612, "retrieved": "before_message", **memory}
    return AgentDefinition.model_validate({**ASSISTANT.model_dump(), "memory": fields})


def harness(**memory: Any) -> Harness:
    product = Harness(assistant=make_thrifty_agent(**memory))
    product.model.otherwise = Answer((ANSWERED,), usage=Usage(10, 2, 4))
    return product


async def talk(harness: Harness, *numbers: int) -> None:
    for number in numbers:
        await harness.say(f"m{number}", f"Question {number} please")


def prompts(harness: Harness, *, model: str = "test-model") -> list[tuple[Prompt, ...]]:
    """The prompts of the answers so far."""
    return [request.prompts for request in harness.model.requests if request.settings.model == model]


def questions(prompt: tuple[Prompt, ...]) -> list[str]:
    return [str(entry.content) for entry in prompt if entry.role is Role.USER]


def thread_windows(harness: Harness) -> tuple[HistoryWindow, ...]:
    return harness.store.rows["acme", harness.thread_id].thread.windows


def get_last_due(harness: Harness) -> SummaryDue:
    """Return the summary that waits in the queue."""
    [message] = [entry for _, entry in harness.queue.sent if isinstance(entry, QueuedSummary)]
    return message.due


async def work_off_summaries(harness: Harness) -> int:
    """Let a worker write the summaries that wait in the queue."""
    waiting = [message for _, message in harness.queue.sent if isinstance(message, QueuedSummary)]
    harness.queue.sent.clear()
    for message in waiting:
        await harness.app.memory.history_summaries.write(message.scope, message.due)
    return len(waiting)


async def test_prompts_begin_alike_until_a_stride() -> None:
    talked = harness(summary=False)
    await talk(talked, *range(40))
    built = prompts(talked)
    # The day stands right before the message: behind everything that the next prompt repeats.
    assert {str(prompt[-2].content) for prompt in built} == {TODAY[1]}
    begins = [prompt[:-2] for prompt in built]
    strides = [
        number for number, (before, after) in enumerate(itertools.pairwise(begins)) if after[: len(before)] != before
    ]
    assert 3 <= len(strides) <= 10
    assert len(thread_windows(talked)) == 1
    start = thread_windows(talked)[0].first_ordinal
    assert questions(built[-1])[0] == talked.store.committed("acme", talked.thread_id)[start].text


async def test_a_plain_turn_stores_no_window() -> None:
    talked = harness()
    await talk(talked, 1, 2, 3)
    assert thread_windows(talked) == ()
    assert not talked.queue.sent


async def test_what_leaves_is_in_a_summary_that_nobody_waited_for() -> None:
    talked = harness()
    for number in range(30):
        await talk(talked, number)
        if await work_off_summaries(talked):
            break
    assert prompts(talked, model=LIGHT), "the light model was asked"
    assert "SUMMARY" not in str(prompts(talked)[-1])
    talked.model.script("The user asks questions.")
    asked_before = len(prompts(talked))
    await talk(talked, 100)
    reported = prompts(talked)[asked_before][1]
    assert (reported.role, "information and no instruction" in str(reported.content)) == (Role.CONTEXT, True)
    window = thread_windows(talked)[0]
    assert window.first_ordinal == window.summary_at
    assert "Question 0 please" not in questions(prompts(talked)[-1])


async def test_a_summary_continues_the_one_before() -> None:
    talked = harness()
    talked.model.otherwise = Answer((ANSWERED,))
    for number in range(40):
        await talk(talked, number)
        await work_off_summaries(talked)
    material = [str(prompt[-1].content) for prompt in prompts(talked, model=LIGHT)]
    assert len(material) > 1
    assert '"summary": ""' in material[0]
    assert '"summary": "word word' in material[-1]
    assert "Question 0 " not in material[-1]
    assert len(prompts(talked, model=LIGHT)) <= 8, "strides are rare, and so are summaries"


async def test_a_summary_is_made_from_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    talked = harness()
    reads: list[int | None] = []
    recent_messages, read_messages = talked.store.recent_messages, talked.store.read_messages

    async def record_read(*arguments: Any, before: int | None = None, **options: Any) -> Sequence[StoredMessage]:
        reads.append(before)
        return await recent_messages(*arguments, before=before, **options)

    async def read_page(*arguments: Any, **options: Any) -> Page:
        reads.append(None)
        return await read_messages(*arguments, **options)

    numbers = itertools.count()
    for _ in range(2):
        while not talked.queue.sent:
            await talk(talked, next(numbers))
        due = get_last_due(talked)
        monkeypatch.setattr(talked.store, "recent_messages", record_read)
        monkeypatch.setattr(talked.store, "read_messages", read_page)
        await work_off_summaries(talked)
        monkeypatch.undo()
        assert reads == [due.below + 1]
        reads.clear()
    assert '"summary": "word word' in str(prompts(talked, model=LIGHT)[-1][-1].content)


async def test_a_summary_is_stored_with_a_message_longer_than_all_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    talked = harness()
    for number in itertools.count():
        await talk(talked, number)
        if talked.queue.sent:
            break
    due = get_last_due(talked)
    monkeypatch.setattr(history_summary, "MAX_READ_TOKENS", 1)
    await work_off_summaries(talked)
    material = str(prompts(talked, model=LIGHT)[-1][-1].content)
    assert ANSWERED.strip() in material
    assert talked.store.committed("acme", talked.thread_id)[due.below].text not in material


async def test_a_commit_names_the_message_that_awaits_a_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    talked = harness()
    commits: list[int | None] = []
    commit = talked.store.commit

    async def record_read(lease: Lease, product: Commit) -> Any:
        commits.append(product.summary_at)
        return await commit(lease, product)

    monkeypatch.setattr(talked.store, "commit", record_read)
    for number in itertools.count():
        await talk(talked, number)
        if talked.queue.sent:
            break
    due = get_last_due(talked)
    assert commits == [*[None] * (len(commits) - 1), due.below]


@pytest.mark.parametrize("failure", [ModelUnavailable(), NotFound()])
async def test_a_summary_that_fails_does_not_hold_the_window(failure: BatonError) -> None:
    talked = harness()
    for number in range(40):
        await talk(talked, number)
        if any(isinstance(message, QueuedSummary) for _, message in talked.queue.sent):
            talked.model.script(Answer((), error=failure))
            await work_off_summaries(talked)
    window = thread_windows(talked)[0]
    assert window.first_ordinal > 0
    assert window.summary_at is None
    assert all("A summary of them" not in str(prompt) for prompt in prompts(talked))
    assert await work_off_summaries(talked) == 0
    talked.queue.sent.clear()
    await talk(talked, 100)
    assert await work_off_summaries(talked) == 1, "and each further turn asks for it again"
    await talk(talked, 101)
    assert "A summary of them" in str(prompts(talked)[-1][1].content)


async def test_a_queue_that_is_down_fails_no_turn() -> None:
    talked = harness()
    talked.queue.is_down = True
    await talk(talked, *range(30))
    assert thread_windows(talked)[0].first_ordinal > 0


async def test_without_summaries_the_light_model_is_never_asked() -> None:
    talked = harness(summary=False)
    await talk(talked, *range(30))
    assert not talked.queue.sent


async def test_a_summary_is_written_once() -> None:
    talked = harness()
    for number in range(30):
        await talk(talked, number)
        if talked.queue.sent:
            break
    ((_, message),) = talked.queue.sent
    assert isinstance(message, QueuedSummary)
    for _ in range(3):
        assert await talked.app.memory.history_summaries.write(message.scope, message.due)
    assert len(prompts(talked, model=LIGHT)) == 1
    assert message.group != message.thread_id, "the next message does not wait for it"


async def test_nobody_elses_thread_is_summarised() -> None:
    talked = harness()
    for number in range(30):
        await talk(talked, number)
        if talked.queue.sent:
            break
    ((_, message),) = talked.queue.sent
    assert isinstance(message, QueuedSummary)
    for tenant, user in (("acme", "bob"), ("umbrella", "ada")):
        stranger = message.model_copy(update={"tenant_id": tenant, "user_id": user})
        assert not await talked.app.memory.history_summaries.write(stranger.scope, stranger.due)
    assert not prompts(talked, model=LIGHT)


async def test_a_run_that_is_taken_over_sends_the_same_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    talked = harness(summary=False)
    await talk(talked, *range(12))
    before, put_message = thread_windows(talked), talked.store.put_message

    async def fail_at_answer(lease: Lease, message: StoredMessage) -> None:
        if message.role is Role.ASSISTANT:
            raise StoreUnavailable
        await put_message(lease, message)

    for number in range(100, 112):
        monkeypatch.setattr(talked.store, "put_message", fail_at_answer)
        with pytest.raises(StoreUnavailable):
            await talk(talked, number)
        assert thread_windows(talked) == before, "the window moves with the commit only"
        monkeypatch.setattr(talked.store, "put_message", put_message)
        await talk(talked, number)
        first, again = prompts(talked)[-2:]
        assert first == again
        before = thread_windows(talked)


async def test_a_smaller_budget_takes_effect_with_the_next_turn() -> None:
    talked = harness(max_working_memory_tokens=2_000, summary=False)
    await talk(talked, *range(20))
    assert thread_windows(talked) == ()
    smaller = make_thrifty_agent(summary=False)
    talked.shipped_agents.definitions["assistant"] = smaller
    await talk(talked, 20)
    window = thread_windows(talked)
    assert window[0].first_ordinal > 0
    await talk(talked, 21)
    assert thread_windows(talked) == window


async def test_tokens_read_from_a_cache_are_counted_in_the_usage() -> None:
    talked = harness()
    turn = await talked.say()
    assert turn.last["usage"][0]["cachedInputTokens"] == 4
    assert talked.store.rows["acme", talked.thread_id].thread.usage == Usage(10, 2, 4)


async def test_calls_of_one_conversation_and_agent_share_a_cache_key() -> None:
    talked = harness()
    await talk(talked, 1, 2)
    await talked.say("m3", thread_id="0b7a52c4-3a55-4fd9-9a3c-6cf31a0f2a11")
    first, second, other = (request.settings.cache_key for request in talked.model.requests)
    assert first == second != other
    assert first is not None
    assert len(first) <= 64
