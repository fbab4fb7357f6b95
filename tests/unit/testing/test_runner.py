"""The runner of conversations closes what it has opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from baton.adapters.agents.agent_files import AgentFiles
from baton_testing import runner
from baton_testing.conversation_files import ReadFile
from baton_testing.conversation_test import ConversationFile
from baton_testing.fakes.agents.shipped_agents import agent
from baton_testing.models.choice import OF_THIS_MACHINE, Answering, AnsweringModel
from baton_testing.models.scripted import ScriptedModel
from baton_testing.project_agents import AgentPlace
from tests.fakes.token_counter import WordCounter

STEP = {"say": "Hello", "answers": ["Hello."]}
FILE = ReadFile.of(
    Path("talk.yaml"), ConversationFile.model_validate({"conversations": [{"name": "Talk", "steps": [STEP]}]})
)


@dataclass(frozen=True, slots=True)
class NotedAnswering(Answering):
    """Models that note when they are closed."""

    closed: list[str] = field(default_factory=list)

    def choose_model(self, *_: Any) -> AnsweringModel:
        async def close() -> None:
            self.closed.append("closed")

        return AnsweringModel(ScriptedModel(may_keep_some=False), OF_THIS_MACHINE, close)


@pytest.mark.parametrize("fails", [False, True])
def test_the_model_is_closed_after_a_conversation_that_cannot_be_held_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, fails: bool
) -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError("unforeseen")

    if fails:
        monkeypatch.setattr(runner, "_follow", fail)
    answering, path = NotedAnswering(), AgentPlace(tmp_path, tmp_path, tmp_path)
    with path.enter():
        result = runner.Runner(AgentFiles([agent("assistant")]), WordCounter(), answering).run(FILE, 0)
    assert (result.passed, answering.closed) == (not fails, ["closed"])
