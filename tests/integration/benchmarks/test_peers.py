"""The comparison with other projects runs, as far as it is Baton's; the others would have to be installed."""

from __future__ import annotations

import pytest

from benchmarks.peers.__main__ import measure, report
from benchmarks.peers.catalogue import PEERS

pytestmark = pytest.mark.nightly


def test_baton_loses_nothing_in_the_conversation_that_is_compared() -> None:
    [result] = measure(PEERS[:1], turns=25, rounds=1)
    assert not result.problem
    assert result.conversation is not None
    assert result.writers is not None
    assert result.kill is not None
    assert result.repeat is not None
    assert result.conversation.usage.write_units <= 25 * 9
    assert (result.writers.questions, result.writers.answers) == (2, 2)
    assert (result.kill.question, result.kill.answer, result.kill.next_turn) == (True, "whole", "answered")
    assert (result.repeat.questions, result.repeat.answers, result.repeat.model_answers) == (1, 1, 1)
    assert "Baton" in report([result])
