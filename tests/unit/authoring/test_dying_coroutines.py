"""Agents with ``run`` whose workers die at any write: the answer is the same, and nothing recorded is done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton import Agent, CallContext, RunContext, tool
from baton.domain.errors import StoreUnavailable
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, TextDelta
from tests.fakes.chat_model import ModelRequest, ScriptedChatModel
from tests.harness.coded import make_coded_harness
from tests.harness.harness import Harness, Turn
from tests.harness.wiki import answer, yes

Step = tuple[Any, ...]
"""The kind of a step, and its branches if it is a ``gather``."""

WRITES = {
    "records": ("put_call", "put_step", "put_task"),
    "store": ("put_message", "commit"),
    "background_tasks": ("add",),
}
leaves = st.sampled_from([(kind,) for kind in ("say", "model", "ask", "nested", "pay", "refund", "answer")])
programs = st.lists(
    st.one_of(
        leaves,
        st.tuples(
            st.just("gather"),
            st.lists(st.lists(leaves.filter(lambda step: step[0] != "answer"), min_size=1, max_size=2), max_size=3),
        ),
    ),
    min_size=1,
    max_size=4,
)
EVERYTHING: list[Step] = [
    ("say",),
    ("ask",),
    ("begin",),
    ("gather", [[("pay",), ("model",)], [("ask",), ("begin",), ("pay",)], [("refund",)]]),
    ("model",),
    ("nested",),
    ("refund",),
    ("answer",),
]


class Echo(ScriptedChatModel):
    """A model whose answer depends on the last prompt alone, in whatever order the requests come."""

    async def stream(
        self, settings: ModelSettings, prompts: Sequence[Prompt], **others: Any
    ) -> AsyncGenerator[ModelChunk, None]:
        self.requests.append(ModelRequest(settings, tuple(prompts)))
        await asyncio.sleep(0)
        yield TextDelta(f"[{prompts[-1].content}]")
        yield Finished(FinishReason.STOP, settings.model, None)


@dataclass
class Worker:
    """Conversations whose worker dies at a write: before it or after it."""

    program: Sequence[Step]
    dies_at: int | None = None
    dies_after: bool = False
    writes: int = 0
    is_dead: bool = False
    tool_calls: Counter[str] = field(default_factory=Counter)
    """Calls of tools by their idempotency keys."""
    recorded: set[str] = field(default_factory=set)
    """Ids of calls, and instructions of model calls, that were recorded when the worker died."""

    def __post_init__(self) -> None:
        self.harness = self._make()
        self._records = self.harness.records
        for port, names in WRITES.items():
            for name in names:
                self._wrap(getattr(self.harness, port), name)

    async def converse(self) -> list[str]:
        """Hold the conversation to its end, and return the texts that the user sees."""
        turn, texts = await self._insist("say"), []
        while True:
            assert turn.finished is not None
            texts += [
                message.text for message in turn.finished.messages if message.role.value == "assistant" and message.text
            ]
            outcome = turn.last["outcome"]
            if outcome["type"] != "interrupt":
                return texts
            turn = await self._insist("answer", *[yes(interrupt) for interrupt in outcome["interrupts"]])

    async def _insist(self, action: str, *answers: Any) -> Turn:
        """Act again after the worker has died."""

        async def act() -> Turn:
            return await (self.harness.say() if action == "say" else answer(self.harness, *answers))

        try:
            return await act()
        except StoreUnavailable:
            self.is_dead = False
            self.harness.clock.advance(60)
            return await act()

    def _wrap(self, port: Any, name: str) -> None:
        original = getattr(port, name)

        async def write(*args: Any, **kwargs: Any) -> Any:
            if self.is_dead:
                raise StoreUnavailable
            number, self.writes = self.writes, self.writes + 1
            if number != self.dies_at:
                return await original(*args, **kwargs)
            if self.dies_after:
                await original(*args, **kwargs)
            self._die()
            raise StoreUnavailable

        setattr(port, name, write)

    def _die(self) -> None:
        self.is_dead = True
        key = (self.harness.ada.tenant_id, self.harness.thread_id)
        self.recorded |= {call.id for _, call in self._records._calls[key].values()}
        self.recorded |= {step.value for _, step in self._records._steps[key].values()}

    def _make(self) -> Harness:
        @tool
        async def pay(number: int, context: CallContext) -> int:
            """Pay."""
            self.tool_calls[context.idempotency_key] += 1
            await asyncio.sleep(0)
            return number

        @tool(approval="always")
        async def refund(number: int, context: CallContext) -> int:
            """Refund."""
            self.tool_calls[context.idempotency_key] += 1
            return -number

        faq = Agent("faq", "Answer.", description="Knows.")
        helper = Agent("helper", "Help.", description="Helps.", tools=[pay], sub_agents=[faq])
        limits = {"model_calls": 50, "tool_calls": 50}
        request = {"sub_agents": [faq, helper], "background_agents": [faq]}
        agent = Agent("assistant", "Sell.", main=True, tools=[pay, refund], limits=limits, **request)

        async def take(context: RunContext, steps: Sequence[Step], path: str) -> list[Any]:
            results: list[Any] = []
            for number, (kind, *branches) in enumerate(steps):
                name = f"{path}.{number}"
                match kind:
                    case "say":
                        results.append(await context.say(f"Said {name}."))
                    case "model":
                        results.append(await context.model(f"model {name}"))
                    case "ask":
                        results.append(await context.ask(faq, f"ask {name}"))
                    case "begin":
                        results.append(await context.begin(faq, f"begin {name}"))
                    case "nested":
                        results.append(await context.ask(helper, f"nested {name}"))
                    case "pay":
                        results.append(await context.call(pay, number=number))
                    case "refund":
                        results.append(await context.call(refund, number=number))
                    case "answer":
                        results.append(await context.answer(f"answer {name}"))
                    case "gather":
                        branched = [take(context, branch, f"{name}.{at}") for at, branch in enumerate(branches[0])]
                        results.append(await context.gather(*branched))
            return results

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            results = await take(context, self.program, "p")
            return f"{results} {context.uuid()} {context.random.random()}"

        @helper.run
        async def help_out(context: RunContext, message: str) -> str:
            request, paid = await context.gather(context.ask(faq, f"below {message}"), context.call(pay, number=0))
            return f"{request} {paid} {await context.model(f'model {message}')}"

        return make_coded_harness(agent, faq, helper, model=Echo())

    @property
    def begun_tasks(self) -> Counter[str]:
        """The messages to forks in which agents work in the background."""
        return Counter(queued.thread_id for _, queued in self.harness.queue.sent)

    @property
    def model_requests(self) -> Counter[str]:
        """The questions to the model."""
        return Counter(f"[{question.prompts[-1].content}]" for question in self.harness.model.requests)


async def check(alive: Worker, expected: list[str], dies_at: int, *, dies_after: bool) -> None:
    mortal = Worker(alive.program, dies_at, dies_after)
    mortal.harness.thread_id = alive.harness.thread_id
    seen = await mortal.converse()
    # Branches that work at the same time may show their texts in another order.
    assert (sorted(seen), seen[-1]) == (sorted(expected), expected[-1])
    assert mortal.tool_calls.keys() == alive.tool_calls.keys()
    assert mortal.model_requests.keys() == alive.model_requests.keys()
    assert mortal.begun_tasks == alive.begun_tasks
    for key, times in (mortal.tool_calls + mortal.model_requests).items():
        assert times == 1 or (times == 2 and key not in mortal.recorded), key


@pytest.mark.parametrize("dies_after", [pytest.param(False, marks=pytest.mark.nightly), True])
async def test_a_worker_may_die_at_every_write_of_a_coroutine(dies_after: bool) -> None:
    alive = Worker(EVERYTHING)
    expected = await alive.converse()
    assert alive.writes > 30
    for number in range(alive.writes):
        await check(alive, expected, number, dies_after=dies_after)


@given(programs, st.data())
async def test_whatever_a_coroutine_does_nothing_that_was_recorded_is_repeated(
    program: list[Step], data: st.DataObject
) -> None:
    alive = Worker(program)
    expected = await alive.converse()
    number = data.draw(st.integers(0, alive.writes - 1))
    await check(alive, expected, number, dies_after=data.draw(st.booleans()))


async def test_a_long_result_reads_the_same_after_a_worker_has_died() -> None:
    async def converse(*, dies: bool) -> list[str]:
        @tool
        async def read() -> str:
            """Read."""
            return "x" * 30_000

        agent = Agent("assistant", "Read.", main=True, tools=[read])

        @agent.run
        async def run(context: RunContext, message: str) -> str:
            await context.call(read)
            return "Done."

        harness = make_coded_harness(agent)
        put_message = harness.store.put_message

        async def die_at_result(lease: Any, message: Any) -> None:
            if message.is_tool_result:
                raise StoreUnavailable
            await put_message(lease, message)

        if dies:
            harness.store.put_message = die_at_result  # type: ignore[method-assign]
            with pytest.raises(StoreUnavailable):
                await harness.say()
            harness.store.put_message = put_message  # type: ignore[method-assign]
            harness.clock.advance(60)
        turn = await harness.say()
        assert turn.finished is not None
        return [message.text for message in turn.finished.messages if message.is_tool_result]

    assert await converse(dies=True) == await converse(dies=False)
