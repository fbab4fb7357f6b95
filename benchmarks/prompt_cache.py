"""Measure the savings of prompt caches: ``python -m benchmarks.prompt_cache``.

A conversation of 200 turns with recall, tool calls and a handoff is simulated with the product's assembly of prompts.
The input of every model call is charged by the published rules of three providers (``cache_rules``). It is compared
with Baton's earlier history without a window, which drops one turn whenever it is full.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from baton.adapters.agents.agent_files import AgentFiles
from baton.adapters.models.token_counter import TiktokenCounter
from baton.domain.agents.agent import AgentDefinition
from baton_local.root import ROOT, TOKENIZER
from benchmarks.inputs.long_conversation import Player, Turn, make_conversation
from benchmarks.inputs.sliding_history import SlidingPlayer
from benchmarks.instruments.cache_rules import PROVIDERS, Call, PromptCache, count_repeated
from benchmarks.instruments.report import format_table

COUNTED = range(2, 101)
"""The turns to which the goals apply. All 200 are reported too."""
SETTINGS: dict[str, dict[str, Any]] = {
    "before_history": {"retrieved": "before_history"},
    "before_message": {"retrieved": "before_message"},
    "before_message, no summary": {"retrieved": "before_message", "summary": False},
    "before_message, no masking": {"retrieved": "before_message", "whole_tool_results": None},
}


@dataclass(frozen=True, slots=True)
class PromptMeasurement:
    """The measurements of one way to assemble prompts, over some turns."""

    name: str
    tokens: int
    """Input tokens of the agents' calls."""
    repeated_share: float
    """The share of these tokens in prefixes that an earlier call had too."""
    costs: dict[str, float] = field(default_factory=dict)
    """The input cost by provider, in uncached tokens."""
    strides: int = 0
    """The number of turns after which the window of the history began at a later message."""


def measure_calls(name: str, calls: Sequence[Call], turns: range, strides: Sequence[int] = ()) -> PromptMeasurement:
    """Return the costs of calls with each provider. All calls fill the caches, but only ``turns`` are counted."""
    answers = [call for call in calls if call.price == 1.0]
    shares = [share for call, share in zip(answers, count_repeated(answers), strict=True) if call.turn in turns]
    costs = {}
    for rules in PROVIDERS:
        cache = PromptCache(rules)
        charged = [(call, cache.charge(call)[0]) for call in calls]
        costs[rules.name] = sum(price for call, price in charged if call.turn in turns)
    total = sum(tokens for _, tokens in shares)
    return PromptMeasurement(
        name, total, sum(same for same, _ in shares) / total, costs, sum(turn in turns for turn in strides)
    )


def measure(turns: range, played: Sequence[Turn] | None = None) -> list[PromptMeasurement]:
    """Simulate the conversation with the sliding history and then with each setting. Return the measurements."""
    played = played or make_conversation()
    shipped_agents = AgentFiles.load(ROOT / "agents")
    counter = TiktokenCounter(TOKENIZER)
    main, specialist = shipped_agents.get("assistant"), shipped_agents.get("knowledge")
    assert main is not None  # noqa: S101 - they ship
    assert specialist is not None  # noqa: S101
    before = SlidingPlayer(main, specialist, counter)
    before.play(played)
    results = [measure_calls("sliding history", before.calls, turns)]
    for name, memory in SETTINGS.items():
        player = Player(_change_memory(main, memory), _change_memory(specialist, memory), counter)
        player.play(played)
        results.append(measure_calls(name, player.calls, turns, player.strides))
    return results


def _change_memory(agent: AgentDefinition, memory: dict[str, Any]) -> AgentDefinition:
    """Return an agent with some other settings of memory."""
    declared = agent.model_dump()
    return AgentDefinition.model_validate({**declared, "memory": {**declared["memory"], **memory}})


def format_measurements(results: Sequence[PromptMeasurement]) -> str:
    """Return a table with one row per way to assemble prompts."""
    before = results[0]
    rows = []
    for result in results:
        savings = [
            f"{cost / 1_000:,.0f}k ({cost / before.costs[name] - 1:+.0%})" for name, cost in result.costs.items()
        ]
        rows.append((result.name, result.tokens, f"{result.repeated_share:.1%}", *savings, result.strides))
    head = ["prompts", "input tokens", "repeated", *(rules.name for rules in PROVIDERS), "strides"]
    return format_table(head, rows)


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prompt_cache", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead")
    arguments = parser.parse_args()
    parts = {"turns 2 to 100": measure(COUNTED), "turns 1 to 200": measure(range(1, 201))}
    if arguments.json:
        print(json.dumps({name: [result.__dict__ for result in results] for name, results in parts.items()}, indent=2))
        return
    print("Input cost in uncached tokens, and against the sliding history.")
    for name, results in parts.items():
        print(f"\n{name.capitalize()}:\n\n{format_measurements(results)}")


if __name__ == "__main__":
    main()
