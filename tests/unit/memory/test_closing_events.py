"""One invocation closes a session. Where it does not reach its end, the single steps of the state machine do."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from baton.domain.documents.pipelines import Pipeline, PipelineRun
from baton.domain.errors import EmbedderUnavailable, ModelUnavailable
from baton.domain.metrics import Metric, collect_counts
from baton.entry.jobs.closing_events import STEP_SECONDS, OutOfTime
from baton.memory.episodes import session_closing
from baton.memory.episodes.session_closing import ClosingStep
from baton_testing.fakes.memory.episodes import WorkerDied
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.sessions import close

SUBJECT = "acme/thread/1"
SECONDS = 600.0


class EndedSession:
    """A session that has ended, whose closing has its place among the runs."""

    def __init__(self) -> None:
        self.harness = Harness()

    async def end(self) -> None:
        for number, text in enumerate(("I moved to Bern.", "Write to ada@example.com.")):
            await self.harness.say(f"m{number}", text)
        await close(self.harness)
        self.harness.model.requests.clear()
        self.harness.model.otherwise = Answer(('{"facts": [], "pairs": []}',))
        await self.harness.admission.start(PipelineRun(Pipeline.CLOSING, "acme", SUBJECT, SUBJECT, {}))

    async def step(self, step: str, *, seconds: float = SECONDS) -> dict[str, Any]:
        session = {
            "tenantId": "acme",
            "userId": "ada",
            "threadId": self.harness.thread_id,
            "episode": 1,
            "subject": SUBJECT,
        }
        return await self.harness.app.closing_events.run_step({"step": step, "session": session}, seconds=seconds)

    async def has_place(self) -> bool:
        return await self.harness.admission.is_pending(Pipeline.CLOSING, SUBJECT)


@pytest.fixture
async def session() -> EndedSession:
    instance = EndedSession()
    await instance.end()
    return instance


async def test_one_invocation_makes_the_episode_and_gives_its_place_back(session: EndedSession) -> None:
    assert await session.has_place()
    assert await session.step("whole") == {"status": "complete", "missing": []}
    assert not await session.has_place()


def count_calls(counts: Counter[str], name: str, method: Any) -> Any:
    """Return the method with a count of its calls."""

    async def counted(*arguments: Any, **named: Any) -> Any:
        counts[name] += 1
        return await method(*arguments, **named)

    return counted


@pytest.mark.parametrize(("held", "times"), [(session_closing.MAX_HELD_CHARACTERS, 1), (0, 4)])
async def test_one_invocation_reads_a_short_session_once_and_looks_for_its_deletion_at_the_end(
    session: EndedSession, monkeypatch: pytest.MonkeyPatch, held: int, times: int
) -> None:
    monkeypatch.setattr(session_closing, "MAX_HELD_CHARACTERS", held)
    store, reads = session.harness.store, Counter[str]()
    for name in ("get_thread", "read_messages"):
        monkeypatch.setattr(store, name, count_calls(reads, name, getattr(store, name)))
    assert await session.step("whole") == {"status": "complete", "missing": []}
    assert reads == {"get_thread": 2, "read_messages": times}


@pytest.mark.parametrize("dies_at", list(ClosingStep))
async def test_the_single_steps_complete_what_a_dead_invocation_has_left(
    session: EndedSession, dies_at: ClosingStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing = type(session.harness.app.memory.session_closing)
    name = "begin" if dies_at is ClosingStep.STORE else "carry_out"
    alive = getattr(closing, name)

    async def run_and_die(self: Any, *arguments: Any) -> Any:
        done = await alive(self, *arguments)
        if name == "begin" or arguments[0] is dies_at:
            raise WorkerDied
        return done

    monkeypatch.setattr(closing, name, run_and_die)
    with pytest.raises(WorkerDied):
        await session.step("whole")
    monkeypatch.setattr(closing, name, alive)
    assert await session.has_place()
    request_count = len(session.harness.model.requests)
    for step in (*list(ClosingStep)[:-1], "learn"):
        await session.step(step)
    assert await session.step("complete") == {"status": "complete", "missing": []}
    assert not await session.has_place()
    if dies_at is not ClosingStep.STORE:
        assert len(session.harness.model.requests) == request_count, "what is done is not done again"


@pytest.mark.parametrize("failure", [ModelUnavailable(), EmbedderUnavailable()])
async def test_an_invocation_whose_model_fails_leaves_the_episode_unfinished_for_the_steps(
    session: EndedSession, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing = type(session.harness.app.memory.session_closing)

    async def fail(self: Any, *arguments: Any) -> None:
        raise failure

    name = "_summarise" if isinstance(failure, ModelUnavailable) else "_index"
    monkeypatch.setattr(closing, name, fail)
    counted: dict[Metric, Any] = {}
    with collect_counts(counted.update), pytest.raises(type(failure)):
        await session.step("whole")
    assert Metric.EPISODES_INCOMPLETE not in counted
    assert await session.has_place()


async def test_an_invocation_begins_no_step_that_may_not_fit(session: EndedSession) -> None:
    with pytest.raises(OutOfTime):
        await session.step("whole", seconds=STEP_SECONDS - 1)
    assert await session.has_place()


async def test_a_session_that_cannot_be_closed_is_marked_and_gives_its_place_back(session: EndedSession) -> None:
    assert await session.step("fail") == {"status": "failed"}
    assert not await session.has_place()


async def test_an_unknown_step_is_an_error(session: EndedSession) -> None:
    with pytest.raises(ValueError, match="no such step"):
        await session.step("no such step")
