"""The messages of every thread store: kept and read back."""

from __future__ import annotations

import random
from dataclasses import replace

from ag_ui.core import DataSource, DocumentPart, FileSource, ImagePart, TextPart, UrlSource

from baton.domain.runs.usage import Usage
from baton.domain.threads.message import MessageStatus, Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.thread import Thread
from baton.ports.threads.leases import Commit
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id, texts

PARTS = (
    TextPart(text="What is this?"),
    ImagePart(source=DataSource(value="aGVsbG8=", mime_type="image/png")),
    ImagePart(source=UrlSource(value="https://example.com/a.png")),
    DocumentPart(source=FileSource(value="file_" + "0" * 32, provider="baton"), metadata={"name": "Ü.pdf"}),
)


class MessageContract:
    """Messages come back as they went in, in order, in pages."""

    async def test_a_message_comes_back_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        end = RunEnd(
            OutcomeType.ERROR,
            Usage(3, 4),
            "model-1",
            error_code="model_timeout",
            error_detail="The model took too long.",
            tail=({"type": "RUN_ERROR", "message": "…", "metadata": {"retryable": True}},),
            tail_seq=17,
            first_seq=11,
            awaits_input=True,
            is_question_refused=True,
            judged_by=("assistant",),
        )
        question = replace(make_question(lease, PARTS), source="import")
        answer = replace(
            make_answer(lease, "Grüße \x00 😀\u2028", tokens=77),
            status=MessageStatus.CANCELLED,
            sources=({"kind": "document", "id": "d1", "score": 0.25},),
            is_handoff_summary=True,
            refused_by="policy",
            attempt=3,
            end=end,
        )
        result = replace(make_question(lease, "42", index=2), role=Role.TOOL, is_tool_result=True, tool_name="add")
        await stores.commit(lease, question, answer, result)

        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        page = await stores.store.read_messages(stores.ada, thread, limit=10, before=None)
        assert page.messages == (question, answer, result)

    async def test_messages_of_any_size_come_back(self, stores: Stores) -> None:
        noise = _random_text(1024 * 1024, 0x21, 0x7E)
        dense = _random_text(340_000, 0x4E00, 0x9FFF)  # three bytes each in UTF-8
        long = "word " * 200_000
        lease = await stores.acquire(new_thread_id())
        messages = [make_question(lease, text, index=index) for index, text in enumerate((noise, dense, long, "short"))]
        await stores.commit(lease, *messages)

        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        read: list[StoredMessage] = []
        before = None
        while True:  # long messages may come in shorter pages
            page = await stores.store.read_messages(stores.ada, thread, limit=10, before=before)
            read, before = [*page.messages, *read], page.next_before
            if before is None:
                break
        assert read == messages
        assert list(await stores.store.recent_messages(stores.ada, thread, token_budget=10**6)) == messages
        result = await stores.store.run_messages(stores.ada, thread.id, first_ordinal=0, below=thread.next_ordinal)
        assert list(result) == messages

    async def test_messages_that_are_written_together_come_back_like_others(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        large = _random_text(300_000, 0x21, 0x7E)
        messages = [make_question(lease, large if index % 9 == 0 else f"m{index}", index=index) for index in range(130)]
        for _ in range(2):  # a repetition changes nothing
            await stores.store.put_messages(lease, messages)
        await stores.store.put_messages(lease, [])
        commit = Commit(next_ordinal=len(messages), last_seq=lease.first_seq, usage=Usage(), tokens=len(messages))
        await stores.store.commit(lease, commit)
        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        result = await stores.store.run_messages(stores.ada, thread.id, first_ordinal=0, below=thread.next_ordinal)
        assert list(result) == messages

    async def test_a_large_message_can_be_replaced(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        large = make_question(lease, _random_text(600_000, 0x21, 0x7E))
        await stores.store.put_message(lease, large)
        await stores.commit(lease, replace(large, end=RunEnd(OutcomeType.ERROR, Usage())))
        [message] = await stores.store.run_messages(stores.ada, lease.thread_id, first_ordinal=0, below=1)
        assert message.end == RunEnd(OutcomeType.ERROR, Usage())

    async def test_recent_messages_fill_the_budget_from_the_newest(self, stores: Stores) -> None:
        thread = await _conversation(stores, [100, 1, 20, 30, 40])
        recent = stores.store.recent_messages
        assert texts(await recent(stores.ada, thread, token_budget=1_000)) == ["0", "1", "2", "3", "4"]
        assert texts(await recent(stores.ada, thread, token_budget=191)) == ["0", "1", "2", "3", "4"]

    async def test_recent_messages_end_with_the_first_that_did_not_fit(self, stores: Stores) -> None:
        thread = await _conversation(stores, [100, 1, 20, 30, 40])
        recent = stores.store.recent_messages
        assert texts(await recent(stores.ada, thread, token_budget=190)) == ["0", "1", "2", "3", "4"]
        assert texts(await recent(stores.ada, thread, token_budget=89)) == ["2", "3", "4"]
        assert texts(await recent(stores.ada, thread, token_budget=70)) == ["2", "3", "4"]
        assert texts(await recent(stores.ada, thread, token_budget=69)) == ["3", "4"]
        assert texts(await recent(stores.ada, thread, token_budget=0)) == ["4"]

    async def test_recent_messages_can_begin_further_back(self, stores: Stores) -> None:
        thread = await _conversation(stores, [100, 1, 20, 30, 40])
        recent = stores.store.recent_messages
        assert texts(await recent(stores.ada, thread, token_budget=25, before=3)) == ["0", "1", "2"]
        assert texts(await recent(stores.ada, thread, token_budget=1_000, before=99)) == ["0", "1", "2", "3", "4"]
        assert texts(await recent(stores.ada, thread, token_budget=1_000, before=0)) == []

    async def test_recent_messages_end_at_the_windows_start(self, stores: Stores) -> None:
        thread = await _conversation(stores, [100, 1, 20, 30, 40])
        recent = stores.store.recent_messages
        assert texts(await recent(stores.ada, thread, token_budget=1_000, first_ordinal=2)) == ["2", "3", "4"]
        assert texts(await recent(stores.ada, thread, token_budget=69, first_ordinal=2)) == ["3", "4"]
        assert texts(await recent(stores.ada, thread, token_budget=69, before=4, first_ordinal=3)) == ["3"]
        assert texts(await recent(stores.ada, thread, token_budget=69, first_ordinal=5)) == []

    async def test_messages_are_read_with_the_summaries_of_what_came_before(self, stores: Stores) -> None:
        thread = await _conversation(stores, [1, 1, 1])
        put, first = stores.store.put_summary, "Ünd so weiter."
        await put(stores.ada, thread, ordinal=1, agent_id="skill-creation_agent", summary=first)
        await put(stores.ada, thread, ordinal=1, agent_id="skill-creation_agent", summary="Of another worker.")
        await put(stores.ada, thread, ordinal=1, agent_id="assistant", summary="Another.")
        page = await stores.store.read_messages(stores.ada, thread, limit=10, before=None)
        expected = [{}, {"skill-creation_agent": first, "assistant": "Another."}, {}]
        assert [message.summaries for message in page.messages] == expected
        recent = await stores.store.recent_messages(stores.ada, thread, token_budget=10)
        assert [message.summaries for message in recent] == expected
        assert texts(recent) == ["0", "1", "2"]

    async def test_a_summary_of_a_message_that_is_gone_leaves_nothing(self, stores: Stores) -> None:
        thread = await _conversation(stores, [1])
        await stores.store.put_summary(stores.ada, thread, ordinal=7, agent_id="assistant", summary="All of it.")
        messages = await stores.store.run_messages(stores.ada, thread.id, first_ordinal=7, below=None)
        assert list(messages) == []

    async def test_a_new_thread_has_no_recent_messages(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        assert list(await stores.store.recent_messages(stores.ada, lease.thread, token_budget=1_000)) == []

    async def test_recent_messages_reach_far_back_when_they_are_short(self, stores: Stores) -> None:
        thread = await _conversation(stores, [1_000] * 5 + [1] * 40)
        assert len(await stores.store.recent_messages(stores.ada, thread, token_budget=41)) == 41

    async def test_pages_go_back_in_time_each_in_order(self, stores: Stores) -> None:
        thread = await _conversation(stores, [1] * 5)
        pages = []
        before: int | None = None
        while True:
            page = await stores.store.read_messages(stores.ada, thread, limit=2, before=before)
            pages.append(texts(page.messages))
            before = page.next_before
            if before is None:
                break
        assert pages == [["3", "4"], ["1", "2"], ["0"]]

    async def test_a_page_that_ends_at_the_beginning_is_the_last(self, stores: Stores) -> None:
        thread = await _conversation(stores, [1] * 4)
        page = await stores.store.read_messages(stores.ada, thread, limit=4, before=None)
        assert (len(page.messages), page.next_before) == (4, None)
        assert (await stores.store.read_messages(stores.ada, thread, limit=4, before=0)).messages == ()
        page = await stores.store.read_messages(stores.ada, thread, limit=1, before=10**11)
        assert texts(page.messages) == ["3"]

    async def test_the_pages_of_a_thread_do_not_shift_while_it_grows(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await stores.turn(thread_id, 1)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        await stores.turn(thread_id, 2)
        page = await stores.store.read_messages(stores.ada, thread, limit=10, before=None)
        assert texts(page.messages) == ["q1", "a1"]

    async def test_a_run_is_found_by_its_first_ordinal(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for number in (1, 2, 3):
            await stores.turn(thread_id, number)
        messages = await stores.store.run_messages(stores.ada, thread_id, first_ordinal=2, below=6)
        assert texts(messages) == ["q2", "a2"]
        assert texts(await stores.store.run_messages(stores.ada, thread_id, first_ordinal=2, below=3)) == ["q2"]
        assert texts(await stores.store.run_messages(stores.ada, thread_id, first_ordinal=2, below=2)) == []
        assert texts(await stores.store.run_messages(stores.ada, thread_id, first_ordinal=9, below=None)) == []

    async def test_a_run_of_many_messages_is_found_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.commit(lease, *(make_question(lease, str(n), index=n) for n in range(25)))
        messages = await stores.store.run_messages(stores.ada, lease.thread_id, first_ordinal=0, below=25)
        assert texts(messages) == [str(n) for n in range(25)]

    async def test_every_thread_has_messages_of_its_own(self, stores: Stores) -> None:
        first, second = new_thread_id(), new_thread_id()
        await stores.turn(first, 1)
        await stores.turn(second, 2)
        thread = await stores.store.get_thread(stores.ada, second)
        page = await stores.store.read_messages(stores.ada, thread, limit=10, before=None)
        assert texts(page.messages) == ["q2", "a2"]


async def _conversation(stores: Stores, tokens: list[int]) -> Thread:
    """A thread whose message ``n`` says its number and takes ``tokens[n]``."""
    lease = await stores.acquire(new_thread_id())
    messages: list[StoredMessage] = [
        make_question(lease, str(n), index=n, tokens=cost) for n, cost in enumerate(tokens)
    ]
    await stores.commit(lease, *messages)
    return await stores.store.get_thread(stores.ada, lease.thread_id)


def _random_text(length: int, first: int, last: int) -> str:
    """Text that hardly compresses."""
    chance = random.Random(length)  # noqa: S311 - noise, not secrets
    return "".join(map(chr, chance.choices(range(first, last), k=length)))
