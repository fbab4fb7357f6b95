"""Count the units of turns, closings, desks and others for ``measured.yaml``: ``python -m benchmarks.cost.record``.

The program runs the benchmarks that count requests, with the rates of users that deployments have by default, and the
test that counts the frames of an open panel. This takes five minutes.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import yaml

from baton_local.root import ROOT
from benchmarks import closing_cost, desks, due, sweep, turn_cost
from benchmarks.capacity import Request
from benchmarks.cost.measured import FILE, Measured, Panel, Units
from benchmarks.instruments.turn_cost_tables import TurnCost

FULL_TURN = 40
"""A turn at which the history has its greatest length."""
THREADS = 400
"""The threads that a sweep checks. The units of one check do not depend on this number."""
PANEL_HOURS = 3
"""The virtual hours of the test of an open panel."""


async def measure() -> Measured:
    """Run the benchmarks, and return their counts. Raises ``RuntimeError`` if a turn or the client's test fails."""
    turns = await turn_cost.measure([1, 2, FULL_TURN], with_limits=True)
    first, *later = turns.websocket
    at_once, stepwise = await closing_cost.measure(3)
    desk = await desks.measure_units()
    items = {name: Units(writes, reads) for name, (_, writes, _, reads) in (await due.measure_units()).items()}
    check, _ = await sweep.measure(THREADS)
    return Measured(
        date=datetime.now(UTC).date(),
        first_turn=_sum_turn_units(first),
        later_turn=max((_sum_turn_units(cost) for cost in later), key=lambda units: units.read_units),
        first_turn_over_sse=_sum_turn_units(turns.sse[0]),
        frames=max(cost.frames for cost in turns.websocket),  # a slow machine sends more of an answer in one frame
        title=_find_most_expensive(turns.titles),
        summary=_find_most_expensive(turns.summaries),
        closing=_sum_units(at_once.requests),
        closing_model_calls=at_once.model_calls,
        closing_s3_reads=at_once.s3_reads,
        closing_s3_writes=at_once.s3_writes,
        conversation_index_bytes=stepwise.index_bytes,
        idle_check=Units(check.write_units, sum(check.requests.get(name, 0) for name in ("Query", "BatchGetItem"))),
        desk={name: Units(writes, 0) for name, writes in desk.items() if name != "plain turn"},
        due=items,
        panel=_measure_panel(),
    )


def _sum_turn_units(cost: TurnCost) -> Units:
    return Units(cost.write_units, cost.read_units)


def _sum_units(requests: Iterable[Request]) -> Units:
    requests = tuple(requests)
    return Units(sum(request.write_units for request in requests), sum(request.read_units for request in requests))


def _find_most_expensive(occurrences: Iterable[Iterable[Request]]) -> Units:
    """Return the units of the most expensive occurrence."""
    return max((_sum_units(requests) for requests in occurrences), key=lambda units: units.write_units)


def _measure_panel() -> Panel:
    """Count the frames of an open panel at rest with the client's test in virtual time. Return its largest case.

    Raises ``RuntimeError`` if the test fails or does not print its counts.
    """
    command = [str(Path(sys.executable).with_name("node")), "--test", "--test-reporter=tap"]
    command += ["--test-name-pattern=open panel at rest", "client/test/idle.test.ts"]
    test = subprocess.run(command, cwd=ROOT / "clients/web", capture_output=True, text=True)
    pattern = r"(\d+) frames sent, (\d+) received, over (\d+) connections"
    cases = [tuple(map(int, case)) for case in re.findall(pattern, test.stdout)]
    if test.returncode or not cases:
        raise RuntimeError(f"The test of an open panel has failed or counted nothing:\n{test.stdout}{test.stderr}")
    sent, received, connections = max(cases, key=lambda case: case[0] + case[1])
    return Panel(sent / PANEL_HOURS, received / PANEL_HOURS, (connections - 1) / PANEL_HOURS)


def _to_yaml(measured: Measured) -> str:
    values: Mapping[str, object] = measured.model_dump(mode="json")
    return f"# Made by `python -m benchmarks.cost.record`.\n{yaml.safe_dump(values, sort_keys=False)}"


def main() -> None:
    """Measure, and write ``measured.yaml``."""
    FILE.write_text(_to_yaml(asyncio.run(measure())))
    print(f"Wrote {FILE.relative_to(ROOT)}. Now run `python -m benchmarks.cost --write`.")


if __name__ == "__main__":
    main()
