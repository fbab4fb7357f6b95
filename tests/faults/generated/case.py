"""One generated case: a conversation on the real adapters, in virtual time, with the faults of its plan."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from baton.domain.errors import BatonError
from baton.domain.memory.episode import EpisodeRef, EpisodeStatus
from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import RecordDelivery
from baton.memory.episodes.session_closing import ClosingStep
from baton_local.functions import running
from tests.faults.generated.actors import Actor, CaseClock, Killed, acting, current
from tests.faults.generated.clients import HttpClient, SocketClient, post_repeatedly
from tests.faults.generated.engines import Engines
from tests.faults.generated.in_memory import Port
from tests.faults.generated.invariants import violations_of
from tests.faults.generated.monitor import Monitor
from tests.faults.generated.plan import FAULTY_SECONDS, Plan
from tests.faults.generated.product import Product
from tests.faults.generated.queue import Queue
from tests.faults.generated.scripted_http_model import ModelEndpoint
from tests.virtual_time import DeterministicLoop

FUNCTIONS = {
    "worker": "TurnsFunction",
    "sockets": "SocketsFunction",
    "http": "StreamsFunction",
    "sweeper": "DeadTurnsFunction",  # which finishes what nobody takes over
    "closer": "ClosingFunction",
}
"""Actor -> the function that does this in an account, and by whose role it is done here."""

END_SECONDS = 4000.0
"""Virtual seconds within which a case must have come right: the queue's own visibility timeout, a few times."""


@dataclass
class Outcome:
    """The result of a case."""

    plan: Plan
    violations: list[str]
    counts: Counter[str]
    """Faults that really happened."""
    turns: int = 0
    virtual_seconds: float = 0.0


def run_case(engines: Engines, plan: Plan) -> Outcome:
    """Run one case to its end, and check what came of it."""
    loop = DeterministicLoop()
    random.seed(plan.seed)  # the product's pauses between retries
    try:
        return loop.run_until_complete(Case(engines, plan, loop).run())
    except Exception as error:
        error.add_note(f"in the case of kind {plan.kind!r} with seed {plan.seed}")
        raise
    finally:
        engines.case = None
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


class Closings:
    """``ports.memory.episodes.Closings`` that runs each pipeline once, beside everything else."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.started: dict[tuple[str, int], EpisodeRef] = {}
        self.pipelines: dict[tuple[str, int], asyncio.Task[None]] = {}
        """By episode id and attempt."""

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        """See the port."""
        if (ref.id, attempt) not in self.started:
            self.started[ref.id, attempt] = ref
            with acting(None):  # it outlives anybody who starts it
                self.pipelines[ref.id, attempt] = self._case.begin(self._case.make_episode(scope, ref))


class Case:
    """A thread, the clients who write to it, the workers and what happens to them."""

    def __init__(self, engines: Engines, plan: Plan, loop: DeterministicLoop) -> None:
        self.engines, self.plan, self.loop = engines, plan, loop
        self.counts: Counter[str] = Counter()
        engines.wire.counts = self.counts
        engines.wire.choose = lambda service, operation: plan.fault(service, loop.time())
        engines.case = self
        loop.latency = self._latency
        loop.set_exception_handler(self._unexpected)
        self.clock = CaseClock(loop, plan.random)
        self.thread_id = str(uuid.uuid4())
        self.scope = Scope(f"case-{self.thread_id}", "ada")
        self.queue = Queue(loop)
        self.violations: list[str] = []
        self.socket_clients: dict[str, SocketClient] = {}
        self.questions: dict[str, str] = {}
        """Every message that somebody sent, and its content."""
        self.contested: dict[str, str] = {}
        """Other contents that were sent under the id of one of these messages. The first one counts."""
        self.monitor = Monitor()
        self.closings = Closings(self)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def run(self) -> Outcome:
        plan = self.plan
        endpoint = ModelEndpoint(plan.random, plan.model_failing, plan.model_pause, counts=self.counts)
        self.product = Product(self, endpoint.chat_model())
        for _ in range(plan.workers):
            self.begin(self._work())
        socket_clients = [SocketClient(self, f"socket-{n}") for n in range(plan.sockets + plan.watchers)]
        http_clients = [HttpClient(self, f"http-{n}") for n in range(plan.callers)]
        disturbances = [self.begin(self._disturb(socket_clients))]
        talk = [self.begin(client.talk(plan.messages)) for client in (*socket_clients[: plan.sockets], *http_clients)]
        for watcher in socket_clients[plan.sockets :]:
            self.begin(watcher.look_on())
        try:
            async with asyncio.timeout(END_SECONDS):
                await asyncio.gather(*talk, *disturbances)
                await self._settle()
                await self._check_episodes()
                for client in (*socket_clients, *http_clients):
                    await client.catch_up()
        except TimeoutError:
            self.violations.append(f"not over after {END_SECONDS} s; {self._state(socket_clients, http_clients)}")
        else:
            self.violations += await violations_of(self, [*socket_clients, *http_clients])
        if not plan.has_odd_clocks:
            self.violations += self.monitor.violations
        self._closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        return Outcome(plan, self.violations, self.counts, len(self.questions), self.loop.time())

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do something beside everything else."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def act(self, name: str, work: Coroutine[Any, Any, Any]) -> Any:
        """Have a new actor do ``work``; raises ``Killed`` if it is killed at it, and what the work raises."""
        actor = self.plan.actor(name, now=self.loop.time())
        with acting(actor), running(FUNCTIONS[name]):
            task = self.begin(work)
        try:
            while not task.done():
                await asyncio.wait([task], timeout=1.0)
                if actor.dead:
                    task.cancel()
                    break
            if actor.dead:
                await asyncio.wait([task])
                raise Killed(name)
            return task.result()
        finally:
            task.cancel()

    def post(self, connection_id: str, frame: bytes) -> bool:
        """API Gateway's @connections: the frame is received by its client at once; False if that has gone."""
        socket_client = self.socket_clients.get(connection_id)
        if socket_client is not None:
            self.monitor.check_frame(connection_id, frame)
            socket_client.receive(frame.decode())
        return socket_client is not None

    def searching(self, port: Any, service: str, refusal: type[BatonError]) -> Port:
        """The search of turns and closings: it may fail, and be too slow for a turn."""

        def pause() -> float:
            slow = self.plan.slow_search and self.loop.time() < FAULTY_SECONDS
            return self.plan.random.choice([0.0, 0.5, 2.0]) if slow else 0.0

        return Port(port, self.engines.wire, service=service, refusal=refusal, pause=pause)

    async def make_episode(self, scope: Scope, ref: EpisodeRef) -> None:
        """Do as the state machine does after the end of a session, which repeats what fails."""
        for step in ClosingStep:
            while True:
                try:
                    closing = self.product.session_closing.run(step, scope, ref.thread_id, ref.number)
                    await self.act("closer", closing)
                except (Killed, BatonError):
                    await asyncio.sleep(2.0)
                else:
                    break

    async def deliver(self, body: str, handle: str, delivery: RecordDelivery) -> bool:
        """Give a record to a worker; whether it was handled."""
        try:
            await self.act("worker", self.product.queued.run(body, handle, delivery, seconds=870))
        except (Killed, BatonError):
            return False
        return True

    async def _work(self) -> None:
        """A poller: what it handled it deletes; what a killed worker was at comes again."""
        while not self._closing:
            record = await self.queue.next()
            handle, delivery = record.handle, RecordDelivery(record.id, record.receives)
            await asyncio.sleep(self.plan.random.uniform(0.0, 0.2))
            if delivery.receives > 50:
                with running("DeadTurnsFunction"):
                    await self.product.dead.give_up(record.body)
                self.queue.delete(handle)
            elif await self.deliver(record.body, handle, delivery):
                self.queue.delete(handle)

    async def _disturb(self, socket_clients: list[SocketClient]) -> None:
        """Clock jumps, deliveries out of turn, contradictions, cancels and closings, at moments of chance."""
        plan, chance = self.plan, self.plan.random
        kinds = ["jump"] * plan.jumps + ["duplicate"] * plan.duplicates
        kinds += ["cancel"] * plan.cancels + ["close"] * plan.closes
        kinds += ["reorder"] * plan.reorderings + ["conflict"] * plan.conflicts
        contradictions: list[asyncio.Task[None]] = []
        for kind in chance.sample(kinds, len(kinds)):
            await asyncio.sleep(chance.choice([0.1, 1.0, 10.0]) * chance.random())
            self.counts[kind] += kind != "reorder" or self.queue.reorder(chance)
            match kind:
                case "jump":
                    self.clock.jump += chance.choice([-40.0, -5.0, 5.0, 31.0, 60.0, 25 * 3600.0])
                case "duplicate" if self.queue.sent:
                    bodies = chance.choices(self.queue.sent, k=2)
                    for number, body in enumerate(bodies):
                        handle = f"duplicate-{number}"
                        self.begin(self.deliver(body, handle, RecordDelivery(handle, 1)))
                    self.queue.put(bodies[0], f"{self.scope.tenant_id}#{self.thread_id}", self.clock.new_id())
                case "cancel" | "close":
                    chance.choice(socket_clients).send({"action": kind, "threadId": self.thread_id})
                case "conflict" if self.questions:
                    contradictions.append(
                        self.begin(self._contradict(chance.choice(sorted(self.questions)), socket_clients))
                    )
        await asyncio.gather(*contradictions)

    async def _contradict(self, message_id: str, socket_clients: list[SocketClient]) -> None:
        """Send another text under an existing message id."""
        content = self.contested[message_id] = f"{message_id} says something else"
        if self.plan.random.random() < 0.5:
            await post_repeatedly(self, message_id, content, lambda event: None)
        else:
            self.plan.random.choice(socket_clients).send_message(message_id, content)

    async def _settle(self) -> None:
        """Without further faults, wait for an empty queue, and sweep the runs that no worker takes over."""
        await asyncio.sleep(max(0.0, FAULTY_SECONDS - self.loop.time()))
        store, turns = self.product.store, self.product.turns
        while True:
            await asyncio.sleep(1)
            if self.queue.records:
                continue
            try:
                thread = await store.get_thread(self.scope, self.thread_id)
                if thread.run is None:
                    return
                await self.act("sweeper", turns.finish_interrupted(self.scope, self.thread_id))
            except BatonError as error:
                self.violations.append(f"after the faults were over: {error!r}")

    async def _check_episodes(self) -> None:
        """Wait for the episodes that were begun. They are whole, and as long as their sessions."""
        await asyncio.gather(*self.closings.pipelines.values())
        for ref in self.closings.started.values():
            episode = await self.product.episodes.get(self.scope, ref.thread_id, ref.number)
            self.counts["episode"] += 1
            if episode is None or episode.status is not EpisodeStatus.COMPLETE or episode.missing:
                self.violations.append(f"episode {ref.number} did not come right: {episode}")
            elif episode.message_count != ref.end_ordinal - ref.first_ordinal:
                self.violations.append(f"episode {ref.number} has {episode.message_count} messages: {ref}")

    def _latency(self) -> tuple[float, float]:
        actor, chance = current(), self.plan.random
        before, after = chance.uniform(0.001, 0.02), chance.uniform(0.0, 0.01)
        if actor is None:
            return before, after
        return before + self._frozen(actor), after

    def _frozen(self, actor: Actor) -> float:
        if actor.freezes():
            actor.frozen_until = self.loop.time() + actor.freeze_seconds
            self.counts["freeze"] += 1
        return max(0.0, actor.frozen_until - self.loop.time())

    def _unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, Killed | BatonError):
            self.violations.append(f"unexpected: {context.get('message')} {error!r}")

    def _state(self, socket_clients: list[SocketClient], http_clients: list[HttpClient]) -> str:
        waiting = [
            (p.name, sorted(p.waiting_for), p.screen.last) for p in (*socket_clients, *http_clients) if p.waiting_for
        ]
        return json.dumps({"waiting": waiting, "queue": [record.body for record in self.queue.records]})
