"""The cost of consulting other agents: ``python -m benchmarks.orchestrate``.

The benchmark runs whole turns through Baton's adapters on DynamoDB Local, with a scripted model. It answers two
questions: does a turn that consults two agents of a second each take one second or two, and how much time does Baton
itself add per consulted agent? Every figure is a median. The kinds of turns alternate, so that a busy machine slows all
of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from baton.domain.agent import AgentDefinition
from baton.domain.events import Event
from baton.domain.identity import Scope
from baton.domain.message import Role
from baton.domain.tool_call import ASK, ToolCall
from baton.domain.usage import Usage
from baton.ports.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, TextDelta, ToolSpec
from baton.ports.files import ThreadFiles
from baton.requests.parsing import message_request
from baton.turns.turns import Turns
from benchmarks.report import machine, table
from benchmarks.turn_cost import Baton, started

SCOPE = Scope("benchmark", "ada@example.com")
ROUNDS = 20
SLOW_ROUNDS = 3
SLOW_SECONDS = 1.0
MAX_AGENTS = 4


@dataclass
class Orchestra:
    """A ``ChatModel`` for all agents.

    The main one consults the first ``asked`` agents at once, then answers.

    The consulted agents answer after ``seconds``.
    """

    asked: int = 0
    seconds: float = 0.0
    """Seconds that a consulted agent waits before it answers."""

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Stream the answer to one model call. Only consulted agents wait before it."""
        names = [tool.name for tool in tools if tool.name.startswith(ASK)][: self.asked]
        if names and prompts[-1].role is Role.USER:
            for number, name in enumerate(names):
                yield ToolCall(f"call-{number}", name, json.dumps({"message": "What do you know about it?"}))
            yield Finished(FinishReason.TOOL_CALLS, settings.model, Usage(100, 20))
            return
        if not tools:
            await asyncio.sleep(self.seconds)
        yield TextDelta("This is what I know about it.")
        yield Finished(FinishReason.STOP, settings.model, Usage(100, 20))


def agents() -> list[AgentDefinition]:
    """Return a main agent and the agents that it may consult."""
    others = [
        AgentDefinition(id=f"expert-{number}", name=f"Expert {number}", description="Knows.", system_prompt="Answer.")
        for number in range(1, MAX_AGENTS + 1)
    ]
    main = AgentDefinition(
        id="assistant",
        name="Assistant",
        description="Asks.",
        system_prompt="Ask, then answer.",
        main=True,
        sub_agents=tuple(other.id for other in others),
    )
    return [main, *others]


@dataclass
class Bench:
    """A bench for the turns of one conversation with its model."""

    baton: Baton
    turns: Turns
    model: Orchestra
    thread_id: str

    async def turn(self, asked: int, seconds: float = 0.0) -> Took:
        """Run a turn that consults ``asked`` agents, each of which waits for ``seconds``. Return its times."""
        self.model.asked, self.model.seconds = asked, seconds
        message_id = self.baton.clock.new_id()
        request = message_request(SCOPE, thread_id=self.thread_id, message_id=message_id, content="Well?")
        events: list[Event] = []
        times: dict[str, float] = {}
        loop = asyncio.get_running_loop()

        def take(event: Event) -> None:
            events.append(event)
            times.setdefault(event.type, loop.time())

        began = loop.time()
        await self.turns.run(SCOPE, request, take, seconds=60)
        whole = loop.time() - began
        consulted = sum(event.type == "SUBAGENT_FINISHED" for event in events)
        if events[-1].type != "RUN_FINISHED" or consulted != asked:
            raise RuntimeError(f"consulted {consulted} of {asked}: {events[-1].json()}")
        called = times.get("TOOL_CALL_START", times["STATE_SNAPSHOT"])
        return Took(times["TEXT_MESSAGE_START"] - called, whole)


@dataclass(frozen=True, slots=True)
class Took:
    """The times of one turn in seconds."""

    until_answer: float
    """From the model's first tool call (without calls, from STATE_SNAPSHOT) to the start of the answer."""
    whole: float


async def measure(rounds: int, slow_rounds: int) -> str:
    """Measure and return the report."""
    async with started() as baton:
        model = Orchestra()
        bench = Bench(baton, baton.turns_with(model, *agents()), model, baton.clock.new_id())
        for asked in (0, MAX_AGENTS, 0):
            await bench.turn(asked)
        took: dict[int, list[Took]] = {0: [], 1: [], 2: [], MAX_AGENTS: []}
        for _ in range(rounds):
            for asked, turns in took.items():
                turns.append(await bench.turn(asked))
        slow = [await bench.turn(2, SLOW_SECONDS) for _ in range(slow_rounds)]
    base = statistics.median(turn.until_answer for turn in took[0])
    plain = statistics.median(turn.whole for turn in took[0])
    rows: list[tuple[object, ...]] = []
    for asked, turns in took.items():
        waited = statistics.median(turn.until_answer for turn in turns) - base
        whole = statistics.median(turn.whole for turn in turns)
        rows.append(
            (str(asked), f"{waited * 1000:.1f}", f"{waited * 1000 / max(1, asked):.1f}", f"{whole / plain:.2f}")
        )
    waiting = statistics.median(turn.until_answer for turn in slow)
    head = ["agents at once", "ms until the answer", "ms an agent", "whole turn, ratio to none"]
    return "\n\n".join(
        (
            table(head, rows),
            f"Two agents of a second each: the answer begins after {waiting / SLOW_SECONDS:.2f} times one's second.",
        )
    )


def main() -> int:
    """Measure, print the report, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.orchestrate", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each kind (default: %(default)s)")
    arguments = parser.parse_args()
    before = os.getloadavg()[0]
    report = asyncio.run(measure(arguments.rounds, SLOW_ROUNDS))
    print(f"Measured on {machine()}; load average before it {before:.1f}.")
    print("Milliseconds are Baton's own: the consulted agents' models answer at once.\n")
    print(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
