"""Whatever users, clocks, tools, people, deployments and deaths do: each thing that was accepted begins one run.

``BATON_FAULT_CASES`` says how many plays there are: 1,000 of them for 1,500. A failing play names its seed:
``BATON_FAULT_SEED=17`` runs that one alone.
"""

from __future__ import annotations

import asyncio
import os

from baton_testing.virtual_time import VirtualTimeLoop
from tests.faults import counts
from tests.faults.due.play import DuePlay

PLAYS = max(50, counts.scale(18))
STEPS = 24
ONLY = os.environ.get("BATON_FAULT_SEED")


def test_every_play_ends_with_one_run_for_each_thing_that_was_accepted() -> None:
    for seed in [int(ONLY)] if ONLY else range(PLAYS):
        play = DuePlay(seed)
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(play.run(STEPS))
        counts.cases["what begins by itself"] += 1
        counts.messages["what begins by itself"] += len(play.sent) + len(play.events)
        assert not play.violations, f"seed {seed}: " + "\n".join(play.violations)
