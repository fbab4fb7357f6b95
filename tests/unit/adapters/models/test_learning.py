"""A refusal says in which form a request is asked for again: the wordings are those of real endpoints."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from baton.adapters.models.failures.failure import ProviderFailure
from baton.adapters.models.learning.adaptation import MAX_ADAPTATIONS, adapt_form
from baton.adapters.models.learning.request_form import RequestForm, SentFeatures
from baton.adapters.models.profiles.profile import AnswerForm, Api, ModelProfile, SystemPlace
from baton.domain.runs.provider_parts import Replay

EVERYTHING = SentFeatures(
    fields=(
        "temperature",
        "top_p",
        "max_tokens",
        "stream_options",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "reasoning_effort",
        "verbosity",
        "metadata",
        "response_format",
        "prompt_cache_key",
        "seed",
    ),
    has_tools=True,
    has_schema=True,
)


def refusal(body: Any, status: int = 400) -> ProviderFailure:
    return replace(ProviderFailure.of(body, "BadRequest"), status=status, retry_after=None)


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None, **more}}


UNKNOWN = ModelProfile()


def changes(profile: ModelProfile | None, before: ModelProfile = UNKNOWN) -> dict[str, Any]:
    """The facts that were changed."""
    if profile is None:
        return {}
    return {
        field.name: getattr(profile, field.name)
        for field in fields(ModelProfile)
        if getattr(profile, field.name) != getattr(before, field.name)
    }


DEFAULT_DROPPED = ModelProfile().dropped_keywords


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        pytest.param(
            message(
                "Unsupported value: 'temperature' does not support 0.3 with this model. Only the default (1) value is "
                "supported.",
                param="temperature",
                code="unsupported_value",
            ),
            {"dropped": {"temperature"}},
            id="temperature of a reasoning model",
        ),
        pytest.param(
            message("Unsupported parameter: 'top_p' is not supported with this model.", param="top_p"),
            {"dropped": {"top_p"}},
            id="top_p by param",
        ),
        pytest.param(
            message(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
                "instead.",
                param="max_tokens",
            ),
            {"limit_field": "max_completion_tokens"},
            id="the limit under another name",
        ),
        pytest.param(
            {
                "detail": [
                    {"type": "extra_forbidden", "loc": ["body", "metadata"], "msg": "Extra inputs are not permitted"}
                ]
            },
            {"dropped": {"metadata"}},
            id="a place in a list of details",
        ),
        pytest.param(
            [message('Unknown name "reasoning_effort": Cannot find field.')],
            {"dropped": {"reasoning_effort"}},
            id="an error inside a list",
        ),
        pytest.param(
            {"error": "parallel_tool_calls is not supported"}, {"dropped": {"parallel_tool_calls"}}, id="text"
        ),
        pytest.param(
            message("verbosity: Extra inputs are not permitted"), {"dropped": {"verbosity"}}, id="pydantic text"
        ),
        pytest.param(
            message("tool_choice is not supported by this model"), {"dropped": {"tool_choice"}}, id="tool_choice"
        ),
        pytest.param(
            message("Unrecognized request argument supplied: seed"), {"dropped": {"seed"}}, id="an extra field"
        ),
        pytest.param(
            message("This response_format type is unavailable now"),
            {"answer_form": AnswerForm.OBJECT},
            id="json_schema",
        ),
        pytest.param(
            message("System message must be at the beginning."), {"system": SystemPlace.FIRST}, id="one system message"
        ),
        pytest.param(
            message("Conversation roles must alternate user/assistant/user/assistant/..."),
            {"alternates": True, "system": SystemPlace.FIRST},
            id="alternating roles",
        ),
        pytest.param(
            message(
                "A conversation must alternate between user and assistant roles. Make sure the conversation alternates"
            ),
            {"alternates": True, "system": SystemPlace.FIRST},
            id="alternating roles behind a gateway",
        ),
        pytest.param(
            message("System role not supported"),
            {"system": SystemPlace.USER, "alternates": True, "user_first": True},
            id="no system role",
        ),
        pytest.param(
            {"object": "error", "message": "Unexpected role 'user' after role 'tool'", "code": "3230"},
            {"user_after_tool": False},
            id="the user after a tool",
        ),
        pytest.param(
            message(
                "Function tools with reasoning_effort are not supported for gpt-5.6-luna in /v1/chat/completions. "
                "Please use /v1/responses instead."
            ),
            {"api": Api.RESPONSES},
            id="tools need the other API",
        ),
        pytest.param(
            message("The `reasoning_content` in the thinking mode must be passed back to the API."),
            {
                "replay": Replay.ALWAYS,
                "required_field": "reasoning_content",
                "replayed_fields": (*ModelProfile().replayed_fields, "reasoning_content"),
            },
            id="thinking must go back",
        ),
        pytest.param(
            [message("Function call is missing a thought_signature in functionCall parts.")],
            {"calls_need_parts": True},
            id="a call without its signature",
        ),
        pytest.param(
            message(
                "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function.parameters'"
            ),
            {"dropped_keywords": DEFAULT_DROPPED | {"additionalProperties"}},
            id="a keyword of a schema",
        ),
        pytest.param(message("Unable to resolve $ref in tool schema"), {"inlines_refs": True}, id="references"),
    ],
)
def test_what_a_refusal_names_is_changed(body: Any, changed: dict[str, Any]) -> None:
    form = adapt_form(RequestForm(ModelProfile()), refusal(body), EVERYTHING)
    assert form is not None
    assert changes(form.profile) == changed


@pytest.mark.parametrize(
    ("text", "remaining"),
    [
        ("Unsupported chat content part type: image_url", {"images": False}),
        ("This model does not support image input", {"images": False}),
        ("Invalid content type. file_data is not supported: unsupported file part", {"documents": frozenset()}),
        ("Unsupported chat content part type: file", {"documents": frozenset()}),
        ("messages[1].content must be a string", {"images": False, "documents": frozenset()}),
        ("Something else is wrong", {"images": False, "documents": frozenset()}),
    ],
)
def test_refused_attachments_are_left_out(text: str, remaining: dict[str, Any]) -> None:
    form = adapt_form(RequestForm(ModelProfile()), refusal(message(text)), SentFeatures(has_media=True))
    assert form is not None
    assert changes(form.profile) == remaining


@pytest.mark.parametrize(
    "text",
    [
        "The encrypted content could not be verified. invalid_encrypted_content",
        "Invalid `signature` in `thinking` block. The block is bound to a different conversation",
        "Corrupted thought signature.",
        "User messages cannot contain reasoning content",
        "Item rs_1 of type reasoning was provided without its required following item",
    ],
)
def test_parts_that_are_not_accepted_are_left_out_of_this_request_only(text: str) -> None:
    form = adapt_form(RequestForm(ModelProfile()), refusal(message(text)), SentFeatures(has_parts=True))
    assert form is not None
    assert not form.sends_parts
    assert changes(form.profile) == {}


def test_an_endpoint_that_takes_no_thinking_back_gets_none_from_then_on() -> None:
    profile = replace(ModelProfile(), replayed_fields=("reasoning_content",))
    words = message("property 'reasoning_content' is unsupported")
    form = adapt_form(RequestForm(profile), refusal(words), SentFeatures(has_parts=True))
    assert form is not None
    assert changes(form.profile, profile) == {"replayed_fields": ()}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (message("Incorrect API key provided", code="invalid_api_key"), 401),
        (message("The model `gpt-none` does not exist", code="model_not_found"), 404),
        (message("The question is malformed"), 400),
        (message("tools is not supported"), 400),
    ],
)
def test_what_cannot_be_left_out_is_not_asked_again(body: Any, status: int) -> None:
    assert adapt_form(RequestForm(ModelProfile()), refusal(body, status), EVERYTHING) is None


def test_what_was_left_out_already_is_not_left_out_again() -> None:
    form = RequestForm(replace(ModelProfile(), dropped=frozenset({"temperature"})))
    words = message("'temperature' is not supported", param="temperature")
    assert adapt_form(form, refusal(words), SentFeatures(fields=("temperature",))) is None


def test_an_endpoint_that_refuses_everything_is_asked_a_bounded_number_of_times() -> None:
    form: RequestForm | None = RequestForm(ModelProfile())
    request_count = 0
    while form is not None and request_count < 100:
        remaining = tuple(name for name in EVERYTHING.fields if name not in form.profile.dropped)
        words = " ".join(f"'{name}'" for name in EVERYTHING.fields)
        form = adapt_form(form, refusal(message(f"unsupported {words}")), replace(EVERYTHING, fields=remaining))
        request_count += 1
    assert request_count < 100
    assert MAX_ADAPTATIONS < 20
