"""The local cloud prints what a developer's own models can do, while it runs already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial

from baton.agents.checks.model_checks import ModelChecks
from baton.composition.app import build
from baton.domain.agents.model_providers import Ability, Provider
from baton.domain.errors import ModelMisconfigured
from baton_local.startup_model_checks import HEAD, StartupModelChecks, is_own
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents, agent
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.harness.able_model import AbleModel
from tests.harness.harness import Harness

DEMO = "http://127.0.0.1:8080/local/"
WAIT_SECONDS = 10.0


def checks_of(model: AbleModel, address: str = "http://model.test/v1") -> ModelChecks:
    ports = Harness().with_ports(
        model=model,
        embedder=FakeEmbedder(),
        shipped_agents=FakeShippedAgents(agent(model={"fallback": ["bedrock/nova"]})),
        model_providers={
            "default": Provider(base_url=address),
            "bedrock": Provider.model_validate({"kind": "bedrock"}),
        },
        default_model="big",
        light_model="small",
    )
    return build(ports).model_checks


class Printed:
    """The output, and a wait for the text number ``count``."""

    def __init__(self, count: int) -> None:
        self.texts: list[str] = []
        self._count = count
        self._enough = threading.Event()

    def say(self, text: str) -> None:
        self.texts.append(text)
        if len(self.texts) == self._count:
            self._enough.set()

    def wait(self) -> None:
        assert self._enough.wait(WAIT_SECONDS)


def names(checks: ModelChecks, embedding_address: str) -> list[str]:
    return [
        model.name
        for model in checks.list_models()
        if is_own(checks, model, embedding_address=embedding_address, demo=DEMO)
    ]


def test_only_the_developers_own_models_are_tried() -> None:
    own, demo = checks_of(AbleModel()), checks_of(AbleModel(), f"{DEMO}openai/v1")
    assert names(own, f"{DEMO}openai/v1") == ["big", "small", "bedrock/nova"]
    assert names(own, "") == ["big", "small", "bedrock/nova", "fake-embedder"]
    assert names(demo, f"{DEMO}openai/v1") == ["bedrock/nova"]
    assert names(demo, "http://embeddings.test") == ["bedrock/nova", "fake-embedder"]


def tables(checks: ModelChecks, say: Callable[[str], None]) -> StartupModelChecks:
    return StartupModelChecks(lambda: checks, partial(is_own, embedding_address=DEMO, demo=DEMO), say)


def test_each_model_has_its_table_with_what_to_change() -> None:
    error = ModelMisconfigured()
    error.reason = "no \x1b[31mkey"
    printed = Printed(3)
    started = tables(checks_of(AbleModel({Ability.TOOL_CALL: error})), printed.say)
    started.start()
    printed.wait()
    started.stop()
    first, _, third = printed.texts
    assert first.startswith(f"\n{HEAD}\nbig (default model; agents assistant)\n  text               yes\n")
    assert "\n  tool call          no  model_misconfigured: no  [31mkey\n" in first
    assert "-> Check the model's name" in first
    assert third.startswith("bedrock/nova (fallback of assistant)\n")


def test_nothing_is_printed_after_the_stop() -> None:
    model = AbleModel(refused=frozenset({"images"}))
    printed = Printed(1)
    started: list[StartupModelChecks] = []

    def say(text: str) -> None:
        printed.say(text)
        threading.Thread(target=started[0].stop).start()

    checks = checks_of(model)
    started.append(tables(checks, say))
    started[0].start()
    printed.wait()
    started[0].stop()
    count = len(printed.texts)
    assert count <= len(checks.list_models())
    started[0]._print_text("late")
    assert len(printed.texts) == count


def test_the_demo_model_is_not_tried_and_nothing_is_printed() -> None:
    model = AbleModel()
    checks = checks_of(model, f"{DEMO}openai/v1")
    checks.shipped_agents = FakeShippedAgents()
    problem_event = threading.Event()

    def all_checks() -> ModelChecks:
        problem_event.set()
        return checks

    printed: list[str] = []
    started = StartupModelChecks(all_checks, partial(is_own, embedding_address=DEMO, demo=DEMO), printed.append)
    asyncio.run(started._print())
    assert (problem_event.is_set(), printed, model.requests) == (True, [], [])
