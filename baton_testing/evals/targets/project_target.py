"""The agents of a project, in this process, over ports in memory and with a real or a scripted model."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from baton.adapters.agents.agent_files import AgentFiles
from baton.domain.runs.usage import NO_PRICES, Prices
from baton.ports.agents.chat_model import TokenCounter
from baton_testing.actions import Action
from baton_testing.conversation import DrivenConversation
from baton_testing.conversation_ports import ConversationPorts, ModelNames
from baton_testing.conversation_test import ConversationFile
from baton_testing.evals.answer import Answer, Source, read_retrieved, read_source, with_files
from baton_testing.evals.reading import ReadCase
from baton_testing.evals.targets.knowledge import ProjectKnowledge
from baton_testing.models.choice import TestModel
from baton_testing.models.own_time import OwnTime
from baton_testing.observation import Observation, combine
from baton_testing.virtual_time import LoopClock

SCRIPTED_DATE = ConversationFile.model_fields["begins_at"].default
"""The time at which conversations with a scripted model begin, so that every run is the same."""


@dataclass(frozen=True)
class ProjectTarget:
    """The agents of a project as a target. Conversations with them need a loop of virtual time."""

    agents: AgentFiles
    counter: TokenCounter
    model: Callable[[OwnTime], TestModel]
    """Returns the model of one conversation."""
    names: ModelNames
    is_scripted: bool
    reach: tuple[str, ...] = ()
    prices: Prices = NO_PRICES
    knowledge: ProjectKnowledge = field(default_factory=ProjectKnowledge)

    async def hold(self, case: ReadCase, attempt: int) -> Answer:
        """See ``Target``."""
        request = case.case
        own_time = OwnTime()
        model = self.model(own_time)
        begins_at = request.begins_at or (SCRIPTED_DATE if self.is_scripted else datetime.now(UTC))
        ports = ConversationPorts(
            clock=LoopClock(begins_at, f"{request.name}#{attempt}"),
            agents=self.agents,
            model=model,
            names=self.names,
            counter=self.counter,
            stubs=request.tools,
            reach=(*self.reach, *request.reach),
            logs_messages=False,
        )
        self.knowledge.give(ports)
        conversation = DrivenConversation(
            ports,
            request.user,
            own_time,
            name=hashlib.sha256(request.name.encode("utf-8", "replace")).hexdigest(),
            agent=request.agent,
            folder=case.path.parent,
        )
        began, seen = time.monotonic(), list[Observation]()
        try:
            for turn in request.input:
                seen.append(await conversation.take(turn))
                if seen[-1].error is not None or seen[-1].problems:
                    break
        finally:
            await ports.functions.aclose()
        seconds = time.monotonic() - began
        last = combine(seen[_find_last_turn(request.input[: len(seen)]) :])
        retrieved = _list_retrieved(ports, last)
        answer = _make_answer(seen, last, model.problems, retrieved, self.knowledge.files)
        used = ports.model
        return replace(
            answer, tokens=used.tokens, usd=used.compute_cost(self.prices), seconds=seconds, notes=ports.notes
        )


def _list_retrieved(ports: ConversationPorts, last: Observation) -> tuple[Source, ...]:
    records = [record for (_, _, run_id), record in ports.context_records.records.items() if run_id in last.runs]
    return tuple(source for record in records for source in read_retrieved(record.body))


def _find_last_turn(actions: Sequence[Action]) -> int:
    """Return the index of the last action that is neither of a person at a desk nor a wait."""
    others = ("person", "wait")
    return max(index for index, action in enumerate(actions) if all(getattr(action, name) is None for name in others))


def _make_answer(
    seen: Sequence[Observation],
    last: Observation,
    problems: Sequence[str],
    retrieved: tuple[Source, ...],
    files: Mapping[str, str],
) -> Answer:
    whole = combine(list(seen))
    end = [f"the run ended with {last.error}"] if last.error is not None else []
    reasons = [*last.problems, *end, *problems]
    return Answer(
        text=last.text_of_agents,
        result=last.result,
        answered_by=last.answered_by,
        delivered=last.delivered,
        people=whole.people,
        calls=whole.calls,
        consulted=whole.consulted,
        handoffs=whole.handoffs,
        sources=with_files([read_source(source) for source in last.sources if source.get("kind") == "document"], files),
        retrieved=with_files(retrieved, files),
        error="; ".join(reasons) or None,
        transcript=tuple(line for observation in seen for line in observation.transcript()),
    )
