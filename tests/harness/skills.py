"""A harness whose specialist makes skills."""

from __future__ import annotations

from baton.adapters.agents.agent_files import read_agent
from baton.domain.tenants.identity import Scope
from baton_local.root import ROOT
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, advance

MAKER = read_agent(ROOT / "agents" / "skill-creation.yaml")[1]


STEPS = [{"text": "Ask which channel.", "condition": "skip if the user named one"}, {"text": "Post the alert."}]


class SkillHarness(HandoffHarness):
    """The harness with the specialist that ships."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__(*answers, maker=MAKER.model_copy(update={"id": "maker"}))
        self.ada = Scope("acme", "ada", frozenset({"skill:create"}))


def script_draft(*last: Answer) -> tuple[Answer, ...]:
    """A specialist that collects everything in one turn, and ends it with ``last``."""
    return (
        Answer(("The user wants Slack alerts.",)),
        advance("DEFINING_TRIGGERS", name="Slack Alert", description="Posts an alert to Slack."),
        advance("GENERATING_SKILL", triggers=["send slack alert"]),
        advance("TESTING", steps=STEPS),
        *last,
    )
