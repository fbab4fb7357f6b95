"""Any sequence of talking, closing and forgetting: workers die at any call, and search fails or is slow."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from baton.composition.app import App, build
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.errors import BatonError, LeaseLost, StoreUnavailable, ThreadBusy
from baton.domain.memory.episode import Episode, EpisodeStatus
from baton.domain.memory.forgetting import ForgetRequest, ForgetStatus, NextStep
from baton.domain.threads.events import Event
from baton.domain.threads.message import Role
from baton.domain.threads.thread import EndReason
from baton.memory.episodes.episode_index import MESSAGE
from baton.memory.episodes.session_closing import ClosingStep
from baton.threads.requests.parsing import parse_message_request
from tests.contracts.conversing import LONGER_THAN_A_LEASE, check_whole
from tests.faults.state_machines.trouble import RepeatingModel, Trouble, Troubled, words_of
from tests.faults.state_machines.worlds import MemoryWorld, item_text

T = TypeVar("T")

STORES = ("store", "log", "records", "episodes", "erasure", "objects", "forget_requests")
ALL = 3
WRITERS = st.integers(0, 2)
"""Two threads of ada's, and one of bob's, who looks on."""
crashes = st.none() | st.tuples(st.sampled_from(["unavailable", "lost answer", "dead"]), st.integers(0, 30))
search_troubles = st.sampled_from(["none", "none", "failing", "slow", "no embedder", "slow embedder"])
TroubledPipeline = tuple[ClosingStep, tuple[str, int] | None, str, bool]
troubled_pipelines: st.SearchStrategy[TroubledPipeline] = st.tuples(
    st.sampled_from(ClosingStep), crashes, search_troubles, st.booleans()
)
"""From which step on there is trouble, which, and whether every step runs twice at once."""
meanwhile = st.sampled_from(["nothing", "a turn", "a closing", "the same again"])


class MemoryMachine(RuleBasedStateMachine):
    """Two conversations of ada and one of bob. A request to a worker that died goes to another worker.

    Every message holds a unique word, so that what is left of it can be found wherever it is.
    """

    def __init__(self, make_world: Callable[[], MemoryWorld]) -> None:
        super().__init__()
        self.world = make_world()
        self.runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self.trouble = Trouble()
        ports = self.world.ports.with_ports(model=RepeatingModel())
        troubled = {name: Troubled(getattr(ports, name), self.trouble.met) for name in STORES}
        search: Any = Troubled(ports.search, self.trouble.searching)
        embedder: Any = Troubled(ports.embedder, self.trouble.embedding)
        self.steady = build(ports)
        self.shaky = build(ports.with_ports(**troubled, search=search, embedder=embedder))
        for app in (self.steady, self.shaky):
            forgetting = app.privacy.forgetting
            app.privacy.forgetting = replace(forgetting, waits=replace(forgetting.waits, cancel=0.0))
        self.owners = [self.world.ada, self.world.ada, self.world.bob]
        self.ids = [str(uuid.uuid4()) for _ in self.owners]
        self.texts: list[dict[str, str]] = [{} for _ in self.owners]
        """The messages of each conversation, by id."""
        self.sessions: set[tuple[int, int]] = set()
        """Conversation and number of those that have ended, and were not forgotten."""
        self.forgotten: set[str] = set()
        """Words that nobody may know any more."""
        self.number = 0

    def teardown(self) -> None:
        self.trouble.end()
        try:
            self.runner.run(self.finish())
        finally:
            self.runner.close()

    # What users do

    @rule(at=WRITERS, times=st.integers(1, 3), crash=crashes, search=search_troubles)
    def say(self, at: int, times: int, crash: tuple[str, int] | None, search: str) -> None:
        self.trouble.begin(crash, search)
        for _ in range(times):
            self.runner.run(self._say(at))
        self.runner.run(self.check())

    @precondition(lambda self: any(self.texts))
    @rule(data=st.data(), crash=crashes, twice=st.booleans(), pipeline=st.none() | troubled_pipelines)
    def close(
        self, data: st.DataObject, crash: tuple[str, int] | None, twice: bool, pipeline: TroubledPipeline | None
    ) -> None:
        """Close a conversation, and run the pipeline at once, or later."""
        at = data.draw(st.sampled_from([at for at, message in enumerate(self.texts) if message]))
        self.trouble.begin(crash, "none")
        self.runner.run(self._close(at, twice=twice))
        self.runner.run(self.check())
        if pipeline is not None:
            self.make_episodes_with(pipeline)

    @precondition(lambda self: self.sessions)
    @rule(pipeline=troubled_pipelines)
    def make_episodes(self, pipeline: TroubledPipeline) -> None:
        """Run the pipelines of all sessions again, as the sweeper does."""
        self.make_episodes_with(pipeline)

    @precondition(lambda self: any(self.texts))
    @rule(data=st.data(), crash=crashes, second_crash=crashes, besides=meanwhile)
    def forget(
        self, data: st.DataObject, crash: tuple[str, int] | None, second_crash: tuple[str, int] | None, besides: str
    ) -> None:
        """Forget one conversation, or all of ada's."""
        at = data.draw(st.sampled_from([*(at for at, message in enumerate(self.texts) if message), ALL]))
        self.runner.run(self._forget(at, iter([crash, second_crash]), besides))
        self.runner.run(self.check())

    # How it is done

    def make_episodes_with(self, pipeline: TroubledPipeline) -> None:
        """Run the pipelines of all sessions; their workers have faults from one of the steps on."""
        self.runner.run(self._make_episodes(*pipeline))
        self.runner.run(self.check())

    async def _say(self, at: int) -> None:
        message_id, text = self._new_message()
        self.texts[at][message_id] = text
        await self._surely(lambda app: self._turn(app, at, message_id, text))

    async def _turn(self, app: App, at: int, message_id: str, text: str) -> None:
        owner, events = self.owners[at], list[Event]()
        request = parse_message_request(owner, thread_id=self.ids[at], message_id=message_id, content=text)
        await app.turns.run(owner, request, events.append, seconds=20, patience=2)
        check_whole(events)
        assert events[-1].type == "RUN_FINISHED", "a turn needs no search"

    async def _close(self, at: int, *, twice: bool) -> None:
        owner, thread_id = self.owners[at], self.ids[at]

        async def close(app: App) -> str | None:
            return (await app.closer.close(owner, thread_id, EndReason.USER_CLOSED, patience=5)).episode_id

        if twice:
            result = set(await asyncio.gather(self._surely(close), self._surely(close)))
        else:
            result = {await self._surely(close)}
        [episode_id] = result
        assert episode_id is not None
        ref = await self.steady.ports.episodes.find(owner, episode_id)
        assert ref is not None, "it can be found at once"
        assert ref.end_ordinal == 2 * len(self.texts[at])
        self.sessions.add((at, ref.number))

    async def _make_episodes(
        self, troubled_from: ClosingStep, crash: tuple[str, int] | None, search: str, twice: bool
    ) -> None:
        steps = list(ClosingStep)
        for at, number in sorted(self.sessions):
            for step in steps:
                has_trouble = steps.index(step) >= steps.index(troubled_from)
                self.trouble.begin(crash if has_trouble else None, search if has_trouble else "none")
                running = [
                    self.shaky.memory.session_closing.run(step, self.owners[at], self.ids[at], number)
                    for _ in range(1 + twice)
                ]
                # Whatever fails, the state machine goes on, and another run comes later.
                problems = [result for result in await asyncio.gather(*running, return_exceptions=True) if result]
                assert all(isinstance(problem, BatonError | Episode) for problem in problems), problems
            self.trouble.end()
            episode = await self.steady.ports.episodes.get(self.owners[at], self.ids[at], number)
            if episode is None or episode.missing or episode.status is not EpisodeStatus.COMPLETE:
                assert crash is not None or search != "none", f"nothing happened, and it is {episode}"

    async def _forget(self, at: int, crashes: Iterator[tuple[str, int] | None], besides: str) -> None:
        owner, places = (self.world.ada, [0, 1]) if at == ALL else (self.owners[at], [at])
        calls = self.steady.privacy.forget_calls
        request = await (calls.forget_user(owner, "me") if at == ALL else calls.forget_thread(owner, self.ids[at]))
        late = asyncio.ensure_future(self._late(request, places[0], besides))
        await self._carry_out(request, crashes, late)
        for location in places:
            self.forgotten |= {word for text in self.texts[location].values() for word in words_of(text)}
            self.texts[location] = {}
        self.sessions = {(location, number) for location, number in self.sessions if location not in places}
        await self.check_forgotten(places)

    async def _carry_out(
        self, request: ForgetRequest, crashes: Iterator[tuple[str, int] | None], late: asyncio.Future[None]
    ) -> None:
        """Do as the state machine does; what crashes is repeated."""
        step, scope = "sweep", request.scope
        self.trouble.begin(next(crashes, None), "none")
        for _ in range(30):
            try:
                result = await getattr(self.shaky.privacy.forgetting, step)(scope, request.id, seconds=60)
            except BatonError:
                assert self.trouble.crash.happened
                self.trouble.begin(next(crashes, None), "none")
                continue
            match result.next:
                case NextStep.WAIT:
                    await late  # for longer than anybody can be late
                    self.world.clock.advance(self.shaky.privacy.forgetting.waits.zombies)
                    step = "sweep"
                case NextStep.VERIFY:
                    step = "verify"
                case NextStep.SWEEP:
                    step = "sweep"
                case _:
                    break
        self.trouble.end()
        done = await self.steady.privacy.forget_calls.get(scope, request.id)
        assert (done.status, dict(done.residue)) == (ForgetStatus.COMPLETED, {})

    async def _late(self, request: ForgetRequest, at: int, besides: str) -> None:
        """Another action at the same time, whether it is refused or not."""
        owner = self.owners[at]
        with contextlib.suppress(BatonError):
            match besides:
                case "a turn":
                    message_id, text = self._new_message()
                    self.forgotten |= set(words_of(text))
                    requests = parse_message_request(owner, thread_id=self.ids[at], message_id=message_id, content=text)
                    await self.steady.turns.run(owner, requests, lambda event: None, seconds=20, patience=2)
                case "a closing":
                    for step in ClosingStep:
                        for location, number in sorted(self.sessions):
                            await self.steady.memory.session_closing.run(
                                step, self.owners[location], self.ids[location], number
                            )
                case "the same again":
                    await self.steady.privacy.forgetting.sweep(request.scope, request.id, seconds=60)

    async def _surely(self, work: Callable[[App], Awaitable[T]]) -> T:
        """Have it done, by another worker if the first one dies."""
        try:
            return await work(self.shaky)
        except (LeaseLost, StoreUnavailable, ThreadBusy):
            self.trouble.end()
            assert self.trouble.has_struck
            self.world.clock.advance(LONGER_THAN_A_LEASE)
            return await work(self.steady)

    def _new_message(self) -> tuple[str, str]:
        self.number += 1
        return f"m-{self.number}", f"Do not tell secret{self.world.name}n{self.number}x to anybody"

    # What must hold

    async def check(self) -> None:
        """Check that no message is lost, and that every episode can be read."""
        self.trouble.end()
        ports = self.steady.ports
        for owner, thread_id, text in zip(self.owners, self.ids, self.texts, strict=True):
            if not text:
                continue
            thread = await ports.store.get_thread(owner, thread_id)
            page = await ports.store.read_messages(owner, thread, limit=500, before=None)
            stored = [(message.id, message.text) for message in page.messages if message.role is Role.USER]
            assert stored == list(text.items())
            answers = [message.text for message in page.messages if message.role is Role.ASSISTANT]
            assert answers == list(text.values())
        for at, number in self.sessions:
            ref = await ports.episodes.get_ref(self.owners[at], self.ids[at], number)
            assert ref is not None

    async def check_forgotten(self, places: Sequence[int]) -> None:
        """Check that no forgotten data remains, and of these conversations only the records that may name them."""
        ids = [self.ids[location] for location in places]
        for item in self.world.items():
            text = item_text(item)
            assert not self.forgotten & set(words_of(text)), item
            assert (
                item["SK"].startswith(("AUDIT#", "REQUEST#"))
                or "~FORGET" in item["PK"]
                or not any(thread_id in text for thread_id in ids)
            ), item
        assert [key for key in self.world.versions() if any(thread_id in key for thread_id in ids)] == []
        for location in places:
            chosen = SearchFilter(thread_id=self.ids[location])
            assert await self.steady.ports.search.count(self.owners[location], IndexName.EPISODES, chosen) == 0
        assert not self.forgotten & set(words_of(self.world.index_text()))

    async def finish(self) -> None:
        """Everything comes right by itself once there is no trouble any more."""
        await self.check()
        for at, number in sorted(self.sessions):
            owner, thread_id = self.owners[at], self.ids[at]
            for step in ClosingStep:
                episode = await self.steady.memory.session_closing.run(step, owner, thread_id, number)
            assert episode is not None
            assert (episode.status, episode.missing) == (EpisodeStatus.COMPLETE, ())
            chosen = SearchFilter(source_id=episode.ref.id, kinds=(MESSAGE,))
            indexed = await self.steady.ports.search.count(owner, IndexName.EPISODES, chosen)
            assert indexed == episode.message_count
        await self.check_forgotten([])
        stored = {word for item in self.world.items() for word in words_of(item_text(item))}
        assert stored == {word for message in self.texts for text in message.values() for word in words_of(text)}
