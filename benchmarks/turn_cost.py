"""The cost of a turn in DynamoDB, from a thread's first turn to its thousandth: ``python -m benchmarks.turn_cost``.

Baton's adapters run against DynamoDB Local, with the table of ``template.yaml``. Only the model is scripted, and a fake
WebSocket connection takes every frame.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from baton.domain.tenants.tenant_limits import DeploymentLimits
from benchmarks.capacity import Request
from benchmarks.instruments.metered_baton import MeteredPorts, started
from benchmarks.instruments.metered_conversation import Conversation
from benchmarks.instruments.report import describe_machine
from benchmarks.instruments.turn_cost_tables import (
    ConversationCost,
    TurnCost,
    format_beginning,
    format_conversation,
    format_requests,
    format_turns,
)
from benchmarks.workload import ANSWER, QUESTION, STREAM_SECONDS

TURNS = (1, 10, 100, 1_000)
THREAD_ID = "7d444840-9dc0-41d1-b245-5ffdce74fad2"
SSE_THREAD_ID = "9a1f0f5e-1f0a-4b7e-8a55-0d7b1c9e4f10"


@dataclass(frozen=True, slots=True)
class Results:
    """The costs of all measured turns."""

    websocket: tuple[TurnCost, ...]
    new_hour: TurnCost
    """The cost of the first turn in a new hour, which changes the thread's entry in the listing."""
    sse: tuple[TurnCost, ...]
    summaries: tuple[tuple[Request, ...], ...]
    """The requests of each summary in the conversation over a WebSocket."""
    titles: tuple[tuple[Request, ...], ...]
    """The requests of each title in that conversation."""
    whole: ConversationCost
    """The cost of that conversation up to the last measured turn."""


def limit_everything(ports: MeteredPorts) -> None:
    """Set high limits for everything that turns count."""
    ports.deployment_limits = DeploymentLimits(
        runs_at_once=1_000,
        user_runs_at_once=10,
        messages_per_minute=10_000,
        user_messages_per_minute=1_000,
        tokens_per_day=10**9,
        user_tokens_per_day=10**8,
    )


async def measure(
    turns: Iterable[int],
    silence: float = 0.0,
    *,
    with_limits: bool = False,
    seconds_between: float = 0.0,
    moves: bool = True,
) -> Results:
    """Run the conversation, measure the given turns, and return the results.

    The answers of other turns are streamed for ``seconds_between``. If ``moves``, another worker runs each turn.
    """
    async with started(silence, limit_everything if with_limits else None) as baton:
        conversation = Conversation(baton, THREAD_ID, connected=True, moves=moves)
        websocket: list[TurnCost] = []
        for turn in sorted(turns):
            done = websocket[-1].turn if websocket else 0
            await conversation.go_on(turn - done - 1, seconds=seconds_between)
            websocket.append(await conversation.measure_turn())
        whole = conversation.sum_up()
        baton.clock.ahead = timedelta(hours=1)
        new_hour = await conversation.measure_turn()
        without_connection = Conversation(baton, SSE_THREAD_ID, connected=False, moves=moves)
        first = await without_connection.measure_turn()
        await without_connection.go_on(8)
        return Results(
            tuple(websocket),
            new_hour,
            (first, await without_connection.measure_turn()),
            tuple(conversation.summaries),
            tuple(conversation.titles),
            whole,
        )


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_cost", description=__doc__)
    parser.add_argument("--turns", default=",".join(map(str, TURNS)), help="turns to measure (default: %(default)s)")
    parser.add_argument("--silence", type=float, default=0.0, help="seconds before the first token (default: 0)")
    parser.add_argument("--paced", action="store_true", help="let the turns in between stream as long, for the total")
    parser.add_argument("--one-worker", action="store_true", help="let one worker, which knows the history, run all")
    parser.add_argument("--limits", action="store_true", help="with limits of tenants and users")
    parser.add_argument("--detail", action="store_true", help="also list every request of the measured turns")
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead")
    arguments = parser.parse_args()
    turns = [int(turn) for turn in arguments.turns.split(",")]
    between = STREAM_SECONDS if arguments.paced else 0.0
    results = asyncio.run(
        measure(
            turns,
            arguments.silence,
            with_limits=arguments.limits,
            seconds_between=between,
            moves=not arguments.one_worker,
        )
    )
    if arguments.json:
        print(json.dumps({"machine": describe_machine(), **_as_json(results)}, indent=2))
        return
    print(f"Measured on {describe_machine()}.")
    print(
        f"Plain turn: question {len(QUESTION.encode())} bytes, answer {len(ANSWER.encode())} bytes, "
        f"{arguments.silence:g} s of silence, {STREAM_SECONDS:g} s of streaming.\n"
    )
    print("Over a WebSocket, one connection attached:\n")
    print(format_turns(results.websocket))
    print(f"\nAll of its {results.whole.turns:,} turns, with titles and summaries, by the kind of item:\n")
    print(format_conversation(results.whole))
    print("\nBeside the turns:\n")
    print(format_beginning(results.websocket[0], results.new_hour))
    print(f"\nIts titles ({len(results.titles)}), request by request:\n")
    print(format_requests([request for requests in results.titles for request in requests]))
    if results.summaries:
        print(f"\nThe last of {len(results.summaries)} summaries of what has left the history, request by request:\n")
        print(format_requests(results.summaries[-1]))
    print("\nOver SSE, no connection attached:\n")
    print(format_turns(results.sse))
    if arguments.detail:
        for cost in results.websocket:
            print(f"\nTurn {cost.turn:,} over a WebSocket, request by request:\n")
            print(format_requests(cost.requests))
        print(f"\nTurn {results.sse[-1].turn} over SSE, request by request:\n")
        print(format_requests(results.sse[-1].requests))


def _as_json(results: Results) -> dict[str, Any]:
    return {
        "websocket": [cost.as_json() for cost in results.websocket],
        "whole": results.whole.as_json(),
        "newHour": results.new_hour.as_json(),
        "summaries": [[asdict(request) for request in requests] for requests in results.summaries],
        "titles": [[asdict(request) for request in requests] for requests in results.titles],
        "sse": [cost.as_json() for cost in results.sse],
    }


if __name__ == "__main__":
    main()
