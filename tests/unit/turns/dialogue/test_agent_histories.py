"""The history of an agent is read once in a run, however often it is asked for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from baton.domain.handoffs.handoff import ContextMode, HandoffRequest
from baton.memory.prompt.history_reading import ReadHistory
from baton.turns.dialogue import agent_histories
from baton.turns.dialogue.agent_histories import AgentHistories
from baton_testing.fakes.agents.shipped_agents import agent
from baton_testing.fakes.clock import NOON
from tests.fakes.token_counter import WordCounter

OPENING = SimpleNamespace(ordinal=4, tokens=10)


def handoff(mode: ContextMode, *, ordinal: int = 2) -> HandoffRequest:
    return HandoffRequest(
        thread_id="t-1",
        tenant_id="acme",
        user_id="ada",
        ordinal=ordinal,
        source_agent_id="assistant",
        target_agent_id="maker",
        context_mode=mode,
        context_summary="",
        recent_messages=(),
        handoff_reason="",
        started_at=NOON,
    )


class Run:
    """A run in a thread where a specialist was active before, and the reads that it makes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads = 0

        async def read(*_: Any, **__: Any) -> ReadHistory:
            self.reads += 1
            return ReadHistory(summary=str(self.reads))

        monkeypatch.setattr(agent_histories, "read_history", read)
        self.tracker = SimpleNamespace()
        services: Any = SimpleNamespace(store=None, forks=SimpleNamespace(read_fork=read))
        thread = SimpleNamespace(windows=(), conversation=SimpleNamespace(handoff=handoff(ContextMode.FULL)))
        attempt: Any = SimpleNamespace(
            facts=SimpleNamespace(thread=thread, question=OPENING, unfinished=()),
            scope=None,
            services=SimpleNamespace(counter=WordCounter()),
            tracker=self.tracker,
            history=ReadHistory(),
        )
        self.histories = AgentHistories(attempt, services)

    def set_speaker(self, agent_id: str, request: HandoffRequest | None) -> None:
        self.tracker.current = SimpleNamespace(
            agent=agent(agent_id),
            handoff=request,
            was_handed_over_by=lambda opening: request is not None and request.ordinal == opening.ordinal,
        )


@pytest.mark.parametrize(
    "request_of_agent",
    [None, handoff(ContextMode.FORKED), handoff(ContextMode.FULL, ordinal=OPENING.ordinal)],
    ids=["the main agent again", "a fork", "handed over in this run"],
)
async def test_a_history_is_read_once(request_of_agent: HandoffRequest | None, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch)
    for _ in range(3):
        run.set_speaker("maker", request_of_agent)
        assert (await run.histories.read()).summary == "1"
    assert run.reads == 1


async def test_another_agent_and_another_handoff_have_another_history(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch)
    fork = handoff(ContextMode.FORKED)
    for agent_id, request in (("maker", fork), ("maker", replace(fork, ordinal=3)), ("assistant", None)):
        run.set_speaker(agent_id, request)
        await run.histories.read()
    assert run.reads == 3
