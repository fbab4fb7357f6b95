"""One model over several providers: names select them, and other models stand in for those that cannot answer."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

import pytest

from baton.adapters.models.provider_models import FALLBACK_ERRORS, ProviderModels
from baton.domain.errors import (
    ContentFiltered,
    ContextTooLong,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    OutOfCredit,
)
from baton.domain.metrics import Metric, collect_counts
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import AnsweredBy, Finished, ModelChunk, ModelSettings, Prompt, TextDelta
from baton.ports.documents.files import ThreadFiles
from tests.fakes.chat_model import Answer, ScriptedChatModel

HELLO = [Prompt(Role.USER, "Hello")]
NO_FILES = cast("ThreadFiles", None)
ANSWERED = [TextDelta("Hello "), TextDelta("there.")]


class Deployment:
    """The providers ``default``, ``bedrock`` and ``groq``, each of which records its requests."""

    def __init__(self, *names: str, shows_reasons: bool = False) -> None:
        self.created: list[str] = []
        self.makers: dict[str, str] = {}
        self.by_name = {name: ScriptedChatModel() for name in names or ("default", "bedrock", "groq")}
        self.models = ProviderModels(
            {name: self._make_maker(name) for name in self.by_name}, shows_reasons=shows_reasons
        )

    def _make_maker(self, name: str) -> Callable[[], ScriptedChatModel]:
        def make() -> ScriptedChatModel:
            self.created.append(name)
            self.makers[name] = threading.current_thread().name
            return self.by_name[name]

        return make

    @property
    def requested_models(self) -> dict[str, list[str]]:
        """The models that were requested from each provider."""
        return {name: [question.settings.model for question in model.requests] for name, model in self.by_name.items()}

    def stream(self, model: str, *fallback: str, **settings: Any) -> AsyncGenerator[ModelChunk, None]:
        asking = ModelSettings(model=model, fallback=fallback, **settings)
        return self.models.stream(asking, HELLO, thread_files=NO_FILES)

    async def ask(self, model: str, *fallback: str, **settings: Any) -> list[ModelChunk]:
        return [chunk async for chunk in self.stream(model, *fallback, **settings)]


@pytest.mark.parametrize(
    ("name", "provider", "question"),
    [
        ("gpt-6-sol", "default", "gpt-6-sol"),
        ("groq/llama-4", "groq", "llama-4"),
        ("groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        ("bedrock/us.anthropic.claude-sonnet-5-v1:0", "bedrock", "us.anthropic.claude-sonnet-5-v1:0"),
        ("anthropic/claude-sonnet-5-5", "default", "anthropic/claude-sonnet-5-5"),
        ("default/groq/llama-4", "default", "groq/llama-4"),
        (
            "arn:aws:bedrock:eu-west-1:1:inference-profile/x",
            "default",
            "arn:aws:bedrock:eu-west-1:1:inference-profile/x",
        ),
        ("groq/", "default", "groq/"),
        ("Groq/llama-4", "default", "Groq/llama-4"),
    ],
)
async def test_the_first_segment_of_a_name_selects_the_provider(name: str, provider: str, question: str) -> None:
    deployment = Deployment()
    *_, end = await deployment.ask(name)
    assert isinstance(end, Finished)
    assert end.model == question
    assert deployment.requested_models == {"default": [], "bedrock": [], "groq": []} | {provider: [question]}


async def test_a_provider_is_made_once_by_its_first_call_and_off_the_event_loop() -> None:
    deployment = Deployment()
    await deployment.ask("groq/a")
    await deployment.ask("groq/b")
    assert deployment.created == ["groq"]
    assert deployment.makers["groq"] != threading.current_thread().name


async def test_loading_in_advance_makes_the_providers_of_the_named_models_only() -> None:
    deployment = Deployment()
    deployment.models.load("groq/a", "groq/b")
    assert deployment.created == ["groq"]
    await deployment.ask("groq/a")
    assert deployment.created == ["groq"]


async def test_without_a_default_provider_a_name_of_no_provider_is_a_wrong_configuration(
    caplog: pytest.LogCaptureFixture,
) -> None:
    deployment = Deployment("bedrock")
    deployment.models.load("gpt-6-sol")
    counted: dict[Metric, int] = {}
    with collect_counts(counted.update), pytest.raises(ModelMisconfigured):
        await deployment.ask("gpt-6-sol")
    [noted] = [record for record in caplog.records if "cannot be used" in record.getMessage()]
    assert "OPENAI_BASE_URL" in vars(noted)["reason"]
    assert counted == {Metric.MODEL_CALLS_FAILED: 1}


async def test_a_provider_that_cannot_be_made_is_a_wrong_configuration(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> ScriptedChatModel:
        raise ValueError("There is no region")

    with pytest.raises(ModelMisconfigured):
        await anext(ProviderModels({"default": fail}).stream(ModelSettings(model="gpt"), HELLO, thread_files=NO_FILES))
    [noted] = [record for record in caplog.records if "cannot be used" in record.getMessage()]
    assert vars(noted)["reason"] == "There is no region"


@pytest.mark.parametrize("failure", [ModelUnavailable(), ModelRateLimited(), ModelTimeout(), OutOfCredit()])
async def test_a_fallback_answers_for_a_model_that_cannot(
    failure: ModelError, caplog: pytest.LogCaptureFixture
) -> None:
    deployment, counted = Deployment(), {}
    deployment.by_name["default"].script(failure)
    with collect_counts(counted.update):
        *message, end = await deployment.ask("gpt-6-sol", "bedrock/claude")
    assert message == [AnsweredBy("claude"), *ANSWERED]
    assert isinstance(end, Finished)
    assert end.model == "claude"
    assert counted == {Metric.MODEL_FALLBACKS: 1}
    [noted] = [record for record in caplog.records if "fallback" in record.getMessage()]
    assert vars(noted)["model"] == "gpt-6-sol"
    assert vars(noted)["error"] == failure.code
    assert vars(noted)["fallback"] == "bedrock/claude"


async def test_fallbacks_are_asked_in_their_order_with_the_same_settings() -> None:
    deployment = Deployment()
    deployment.by_name["default"].script(ModelUnavailable(), ModelTimeout())
    await deployment.ask("gpt-6-sol", "gpt-6-luna", "groq/llama-4", "bedrock/nova", temperature=0.5, top_p=0.9)
    assert deployment.requested_models == {"default": ["gpt-6-sol", "gpt-6-luna"], "groq": ["llama-4"], "bedrock": []}
    [request] = deployment.by_name["groq"].requests
    assert request.settings == ModelSettings(model="llama-4", temperature=0.5, top_p=0.9)
    assert list(request.prompts) == HELLO


@pytest.mark.parametrize(
    "failure", [ModelRefused(), ModelMisconfigured(), ContentFiltered(), ContextTooLong(), ModelError()]
)
async def test_no_fallback_is_asked_what_a_model_has_refused(failure: ModelError) -> None:
    deployment = Deployment()
    deployment.by_name["default"].script(failure)
    with pytest.raises(type(failure)):
        await deployment.ask("gpt-6-sol", "groq/llama-4")
    assert deployment.requested_models["groq"] == []


@pytest.mark.parametrize("failure", [error() for error in FALLBACK_ERRORS])
async def test_no_fallback_is_asked_after_a_part_of_the_answer(failure: ModelError) -> None:
    deployment = Deployment()
    deployment.by_name["default"].script(Answer(("Half",), failure))
    stream = deployment.stream("gpt-6-sol", "groq/llama-4")
    assert await anext(stream) == TextDelta("Half")
    with pytest.raises(type(failure)):
        await anext(stream)
    assert deployment.requested_models["groq"] == []


async def test_the_failure_of_the_last_fallback_is_the_failure_of_the_call() -> None:
    deployment = Deployment()
    deployment.by_name["default"].script(ModelUnavailable())
    deployment.by_name["groq"].script(ModelRateLimited())
    with pytest.raises(ModelRateLimited):
        await deployment.ask("gpt-6-sol", "groq/llama-4")


async def test_a_fallback_that_is_the_model_itself_is_not_asked_again() -> None:
    deployment = Deployment()
    deployment.by_name["default"].script(ModelUnavailable(), ModelUnavailable())
    with pytest.raises(ModelUnavailable):
        await deployment.ask("gpt-6-sol", "gpt-6-sol")
    assert deployment.requested_models["default"] == ["gpt-6-sol"]


async def test_a_fallback_may_call_tools() -> None:
    deployment = Deployment()
    deployment.by_name["default"].script(ModelUnavailable())
    call = ToolCall("c1", "look", "{}")
    deployment.by_name["groq"].script(Answer.calling(call))
    assert (await deployment.ask("gpt-6-sol", "groq/llama-4"))[:2] == [AnsweredBy("llama-4"), call]


async def test_the_model_that_answers_is_named_first_unless_it_has_the_name_that_was_asked_for() -> None:
    deployment = Deployment()
    assert (await deployment.ask("groq/llama-4"))[0] == AnsweredBy("llama-4")
    assert (await deployment.ask("gpt-6-sol"))[0] == ANSWERED[0]


async def test_an_overflow_of_a_fallback_names_the_fallback() -> None:
    deployment = Deployment()
    deployment.by_name["default"].script(ModelUnavailable())
    deployment.by_name["groq"].script(ContextTooLong())
    with pytest.raises(ContextTooLong) as too_long:
        await deployment.ask("gpt-6-sol", "groq/llama-4")
    assert too_long.value.model == "groq/llama-4"


async def test_closing_the_answer_stops_the_model_that_gives_it() -> None:
    deployment = Deployment()
    deployment.by_name["default"].script(ModelUnavailable())
    stream = deployment.stream("gpt-6-sol", "groq/llama-4")
    await anext(stream)
    await stream.aclose()
    assert deployment.by_name["groq"].abandoned == 1


@pytest.mark.parametrize("failure", [ModelRefused(), ModelMisconfigured(), ModelUnavailable(), ContextTooLong()])
async def test_users_see_the_endpoints_words_on_a_developers_machine_only(failure: ModelError) -> None:
    general = failure.detail
    failure.reason = "Incorrect API key provided: ***."
    for shows_reasons in (False, True):
        deployment = Deployment(shows_reasons=shows_reasons)
        deployment.by_name["default"].script(failure)
        with pytest.raises(type(failure)) as raised:
            await deployment.ask("gpt-6-sol")
        assert (failure.reason in raised.value.detail) is shows_reasons
        assert raised.value.detail.startswith(general)
