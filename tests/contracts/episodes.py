"""The contract of every store of episodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from baton.domain.desks.desk_session import Person
from baton.domain.errors import InvalidRequest
from baton.domain.memory.episode import (
    EndedSession,
    Episode,
    EpisodePart,
    EpisodeRef,
    EpisodeStatus,
    Fact,
    derive_fact_id,
    make_episode_ref,
)
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import EndReason
from tests.contracts.stores import Stores, new_thread_id


async def begin_session(stores: Stores, *, scope: Scope | None = None) -> EpisodeRef:
    """A session of two messages that is ending."""
    thread_id = (await stores.turn(new_thread_id(), scope=scope)).thread_id
    lease = await stores.lease(thread_id, scope=scope)
    thread = lease.thread
    anna = Person("anna", "Anna", "https://example.com/anna.png")
    ref = make_episode_ref(thread, thread.next_ordinal, EndReason.PERSON_CLOSED, stores.clock.now(), closed_by=anna)
    assert ref is not None
    ref = replace(ref, desk_id="support")
    await stores.episodes.begin(lease, ref)
    return ref


def episode_of(stores: Stores, ref: EpisodeRef) -> Episode:
    """The episode of a session, as it is stored first."""
    return Episode(ref, "ada", ("assistant",), EpisodeStatus.PENDING, stores.clock.now(), 2, Usage(10, 5))


async def store_episode(stores: Stores, *, scope: Scope | None = None) -> Episode:
    """An episode without summary and facts."""
    ref = await begin_session(stores, scope=scope)
    await stores.episodes.store(scope or stores.ada, episode_of(stores, ref))
    episode = await stores.episodes.get(scope or stores.ada, ref.thread_id, 1)
    assert episode is not None
    return episode


def fact(episode: Episode, text: str = "Ada lives in Bern.") -> Fact:
    return Fact(derive_fact_id(episode.ref.id, text), text, date(2026, 3, 14), ("m1",))


class EpisodeContract:
    """The record of a session."""

    async def test_a_session_that_is_ending_is_pending(self, stores: Stores) -> None:
        ref = await begin_session(stores)
        assert await stores.episodes.get_ref(stores.ada, ref.thread_id, 1) == ref
        assert await stores.episodes.get(stores.ada, ref.thread_id, 1) is None
        assert await stores.episodes.get_ref(stores.ada, ref.thread_id, 2) is None
        assert await stores.episodes.get_ref(stores.stranger, ref.thread_id, 1) is None

    async def test_a_session_and_its_episode_are_read_at_once(self, stores: Stores) -> None:
        ref = await begin_session(stores)
        assert await stores.episodes.find_ended(stores.ada, ref.thread_id, 1) == EndedSession(ref, None)
        await stores.episodes.store(stores.ada, episode_of(stores, ref))
        assert await stores.episodes.find_ended(stores.ada, ref.thread_id, 1) == EndedSession(
            ref, episode_of(stores, ref)
        )
        assert await stores.episodes.find_ended(stores.ada, ref.thread_id, 2) is None
        assert await stores.episodes.find_ended(stores.stranger, ref.thread_id, 1) is None

    async def test_what_is_added_to_an_episode_returns_it(self, stores: Stores) -> None:
        ref = await begin_session(stores)
        assert await stores.episodes.mark(stores.ada, ref, EpisodePart.INDEX) is None, "it is not stored yet"
        existing = fact(episode_of(stores, ref))
        for added in (
            await stores.episodes.store(stores.ada, episode_of(stores, ref)),
            await stores.episodes.describe(stores.ada, ref, "She moved.", [existing]),
            await stores.episodes.describe(stores.ada, ref, "Too late.", []),
            await stores.episodes.keep_facts(stores.ada, ref, [existing]),
            await stores.episodes.mark(stores.ada, ref, EpisodePart.INDEX),
        ):
            assert added is not None
            assert added.ref == ref
        assert added is not None
        assert added == await stores.episodes.get(stores.ada, ref.thread_id, 1)
        assert (added.summary, added.facts, added.missing) == ("She moved.", (existing,), ())
        assert await stores.episodes.describe(stores.ada, replace(ref, number=2), None, ()) is None

    async def test_without_facts_nothing_is_left_to_compare(self, stores: Stores) -> None:
        episode = await store_episode(stores)
        described = await stores.episodes.describe(stores.ada, episode.ref, "Nothing of note.", [])
        assert described is not None
        assert described.missing == (EpisodePart.INDEX,)

    async def test_a_session_is_found_by_its_episodes_id_by_its_own_user(self, stores: Stores) -> None:
        ref = await begin_session(stores)
        assert await stores.episodes.find(stores.ada, ref.id) == ref
        for other in (stores.bob, stores.stranger):
            assert await stores.episodes.find(other, ref.id) is None
        assert await stores.episodes.find(stores.ada, new_thread_id()) is None

    async def test_an_episode_is_stored_however_often_and_keeps_its_parts(self, stores: Stores) -> None:
        ref = await begin_session(stores)
        for _ in range(2):
            await stores.episodes.store(stores.ada, episode_of(stores, ref))
            assert await stores.episodes.get(stores.ada, ref.thread_id, 1) == episode_of(stores, ref)
        await stores.episodes.mark(stores.ada, ref, EpisodePart.INDEX)
        done = await stores.episodes.complete(stores.ada, ref)
        await stores.episodes.store(stores.ada, episode_of(stores, ref))
        assert await stores.episodes.get(stores.ada, ref.thread_id, 1) == done
        assert done is not None
        assert (done.status, done.parts, done.attempts) == (EpisodeStatus.COMPLETE, frozenset({EpisodePart.INDEX}), 1)

    async def test_a_complete_episode_does_not_fail_any_more(self, stores: Stores) -> None:
        episode = await store_episode(stores)
        done = await stores.episodes.complete(stores.ada, episode.ref)
        await stores.episodes.fail(stores.ada, episode.ref)
        assert await stores.episodes.get(stores.ada, episode.ref.thread_id, 1) == done

    async def test_a_failed_closing_can_still_succeed(self, stores: Stores) -> None:
        ref = await begin_session(stores)
        await stores.episodes.fail(stores.ada, ref)
        assert await stores.episodes.get_ref(stores.ada, ref.thread_id, 1) == ref
        await stores.episodes.store(stores.ada, episode_of(stores, ref))
        failed = await stores.episodes.get(stores.ada, ref.thread_id, 1)
        done = await stores.episodes.complete(stores.ada, ref)
        assert failed is not None
        assert done is not None
        assert (failed.status, done.status) == (EpisodeStatus.FAILED, EpisodeStatus.COMPLETE)

    async def test_an_episode_that_was_never_stored_cannot_be_completed(self, stores: Stores) -> None:
        ref = await begin_session(stores)
        assert await stores.episodes.complete(stores.ada, ref) is None
        assert await stores.episodes.get(stores.ada, ref.thread_id, 1) is None

    async def test_the_first_summary_counts(self, stores: Stores) -> None:
        episode = await store_episode(stores)
        await stores.episodes.mark(stores.ada, episode.ref, EpisodePart.INDEX)
        await stores.episodes.describe(stores.ada, episode.ref, "She moved.", [fact(episode)])
        await stores.episodes.describe(stores.ada, episode.ref, "Another one.", [])
        now = await stores.episodes.get(stores.ada, episode.ref.thread_id, 1)
        assert now == replace(
            episode, summary="She moved.", facts=(fact(episode),), parts=frozenset({EpisodePart.SUMMARY})
        )

    async def test_the_first_comparison_of_facts_counts(self, stores: Stores) -> None:
        episode = await store_episode(stores)
        both = [fact(episode), fact(episode, "Ada has a cat.")]
        await stores.episodes.describe(stores.ada, episode.ref, None, both)
        await stores.episodes.keep_facts(stores.ada, episode.ref, both[1:])
        await stores.episodes.keep_facts(stores.ada, episode.ref, [])
        now = await stores.episodes.get(stores.ada, episode.ref.thread_id, 1)
        assert now is not None
        assert (now.summary, now.facts) == (None, (both[1],))
        assert now.missing == (EpisodePart.INDEX,)

    async def test_a_fact_is_superseded_once_and_only_by_its_own_user(self, stores: Stores) -> None:
        episode = await store_episode(stores)
        existing, at = fact(episode), stores.clock.now()
        await stores.episodes.describe(stores.ada, episode.ref, None, [existing])
        for scope, by in (
            (stores.bob, "bobs"),
            (stores.stranger, "strangers"),
            (stores.ada, "newer"),
            (stores.ada, "2"),
        ):
            await stores.episodes.supersede(scope, episode.ref.thread_id, 1, existing.id, by=by, at=at)
        await stores.episodes.supersede(stores.ada, episode.ref.thread_id, 1, "no id", by="x", at=at)
        now = await stores.episodes.get(stores.ada, episode.ref.thread_id, 1)
        assert now is not None
        [superseded] = now.facts
        assert (superseded.superseded_by, superseded.text) == ("newer", existing.text)
        assert superseded.superseded_at is not None
        assert abs(superseded.superseded_at - at) < timedelta(milliseconds=1)

    async def test_redacted_texts_are_read_by_range(self, stores: Stores) -> None:
        ref = await begin_session(stores)
        for ordinal, text in ((0, "I am [email]"), (7, "[phone] " * 200_000), (12, "[card]")):
            for _ in range(2):
                await stores.episodes.put_redaction(stores.ada, ref.thread_id, ordinal, text)

        async def read_redactions_between(scope: Scope, first: int, end: int) -> dict[int, str]:
            return dict(
                await stores.episodes.read_redactions(scope, ref.thread_id, first_ordinal=first, end_ordinal=end)
            )

        assert await read_redactions_between(stores.ada, 0, 8) == {0: "I am [email]", 7: "[phone] " * 200_000}
        assert list(await read_redactions_between(stores.ada, 1, 13)) == [7, 12]
        assert await read_redactions_between(stores.ada, 5, 5) == {}
        assert await read_redactions_between(stores.stranger, 0, 13) == {}

    async def test_a_users_episodes_are_listed_latest_end_first_page_by_page(self, stores: Stores) -> None:
        mine = []
        for _ in range(5):
            mine.append(await store_episode(stores))
            stores.clock.advance(60)
        await store_episode(stores, scope=stores.bob)
        await begin_session(stores)
        episodes: list[Episode] = []
        cursor = None
        for size in (2, 2, 1):
            page, cursor = await stores.episodes.of_user(stores.ada, limit=2, cursor=cursor)
            assert len(page) == size
            episodes += page
        assert cursor is None
        assert episodes == mine[::-1]
        assert (await stores.episodes.of_user(stores.stranger, limit=2, cursor=None))[0] == []
        with pytest.raises(InvalidRequest):
            await stores.episodes.of_user(stores.ada, limit=2, cursor="nonsense")

    async def test_a_tenants_episodes_are_all_found(self, stores: Stores) -> None:
        expected = [await store_episode(stores), await store_episode(stores, scope=stores.bob)]
        await store_episode(stores, scope=stores.stranger)
        await begin_session(stores)
        results = [episode async for episode in stores.episodes.of_tenant(Scope(stores.tenant, "operator"))]
        assert {item.ref.id: item.user_id for item in results} == {expected[0].ref.id: "ada", expected[1].ref.id: "bob"}
