"""A document becomes an agent's knowledge as a whole or not at all, whatever happens on the way."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.documents.document import (
    MAX_ATTEMPTS,
    STEP_WAIT,
    UPLOAD_WAIT,
    Document,
    DocumentRef,
    IngestionStep,
    VersionStatus,
)
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.errors import EmbedderUnavailable, StoreUnavailable, WrongEmbeddings
from baton.knowledge import ingestion
from tests.embedded_index import make_embedded_index
from tests.fakes.documents import FakeIngestions
from tests.fakes.objects import FakeS3
from tests.unit.knowledge.pipeline import AGENT, Killed, Pipeline, text_of


@pytest.fixture
def pipeline() -> Pipeline:
    return Pipeline()


async def test_a_document_is_ready_when_all_of_it_is_in_the_index(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(7, "Bolts"))
    await pipeline.run(ref)
    document = await pipeline.get(ref)
    assert document is not None
    assert document.next is None
    version = document.active
    assert version is not None
    assert (version.status, version.progress, version.pages, version.step) == (VersionStatus.READY, 100, 7, None)
    texts = pipeline.list_indexed_texts()[f"{ref.document_id}@1"]
    assert len(texts) == version.chunks
    assert all(f"Bolts on page {number}." in "".join(texts) for number in range(1, 8))
    assert pipeline.list_stored_files() == {1: {"original"}}, "what steps keep for each other is gone"
    assert document.check_at is None


async def test_the_charset_of_the_content_type_reaches_the_extraction(pipeline: Pipeline) -> None:
    ref = await pipeline.create(content_type="text/plain; charset=windows-1251")
    document = await pipeline.get(ref)
    assert document is not None
    await pipeline.files.write(pipeline.scope, document, 1, "original", "Двадцать восемь дней.".encode("cp1251"))
    await pipeline.run(ref)
    [[text]] = pipeline.list_indexed_texts().values()
    assert "Двадцать восемь дней." in text


async def test_progress_grows_from_step_to_step(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(9, "Bolts"))
    seen = []

    async def look() -> None:
        document = await pipeline.get(ref)
        if document is not None:
            seen.append((document.latest.progress, document.latest.step))

    pipeline.documents.after_write = look
    await pipeline.run(ref)
    percents = [percent for percent, _ in seen]
    assert percents == sorted(percents)
    assert len(set(percents)) > 6
    steps = [step for step, _ in itertools.groupby(step for _, step in seen) if step is not None]
    assert steps == [IngestionStep.CHECK, IngestionStep.EXTRACT, IngestionStep.CHUNK, IngestionStep.INDEX]


async def test_a_page_that_cannot_be_read_is_left_out_and_named(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(2, "Bolts") + "\f(unreadable)\f" + text_of(2, "Nuts"))
    await pipeline.run(ref)
    document = await pipeline.get(ref)
    assert document is not None
    assert document.active is not None
    assert document.active.page_error_count == 1
    assert [error.page for error in document.active.page_errors] == [3]


@pytest.mark.parametrize(
    ("content", "code"),
    [("", "document_empty"), ("  \f ", "document_empty"), ("(unreadable)\f(unreadable)", "document_without_text")],
)
async def test_what_cannot_be_read_fails_with_a_reason_and_leaves_nothing(
    pipeline: Pipeline, content: str, code: str
) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, content)
    await pipeline.run(ref)
    document = await pipeline.get(ref)
    assert document is not None
    assert (document.latest.status, document.latest.error_code) == (VersionStatus.FAILED, code)
    assert document.latest.error
    assert pipeline.list_indexed_texts() == {}
    assert pipeline.list_stored_files() == {}
    assert document.check_at is None


async def test_content_with_another_checksum_than_announced_fails(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    document = await pipeline.get(ref)
    assert document is not None
    announced = replace(document, next=replace(document.latest, sha256="ab" * 32))
    await pipeline.documents.save(pipeline.scope, announced)
    await pipeline.upload(ref, "other")
    await pipeline.run(ref)
    failed = await pipeline.get(ref)
    assert failed is not None
    assert failed.latest.error_code == "document_checksum"


async def test_content_that_changes_while_it_is_read_fails(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(2, "Bolts"))
    checked = await pipeline.step(ref, "check")
    await pipeline.upload(ref, text_of(2, "Nuts"))
    await pipeline.step(ref, "extract", format=checked["format"], part=[1, 2], index=0, count=1)
    document = await pipeline.get(ref)
    assert document is not None
    assert document.latest.error_code == "document_changed"


async def test_the_version_before_is_used_until_the_next_is_ready_and_then_removed(pipeline: Pipeline) -> None:
    first = await pipeline.create()
    await pipeline.upload(first, text_of(3, "Bolts"))
    await pipeline.run(first)
    second = await pipeline.replace(first)
    await pipeline.upload(second, text_of(2, "Nuts"))
    document = await pipeline.get(first)
    assert document is not None
    assert document.active is not None
    assert document.active.number == 1
    await pipeline.run(second, waits=False)
    document = await pipeline.get(first)
    assert document is not None
    assert document.active is not None
    assert document.active.number == 2
    assert set(pipeline.list_indexed_texts()) == {f"{first.document_id}@2"}
    await pipeline.clean(second)
    assert pipeline.list_stored_files() == {2: {"original"}}


async def test_a_version_that_fails_leaves_the_one_before_in_use(pipeline: Pipeline) -> None:
    first = await pipeline.create()
    await pipeline.upload(first, text_of(3, "Bolts"))
    await pipeline.run(first)
    second = await pipeline.replace(first)
    await pipeline.upload(second, " ")
    await pipeline.run(second)
    document = await pipeline.get(first)
    assert document is not None
    assert document.active is not None
    assert (document.active.number, document.latest.status) == (1, VersionStatus.FAILED)
    assert set(pipeline.list_indexed_texts()) == {f"{first.document_id}@1"}
    assert pipeline.list_stored_files() == {1: {"original"}}


async def count_writes_of_a_run() -> int:
    pipeline = Pipeline()
    first = await pipeline.create()
    await pipeline.upload(first, text_of(3, "Bolts"))
    await pipeline.run(first)
    second = await pipeline.replace(first)
    await pipeline.upload(second, text_of(5, "Nuts"))
    before = pipeline.writes.count
    await pipeline.run(second)
    return pipeline.writes.count - before


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_run_that_is_killed_at_any_write_is_made_good_by_another(when: str) -> None:
    for index in range(1, await count_writes_of_a_run() + 1):
        pipeline = Pipeline()
        first = await pipeline.create()
        await pipeline.upload(first, text_of(3, "Bolts"))
        await pipeline.run(first)
        second = await pipeline.replace(first)
        await pipeline.upload(second, text_of(5, "Nuts"))
        setattr(pipeline.writes, f"kill_{when}", pipeline.writes.count + index)
        with contextlib.suppress(Killed):
            await pipeline.run(second)
        document = await pipeline.get(first)
        assert document is not None
        assert document.active is not None
        whole = len(pipeline.list_indexed_texts()[f"{first.document_id}@{document.active.number}"])
        assert whole == document.active.chunks, f"the version in use is in the index as a whole, killed at {index}"
        await pipeline.run(second)
        document = await pipeline.get(first)
        assert document is not None
        assert document.active is not None
        assert (document.active.number, document.next, document.stale) == (2, None, ())
        assert set(pipeline.list_indexed_texts()) == {f"{first.document_id}@2"}
        assert pipeline.list_stored_files() == {2: {"original"}}
        assert document.check_at is None


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_removal_that_is_killed_at_any_write_is_made_good_by_another(when: str) -> None:
    for location in itertools.count(1):
        pipeline = Pipeline()
        ref = await pipeline.create()
        await pipeline.upload(ref, text_of(3, "Bolts"))
        await pipeline.run(ref)
        await pipeline.delete(ref)
        setattr(pipeline.writes, f"kill_{when}", pipeline.writes.count + location)
        try:
            await pipeline.run(ref)
            killed = False
        except Killed:
            killed = True
        await pipeline.run(ref)
        assert (pipeline.list_indexed_texts(), pipeline.list_stored_files(), await pipeline.get(ref)) == ({}, {}, None)
        if not killed:
            break


async def test_more_text_than_fits_into_memory_is_a_status_of_the_document(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of(5, "Bolts")
    monkeypatch.setattr(ingestion, "MAX_TEXT", len(text) // 2)
    ref = await pipeline.create()
    await pipeline.upload(ref, text)
    await pipeline.run(ref)
    document = await pipeline.get(ref)
    assert document is not None
    assert (document.latest.status, document.latest.error_code) == (VersionStatus.FAILED, "document_too_long")
    assert (pipeline.list_indexed_texts(), pipeline.list_stored_files()) == ({}, {})


async def test_a_step_that_comes_too_early_is_tried_again_later(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(5, "Bolts"))
    checked = await pipeline.step(ref, "check")
    for step, details in (("chunk", {"parts": 3}), ("index", {"batch": 0, "count": 1}), ("activate", {})):
        with pytest.raises(StoreUnavailable):
            await pipeline.step(ref, step, **details)
    parts = enumerate(checked["parts"])
    for index, part in parts:
        await pipeline.step(ref, "extract", format=checked["format"], part=part, index=index, count=3)
    await pipeline.step(ref, "chunk", parts=3)
    with pytest.raises(StoreUnavailable):
        await pipeline.step(ref, "activate")
    document = await pipeline.get(ref)
    assert document is not None
    assert document.active is None


STEPS = st.sampled_from(["check", "extract", "chunk", "index", "activate", "clean", "fail"])


@given(
    st.lists(st.tuples(STEPS, st.integers(1, 2), st.integers(0, 2)), max_size=40),
    st.integers(0, 40),
    st.sampled_from(["replace", "delete", "nothing"]),
    st.integers(0, 2**32),
)
async def test_steps_in_any_order_and_number_never_leave_anything_half_done(
    steps: list[tuple[str, int, int]], moment: int, event: str, seed: int
) -> None:
    pipeline = Pipeline()
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(5, "Bolts"))
    newest = ref
    for number, (step, version, index) in enumerate([*steps, ("check", 1, 0)]):
        if number == min(moment, len(steps)):
            if event == "replace":
                newest = await pipeline.replace(ref)
                await pipeline.upload(newest, text_of(5, "Nuts"))
            elif event == "delete":
                await pipeline.delete(ref)
        about = type(ref)(ref.tenant_id, ref.agent_id, ref.document_id, version)
        details = {"format": "text", "part": [2 * index + 1, min(2 * index + 2, 5)], "index": index}
        with contextlib.suppress(StoreUnavailable):
            await pipeline.step(about, step, **details, count=3, parts=3, batch=index)
        document = await pipeline.get(ref)
        if document is not None and document.active is not None and document.deleted_at is None:
            whole = pipeline.list_indexed_texts().get(f"{ref.document_id}@{document.active.number}", [])
            assert len(whole) == document.active.chunks
        if document is None:
            break
    await pipeline.run(newest, order=random.Random(seed))  # noqa: S311 - a test's choice
    document = await pipeline.get(ref)
    if event == "delete":
        assert (pipeline.list_indexed_texts(), pipeline.list_stored_files(), document) == ({}, {}, None)
        return
    assert document is not None
    assert document.stale == ()
    used = {f"{ref.document_id}@{document.active.number}"} if document.active is not None else set()
    assert set(pipeline.list_indexed_texts()) == used
    assert set(pipeline.list_stored_files()) == ({document.active.number} if document.active is not None else set())
    if event == "replace" and document.active is not None and document.latest.status is VersionStatus.READY:
        assert document.active.number == 2


async def test_a_newer_version_wins_over_one_in_progress(pipeline: Pipeline) -> None:
    first = await pipeline.create()
    await pipeline.upload(first, text_of(3, "Bolts"))
    checked = await pipeline.step(first, "check")
    await pipeline.step(first, "extract", format=checked["format"], part=[1, 2], index=0, count=2)
    await pipeline.step(first, "extract", format=checked["format"], part=[3, 3], index=1, count=2)
    await pipeline.step(first, "chunk", parts=2)
    await pipeline.step(first, "index", batch=0, count=1)
    second = await pipeline.replace(first)
    await pipeline.upload(second, text_of(3, "Nuts"))
    await pipeline.step(first, "activate")
    await pipeline.run(second)
    await pipeline.run(first)
    document = await pipeline.get(first)
    assert document is not None
    assert document.active is not None
    assert document.active.number == 2
    assert set(pipeline.list_indexed_texts()) == {f"{first.document_id}@2"}
    assert pipeline.list_stored_files() == {2: {"original"}}


async def test_what_a_worker_writes_after_the_first_removal_is_removed_by_the_second(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(3, "Bolts"))
    await pipeline.run(ref)
    remaining = dict(pipeline.index.documents[IndexName.KNOWLEDGE, "acme", ""])
    await pipeline.delete(ref)
    first = await pipeline.step(ref, "clean")
    assert first["next"] == "wait"
    pipeline.index.documents[IndexName.KNOWLEDGE, "acme", ""].update(remaining)
    second_step = await pipeline.step(ref, "clean")
    assert second_step["next"] == "wait", "too early"
    pipeline.index.documents[IndexName.KNOWLEDGE, "acme", ""].update(remaining)
    await pipeline.clean(ref)
    assert (pipeline.list_indexed_texts(), await pipeline.get(ref)) == ({}, None)


async def test_a_document_that_is_deleted_while_it_is_embedded_is_not_indexed(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(3, "Bolts"))
    embed = pipeline.embedder.embed

    async def delete_meanwhile(texts: list[str], **_: object) -> object:
        vectors = await embed(texts)
        await pipeline.delete(ref)
        return vectors

    pipeline.embedder.embed = delete_meanwhile  # type: ignore[assignment, method-assign]
    await pipeline.run(ref)
    assert (pipeline.list_indexed_texts(), pipeline.list_stored_files(), await pipeline.get(ref)) == ({}, {}, None)


async def test_a_busy_embedder_is_an_error_to_be_repeated_and_then_a_reason(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(3, "Bolts"))
    pipeline.embedder.failure = EmbedderUnavailable()
    with pytest.raises(EmbedderUnavailable):
        await pipeline.run(ref)
    await pipeline.step(ref, "fail", error="EmbedderUnavailable")
    document = await pipeline.get(ref)
    assert document is not None
    assert document.latest.error_code == "embedder_unavailable"


async def test_an_embedder_of_another_length_fails_the_document_at_once_and_says_why(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(3, "Bolts"))
    pipeline.embedder.failure = WrongEmbeddings.of(384, 1536)
    await pipeline.run(ref)
    document = await pipeline.get(ref)
    assert document is not None
    assert document.latest.error_code == "wrong_embedding_dimension"
    assert "BATON_EMBEDDING_DIMENSIONS is 1536" in (document.latest.error or "")
    assert not pipeline.list_indexed_texts()


async def test_a_version_without_room_in_the_index_fails_with_a_remedy_and_the_one_before_stays_whole(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make_embedded_index(FakeS3(), "search")
    pipeline.use(pipeline.documents, pipeline.files, index)
    first = await pipeline.create()
    await pipeline.upload(first, text_of(3, "Bolts"))
    await pipeline.run(first)
    before = await pipeline.get_existing(first)
    assert before.active is not None
    texts = [item async for item in index.list(pipeline.scope, IndexName.KNOWLEDGE, SearchFilter(agent_id=AGENT))]
    monkeypatch.setattr("baton.adapters.sqlite_index.bounds.MAX_OWNER_DOCUMENTS", len(texts) + 20)
    second = await pipeline.replace(first)
    await pipeline.upload(second, text_of(240, "Nuts"))  # several batches, the first of which has room

    await pipeline.run(second)

    failed = await pipeline.get_existing(first)
    assert (failed.latest.status, failed.latest.error_code) == (VersionStatus.FAILED, "search_index_full")
    assert "remove documents" in (failed.latest.error or "")
    assert "OpenSearch" in (failed.latest.error or "")
    assert failed.active == before.active
    stored = [item async for item in index.list(pipeline.scope, IndexName.KNOWLEDGE, SearchFilter(agent_id=AGENT))]
    assert stored == texts
    assert pipeline.list_stored_files() == {1: {"original"}}

    third = await pipeline.replace(first)
    await pipeline.upload(third, text_of(2, "Gears"))
    await pipeline.run(third)
    assert (await pipeline.get_existing(first)).active == (await pipeline.get_existing(third)).latest


async def test_without_an_embedder_texts_are_indexed_by_their_words(pipeline: Pipeline) -> None:
    pipeline.embedder.dimensions = 0
    pipeline.embedder.failure = EmbedderUnavailable()
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(3, "Bolts"))
    await pipeline.run(ref)
    assert pipeline.list_indexed_texts()
    [result] = {document.embedder for document in pipeline.index.documents[IndexName.KNOWLEDGE, "acme", ""].values()}
    assert result is None


async def test_an_event_starts_the_pipeline_of_its_version_once(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    key = f"acme/~documents/{AGENT}/{ref.document_id}/1/original"
    for _ in range(2):
        assert await pipeline.announce(key) == {"started": True}
    for other in (key + "/x", key.replace("original", "steps/parts/00000.json"), "acme/files/original", ""):
        assert await pipeline.announce(other) == {"started": False}
    assert pipeline.ingestions.started == [(ref, 0)]


async def test_a_document_that_is_created_again_with_the_id_of_a_removed_one_is_ingested_too(
    pipeline: Pipeline,
) -> None:
    for word in ("Bolts", "Nuts"):
        ref = await pipeline.create()
        await pipeline.upload(ref, text_of(1, word))
        key = f"acme/~documents/{AGENT}/{ref.document_id}/1/original"
        await pipeline.announce(key)
        assert pipeline.ingestions.started.pop() == (ref, 0)
        await pipeline.run(ref)
        await pipeline.app.knowledge.documents.delete(pipeline.scope, AGENT, ref.document_id)
        assert pipeline.ingestions.started.pop() == (ref, 1)
        await pipeline.run(ref)
        assert await pipeline.get(ref) is None
        assert await pipeline.announce(key) == {"started": False}


async def test_an_upload_whose_event_was_lost_is_found_by_the_sweeper(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(1, "Bolts"))
    assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 0
    pipeline.clock.advance(UPLOAD_WAIT.total_seconds())
    assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 1
    assert pipeline.ingestions.started == [(ref, 1)]
    await pipeline.run(ref)
    document = await pipeline.get(ref)
    assert document is not None
    assert document.active is not None


async def test_a_version_without_an_upload_fails_when_its_address_has_expired(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.run(ref)
    document = await pipeline.get(ref)
    assert document is not None
    assert document.latest.status is VersionStatus.WAITING
    pipeline.clock.advance(UPLOAD_WAIT.total_seconds())
    await pipeline.run(ref)
    document = await pipeline.get(ref)
    assert document is not None
    assert document.latest.error_code == "document_not_uploaded"


async def test_a_run_without_progress_is_started_again_and_given_up_after_some_attempts(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(3, "Bolts"))
    await pipeline.step(ref, "check")
    for attempt in range(1, MAX_ATTEMPTS + 2):
        pipeline.clock.advance(STEP_WAIT.total_seconds())
        assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 1
        assert pipeline.ingestions.started[-1] == (ref, attempt)
        assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 0
    document = await pipeline.get(ref)
    assert document is not None
    assert document.latest.error_code == "document_not_processed"
    await pipeline.run(ref)
    assert pipeline.list_stored_files() == {}


async def test_a_run_with_progress_is_left_alone(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(3, "Bolts"))
    checked = await pipeline.step(ref, "check")
    pipeline.clock.advance(STEP_WAIT.total_seconds() - 60)
    await pipeline.step(ref, "extract", format=checked["format"], part=[1, 2], index=0, count=2)
    pipeline.clock.advance(120)
    assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 0
    assert pipeline.ingestions.started == []
    document = await pipeline.get(ref)
    assert document is not None
    assert document.check_at == document.updated_at + STEP_WAIT


async def test_what_an_engine_of_executions_left_when_it_ended_is_started_again_at_once_and_once(
    pipeline: Pipeline,
) -> None:
    ref = await pipeline.create(1)
    await pipeline.upload(ref, text_of(3, "Bolts"))
    checked = await pipeline.step(ref, "check")
    lost = await pipeline.create(2)
    await pipeline.upload(lost, text_of(1, "Nuts"))
    gone = await pipeline.create(3)
    await pipeline.delete(gone)
    pipeline.clock.advance(60)
    pipeline.use(pipeline.documents, pipeline.files, pipeline.index, since=pipeline.clock.now())
    assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 3
    assert {started.document_id for started, _ in pipeline.ingestions.started} == {
        item.document_id for item in (ref, lost, gone)
    }
    pipeline.clock.advance(60)
    assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 0
    await pipeline.step(ref, "extract", format=checked["format"], part=[1, 2], index=0, count=2)
    pipeline.clock.advance(STEP_WAIT.total_seconds() - 60)
    assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 2
    await pipeline.run(ref)
    document = await pipeline.get(ref)
    assert document is not None
    assert document.active is not None


class EndingIngestions(FakeIngestions):
    """Pipelines whose runs end right after a caller has seen them pending."""

    def __init__(self, end: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._end = end

    async def is_pending(self, ref: DocumentRef, *, created_at: datetime) -> bool:
        await self._end()
        return True


@pytest.mark.parametrize("end", [Pipeline.run, Pipeline.delete])
async def test_a_document_that_ends_while_it_is_looked_at_stays_as_it_is(
    pipeline: Pipeline, end: Callable[[Pipeline, DocumentRef], Awaitable[None]]
) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(3, "Bolts"))
    documents: list[Document] = []

    async def end_now() -> None:
        await end(pipeline, ref)
        documents.append(await pipeline.get_existing(ref))

    pipeline.ingestions = EndingIngestions(end_now)
    pipeline.use(pipeline.documents, pipeline.files, pipeline.index)
    pipeline.clock.advance(UPLOAD_WAIT.total_seconds())
    assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 0
    assert [await pipeline.get_existing(ref)] == documents


async def test_documents_that_began_after_their_engine_wait_as_ever(pipeline: Pipeline) -> None:
    pipeline.use(pipeline.documents, pipeline.files, pipeline.index, since=pipeline.clock.now())
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(3, "Bolts"))
    await pipeline.step(ref, "check")
    pipeline.clock.advance(STEP_WAIT.total_seconds() - 60)
    assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 0


async def test_a_removal_that_stopped_is_started_again_however_often(pipeline: Pipeline) -> None:
    ref = await pipeline.create()
    await pipeline.upload(ref, text_of(1, "Bolts"))
    await pipeline.run(ref)
    await pipeline.delete(ref)
    for _ in range(MAX_ATTEMPTS + 3):
        pipeline.clock.advance(STEP_WAIT.total_seconds())
        assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 1
    assert len(pipeline.ingestions.started) == MAX_ATTEMPTS + 3
    await pipeline.run(ref)
    assert await pipeline.get(ref) is None


async def test_a_document_that_cannot_be_resumed_does_not_stop_the_others(pipeline: Pipeline) -> None:
    await pipeline.create(1)
    await pipeline.create(2)
    pipeline.clock.advance(UPLOAD_WAIT.total_seconds())
    pipeline.ingestions.failure = StoreUnavailable()
    assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 0
    pipeline.ingestions.failure = None
    pipeline.clock.advance((STEP_WAIT + timedelta(seconds=1)).total_seconds())
    assert await pipeline.app.knowledge.ingestion_starts.resume(seconds=10) == 2


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["ingest", "delete", "fail"])), max_size=12))
async def test_tenants_with_the_same_ids_never_touch_each_others_documents(doings: list[tuple[int, str]]) -> None:
    first = Pipeline("acme")
    tenants = [first, Pipeline("globex", shared=first), Pipeline("acme-2", shared=first)]
    expected: dict[int, str | None] = {}
    refs = {number: await tenant.create(7) for number, tenant in enumerate(tenants)}
    for number, doing in doings:
        tenant = tenants[number]
        if expected.get(number, "") is None:
            continue  # it is deleted
        if doing == "ingest":
            if number in expected:
                refs[number] = await tenant.replace(refs[number])
            await tenant.upload(refs[number], text_of(3, f"Tenant{number}"))
            await tenant.run(refs[number])
            expected[number] = f"Tenant{number}"
        elif doing == "delete":
            await tenant.delete(refs[number])
            await tenant.run(refs[number])
            expected[number] = None
        else:
            await tenant.step(refs[number], "fail", error="Exception")
            expected.setdefault(number, "")
    for number, tenant in enumerate(tenants):
        texts = "".join(text for result in tenant.list_indexed_texts().values() for text in result)
        word = expected.get(number)
        assert (f"Tenant{number} on page 3." in texts) == bool(word)
        assert not any(f"Tenant{other}" in texts for other in range(3) if other != number)
        document = await tenant.get(refs[number])
        assert (document is None) == (number in expected and word is None)


async def test_blocks_count_besides_their_characters(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "MAX_TEXT", 100 * ingestion.BLOCK_WEIGHT)
    ref = await pipeline.create()
    await pipeline.upload(ref, "a\n\n" * 101)
    await pipeline.run(ref)
    document = await pipeline.get(ref)
    assert document is not None
    assert document.latest.error_code == "document_too_long"
