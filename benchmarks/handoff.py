"""The cost of a handoff, in time and in DynamoDB: ``python -m benchmarks.handoff``.

The benchmark runs whole turns through Baton's adapters on DynamoDB Local, with the shipped agents. The models are
scripted and answer without delay. The report shows the time from the decision to the specialist's first token, and the
write units of a turn with a handoff beyond those of a plain turn. Figures are medians unless the table says otherwise.
The kinds of turns alternate. Each turn is the second one of a new conversation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from baton.domain.runs.tool_call import TRANSFER, ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, TextDelta, ToolSpec
from baton.ports.documents.files import ThreadFiles
from baton.threads.requests.parsing import parse_message_request
from baton.turns.turns import Turns
from benchmarks.capacity import Request
from benchmarks.instruments.metered_baton import Baton, started
from benchmarks.instruments.report import describe_machine, format_table

ROUNDS = 20
ANSWER = "Which channel shall the alerts go to, and what shall set them off?"


class Kind(StrEnum):
    """The kinds of turns that are compared. Their messages have nearly the same length."""

    PLAIN = "plain turn"
    BY_MODEL = "handoff, decided by the model"
    BY_TRIGGER = "handoff, by a trigger phrase"


MESSAGES = {
    Kind.PLAIN: "I want to know more about those Slack alerts.",
    Kind.BY_MODEL: "I want to teach you to send Slack alerts now.",
    Kind.BY_TRIGGER: "I want to create a skill that sends messages.",
}


@dataclass
class ScriptedModel:
    """A ``ChatModel`` for all agents: the main agent hands over if ``hands_over``, others ask a question."""

    hands_over: bool = False
    decided_at: float = 0.0
    """The event loop's time at which the last model call before the specialist ended."""

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Stream the answer to one model call without delay."""
        name = next((tool.name for tool in tools if tool.name.startswith(TRANSFER)), None)
        if self.hands_over and name is not None:
            arguments = {"reason": "skill creation", "context_summary": "The user wants a skill for Slack alerts."}
            yield ToolCall("call-1", name, json.dumps(arguments))
            self.decided_at = asyncio.get_running_loop().time()
            yield Finished(FinishReason.TOOL_CALLS, settings.model, Usage(100, 20))
            return
        if not tools:
            yield TextDelta("The user wants a skill for Slack alerts.")
            self.decided_at = asyncio.get_running_loop().time()
        else:
            yield TextDelta(ANSWER)
        yield Finished(FinishReason.STOP, settings.model, Usage(100, 20))


@dataclass(frozen=True, slots=True)
class TurnMeasurement:
    """The measurements of one turn."""

    seconds: float
    """Seconds from the decision to the specialist's first token; 0 for a plain turn."""
    write_units: float
    requests: tuple[Request, ...]


@dataclass
class Bench:
    """Baton with a scripted model, on which turns of every kind are measured."""

    baton: Baton
    turns: Turns
    model: ScriptedModel

    async def run_turn(self, kind: Kind) -> TurnMeasurement:
        """Run a turn of this kind as the second turn of a new conversation, and return its measurements.

        Raises ``RuntimeError`` if the turn fails or is of another kind.
        """
        thread_id = self.baton.clock.new_id()
        # Use a new user, because a user is shown unfinished workflows of earlier conversations.
        scope = Scope("benchmark", f"{thread_id[:8]}@example.com", frozenset({"skill:create"}))
        await self._say(scope, thread_id, "Hello, what can you do for me?", hands_over=False)
        self.baton.meter.take()
        events, first_text = await self._say(scope, thread_id, MESSAGES[kind], hands_over=kind is Kind.BY_MODEL)
        requests = self.baton.meter.take()
        handed_over = any(event.type == "ACTIVITY_SNAPSHOT" for event in events)
        if events[-1].type != "RUN_FINISHED" or handed_over is (kind is Kind.PLAIN):
            raise RuntimeError(f"no {kind.value}: {[event.json() for event in events]}")
        took = first_text - self.model.decided_at if kind is not Kind.PLAIN else 0.0
        return TurnMeasurement(took, sum(request.write_units for request in requests), requests)

    async def _say(self, scope: Scope, thread_id: str, text: str, *, hands_over: bool) -> tuple[list[Event], float]:
        """Run a turn. Return its events, and the event loop's time of its first token (0 without one)."""
        self.model.hands_over = hands_over
        events: list[Event] = []
        first_text = 0.0
        loop = asyncio.get_running_loop()

        def take(event: Event) -> None:
            nonlocal first_text
            events.append(event)
            if event.type == "TEXT_MESSAGE_CONTENT" and not first_text:
                first_text = loop.time()

        request = parse_message_request(scope, thread_id=thread_id, message_id=self.baton.clock.new_id(), content=text)
        await self.turns.run(scope, request, take, seconds=60)
        return events, first_text


async def measure(rounds: int) -> tuple[str, str]:
    """Return the table of the report, and the tables of writes of one turn of each kind."""
    async with started() as baton:
        model = ScriptedModel()
        bench = Bench(baton, baton.make_turns(model), model)
        for kind in Kind:
            await bench.run_turn(kind)
        took: dict[Kind, list[TurnMeasurement]] = {kind: [] for kind in Kind}
        for _ in range(rounds):
            for kind, turns in took.items():
                turns.append(await bench.run_turn(kind))
    plain = statistics.median(turn.write_units for turn in took[Kind.PLAIN])
    rows: list[tuple[object, ...]] = []
    for kind, turns in took.items():
        seconds = [turn.seconds * 1000 for turn in turns]
        units = statistics.median(turn.write_units for turn in turns)
        times = (f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}") if kind is not Kind.PLAIN else ("", "")
        rows.append((kind.value, *times, units, units - plain))
    head = ["", "ms to the first token", "at most", "write units", "beyond a plain turn"]
    return format_table(head, rows), "\n\n".join(_format_detail(kind, turns[-1]) for kind, turns in took.items())


def _format_detail(kind: Kind, took: TurnMeasurement) -> str:
    rows = [
        (f"{request.operation} {request.target}", request.write_units, request.item_bytes or "")
        for request in took.requests
        if request.write_units
    ]
    return f"{kind.value}:\n\n" + format_table(["request", "write units", "item bytes"], rows)


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.handoff", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each kind (default: %(default)s)")
    parser.add_argument("--detail", action="store_true", help="also list the writes of one turn of each kind")
    arguments = parser.parse_args()
    before = os.getloadavg()[0]
    report, detail = asyncio.run(measure(arguments.rounds))
    print(f"Measured on {describe_machine()}; load average before it {before:.1f}.")
    print("Milliseconds are Baton's own, from the decision on: all models answer at once.\n")
    print(report)
    if arguments.detail:
        print(f"\n{detail}")


if __name__ == "__main__":
    main()
