"""The guide and the reference of agents in Python."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import yaml

import baton
from baton import Agent, CallContext, Refuse, Replace
from baton.adapters.agents.agent_files import AgentFileError, AgentFiles
from baton.authoring.functions import AGENTS_PACKAGE, Functions
from baton.domain.agents.agent_checks import check_agent
from baton.domain.agents.agent_code import HOOK_ARGUMENTS, Hook
from baton.domain.tenants.identity import Scope
from baton_local.generation.python_reference import PAGE, make_page
from baton_local.root import ROOT
from tests.harness.coded import with_functions
from tests.harness.wiki import answer, yes

GUIDE = (ROOT / "docs" / "how-to" / "write-agents-in-python.md").read_text(encoding="utf-8")
SUPPORT, PROMPT, RESOURCE = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentFiles:
    """The agents of the guide, with a stand-in for the driver of its database."""
    driver = types.ModuleType("asyncpg")
    vars(driver).update(Pool=StandInPool, create_pool=lambda address: StandInPool())
    monkeypatch.setitem(sys.modules, "asyncpg", driver)
    (tmp_path / "support.py").write_text(SUPPORT + PROMPT + RESOURCE)
    return AgentFiles.load(tmp_path)


class StandInPool:
    """A pool of connections that answers every query."""

    async def __aenter__(self) -> StandInPool:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def fetchval(self, query: str, number: str) -> str:
        return f"{number} is on its way"


def test_the_agents_of_the_guide_are_good(agents: AgentFiles) -> None:
    support = agents.get_default_main()
    assert [agent.id for agent in agents.all()] == ["faq", "repairs", "support"]
    assert (support.sub_agents, support.handoffs[0].agent) == (("faq",), "repairs")
    assert (support.tools[0].name, support.tools[0].requires_approval) == ("refund", True)


async def test_the_prompt_of_the_guide_depends_on_the_user(agents: AgentFiles) -> None:
    about = agents.get_default_main().code.prompt
    assert about is not None
    functions = Functions()
    texts = [
        await functions.call(about, context(permissions), {}) for permissions in (frozenset({"shop:vip"}), frozenset())
    ]
    assert texts == ["This customer is a VIP: offer free shipping.", None]


async def test_the_tool_of_the_guide_gets_the_resource(agents: AgentFiles) -> None:
    order_state: Any = sys.modules[f"{AGENTS_PACKAGE}.support"].order_state
    answer = await Functions().call(order_state.function, context(), {"number": "A-1"})
    assert answer == "A-1 is on its way"


async def test_the_branching_agent_of_the_guide_refunds_what_a_person_has_agreed_to(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "how-to" / "write-branching-agents.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "support.py").write_text(code)
    agents = {agent.id: agent for agent in AgentFiles.load(tmp_path).all()}
    wants = '{"wants_refund": true, "number": "A-1", "euros": 5}'
    harness = with_functions(agents["support"], agents["faq"], answers=("Thirty days.", wants))
    turn = await harness.say("m1", "Five euros back for A-1, please.")
    [interrupt] = turn.last["outcome"]["interrupts"]
    assert turn.text == "I ask a colleague about the refund."
    assert (await answer(harness, yes(interrupt))).text == "Refunded 5 euros for A-1."


async def test_the_guardrails_and_the_hook_of_the_guide_judge(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "how-to" / "add-guardrails.md").read_text(encoding="utf-8")
    code, handing_over = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "support.py").write_text(code)
    lawsuits, cards, refunds = AgentFiles.load(tmp_path).get_default_main().code.hooks

    async def ask(hook: Hook, **overrides: Any) -> Any:
        return await Functions().call_with(hook.function, context(), overrides, HOOK_ARGUMENTS[hook.point])

    assert await ask(lawsuits, text="I call my lawyer.") == Refuse("Please write to legal@example.com.")
    assert await ask(lawsuits, text="Hello.") is None
    options = {"text": "It is 4111 1111 1111 1111.", "before": "", "is_last": True}
    assert await ask(cards, **options) == Replace("It is [card number].")
    assert isinstance(await ask(refunds, name="refund", arguments={}), Refuse)
    assert refunds.timeout_seconds == 2
    (tmp_path / "support.py").write_text(handing_over)
    [calm] = AgentFiles.load(tmp_path).get_default_main().code.hooks
    assert (await ask(calm, messages=[{"role": "user", "text": "No!!!!"}])).agent_id == "people"
    [written] = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(guardrails:.*?)```", guide, re.DOTALL)]
    agent, problems = check_agent({"id": "a", "name": "A", "description": "A.", "system_prompt": "Be.", **written})
    assert agent is not None
    assert (problems, agent.guardrails[0].name) == ([], "policy")


def context(permissions: frozenset[str] = frozenset()) -> CallContext:
    return CallContext(Scope("acme", "ada", permissions), "t1", "r1", "support", "c1", "k1")


def test_the_error_of_the_guide_is_the_one_that_is_reported(tmp_path: Path) -> None:
    wrong = SUPPORT.replace("    handoffs=", "    output_type=int,\n    handoffs=").replace(
        "    sub_agents=[faq],\n", ""
    )
    (tmp_path / "support.py").write_text(wrong.replace("# agents/support.py\n", ""))
    with pytest.raises(AgentFileError) as refusal:
        AgentFiles.load(tmp_path)
    match = re.search(r"```text\nagents/support.py:\d+: (.*)\n```", GUIDE)
    assert match is not None
    assert str(refusal.value).partition(": ")[2] == match[1]


def test_the_reference_is_made_of_the_docstrings() -> None:
    assert PAGE.read_text(encoding="utf-8") == make_page(), "run `python -m baton_local.generation`"


def test_the_reference_describes_every_argument() -> None:
    described = set(re.findall(r"^\| `(\w+)` \|", make_page().partition("## `Desk`")[0], re.MULTILINE))
    arguments = Agent.__init__.__annotations__.keys() - {"return"}
    assert described == arguments


def test_the_reference_describes_every_name_of_the_package() -> None:
    assert [name for name in baton.__all__ if f"`{name}`" not in make_page()] == []
