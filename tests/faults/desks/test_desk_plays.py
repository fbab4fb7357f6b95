"""At a desk no model speaks, nothing is lost and nothing is there twice, whatever people, timers and deaths do.

``BATON_FAULT_CASES`` says how many plays there are: 10,000 of them for 1,500. A failing play names its seed:
``BATON_FAULT_SEED=17`` runs that one alone.
"""

from __future__ import annotations

import asyncio
import os

from baton_testing.virtual_time import VirtualTimeLoop
from tests.faults import counts
from tests.faults.desks.play import Play

PLAYS = counts.scale(90)
STEPS = 16
ONLY = os.environ.get("BATON_FAULT_SEED")


def test_every_play_ends_with_a_conversation_that_agrees_with_what_was_sent() -> None:
    for seed in [int(ONLY)] if ONLY else range(PLAYS):
        play = Play(seed)
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(play.run(STEPS))
        counts.cases["at a desk"] += 1
        counts.messages["at a desk"] += len(play.sent) + len(play.replies)
        assert not play.violations, f"seed {seed}: " + "\n".join(play.violations)
