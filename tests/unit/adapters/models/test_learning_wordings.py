"""Endpoints of many kinds name what they refuse, and the next request is changed accordingly."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from baton.adapters.models.attachments.content import MediaKind
from baton.adapters.models.failures.failure import ProviderFailure
from baton.adapters.models.learning.adaptation import MAX_ADAPTATIONS, adapt_form
from baton.adapters.models.learning.request_form import RequestForm, SentFeatures
from baton.adapters.models.profiles.profile import AnswerForm, ModelProfile, SystemPlace

FIELDS = (
    *("stream_options", "temperature", "top_p", "max_tokens", "reasoning_effort", "verbosity", "response_format"),
    *("metadata", "tools", "tool_choice", "parallel_tool_calls"),
)
SENT = SentFeatures(fields=FIELDS, has_tools=True, has_schema=True)
UNKNOWN = ModelProfile()
IN_TURNS = {"alternates": True, "system": SystemPlace.FIRST}
NO_SYSTEM = {"alternates": True, "system": SystemPlace.USER, "user_first": True}


def refusal(text: str, status: int = 400, **more: Any) -> ProviderFailure:
    return replace(ProviderFailure.of({"error": {"message": text, **more}}, "E"), status=status, retry_after=None)


def changes(form: RequestForm | None) -> dict[str, Any]:
    if form is None:
        return {}
    facts = {field.name: getattr(form.profile, field.name) for field in fields(ModelProfile)}
    results = {name: value for name, value in facts.items() if value != getattr(UNKNOWN, name)}
    if "dropped_keywords" in results:
        results["dropped_keywords"] -= UNKNOWN.dropped_keywords
    return results


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "litellm.UnsupportedParamsError: gpt-5 models don't support temperature=0.2. Only temperature=1 is "
            "supported. For gpt-5.1, temperature is supported when reasoning_effort='none'.",
            "temperature",
        ),
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", "temperature"),
        ("invalid temperature: only 1 is allowed for this model", "temperature"),
        ('"qwen2.5:7b" does not support thinking', "reasoning_effort"),
        ("Model grok-4 does not support parameter reasoningEffort.", "reasoning_effort"),
        ("'parallel_tool_calls' is only allowed when 'tools' are specified.", "parallel_tool_calls"),
        ("Thinking mode does not support this tool_choice", "tool_choice"),
        ("max_tokens is too large: 32000. This model supports at most 16384 completion tokens.", "max_tokens"),
        ("max_tokens or max_completion_tokens is too large: 32000.", "max_tokens"),
    ],
)
def test_the_field_that_is_named_first_is_dropped(text: str, name: str) -> None:
    assert changes(adapt_form(RequestForm(UNKNOWN), refusal(text), SENT)) == {"dropped": {name}}


def test_properties_of_tools_with_the_names_of_fields_are_no_fields() -> None:
    text = (
        "Invalid schema for function 'weather': In context=('properties', 'temperature'), 'uri' is not a valid format."
    )
    for location in ("tools[0].function.parameters", "tools[0].function.parameters.temperature", ""):
        assert changes(adapt_form(RequestForm(UNKNOWN), refusal(text, param=location), SENT)) == {
            "dropped_keywords": {"format"}
        }


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("Invalid schema for function 'f': it is not valid by default, then", set[str]()),
        ("Invalid JSON payload received. Unknown name \"title\" at 'tools[0].function_declarations[0]'", {"title"}),
        ("Unknown name \"prefixItems\" at 'tools[0].function_declarations[0].parameters'", {"prefixItems"}),
        ("JSON schema conversion failed:\nPattern must start with '^' and end with '$'", {"pattern"}),
        ("tools.0.custom.input_schema: properties maximum, minimum are not supported", {"maximum", "minimum"}),
    ],
)
def test_words_of_english_are_no_keywords_of_schemas(text: str, keywords: set[str]) -> None:
    changed = changes(adapt_form(RequestForm(UNKNOWN), refusal(text), SENT))
    assert changed.get("dropped_keywords", set()) == keywords


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("Only the first message can have the role 'system'", {"system": SystemPlace.FIRST}),
        ("System messages are only allowed at the start of the conversation", {"system": SystemPlace.FIRST}),
        ("Expected last role User or Tool for serving but got system", {"system": SystemPlace.FIRST}),
        ("Unexpected role 'system' after role 'assistant'", {"system": SystemPlace.FIRST}),
        ("Unexpected role 'user' after role 'user'", IN_TURNS),
        ("The message roles should be user and assistant in turn", IN_TURNS),
        ("Consecutive messages with the same role are not allowed", IN_TURNS),
        ("Jinja Exception: Conversation roles must alternate user/assistant/...", IN_TURNS),
        ("Expected first message to be from user", {"user_first": True}),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", NO_SYSTEM),
        ("The system role is not supported by this model", NO_SYSTEM),
    ],
)
def test_templates_say_in_many_words_which_roles_they_take(text: str, changed: dict[str, Any]) -> None:
    assert changes(adapt_form(RequestForm(UNKNOWN), refusal(text), SENT)) == changed


def test_an_endpoint_with_a_system_field_of_its_own_gets_no_system_message() -> None:
    message = refusal('messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter')
    form = adapt_form(RequestForm(UNKNOWN), message, SENT)
    assert form is not None
    assert changes(adapt_form(form, message, SENT)) == NO_SYSTEM


@pytest.mark.parametrize(
    "text",
    [
        "json mode cannot be combined with tool/function calling",
        "Function calling with a response mime type: 'application/json' is unsupported",
        "This model does not support response format `json_schema`.",
    ],
)
def test_a_schema_of_the_answer_is_asked_for_otherwise(text: str) -> None:
    assert changes(adapt_form(RequestForm(UNKNOWN), refusal(text), SENT)) == {"answer_form": AnswerForm.OBJECT}


@pytest.mark.parametrize(
    ("text", "status", "kinds"),
    [
        ("Could not process image", 400, {"images"}),
        ("messages.0.content.1.image.source.base64: image exceeds 5 MB maximum", 400, {"images"}),
        ("You uploaded an unsupported image. Please use one the following formats: ['png']", 400, {"images"}),
        ("Error while downloading https://x.test/y.png.", 400, {"images", "documents"}),
        ("The PDF specified was not valid.", 400, {"documents"}),
        ("A maximum of 100 PDF pages may be provided.", 400, {"documents"}),
        ("Request Entity Too Large", 413, {"images", "documents"}),
    ],
)
def test_a_file_at_fault_is_left_out_of_its_request_only(text: str, status: int, kinds: set[str]) -> None:
    form = adapt_form(RequestForm(UNKNOWN), refusal(text, status), SentFeatures(has_media=True))
    assert set(changes(form)) == kinds
    assert form is not None
    assert form.make_lasting_profile(UNKNOWN) == UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        "image input is not supported",
        "No endpoints found that support image input",
        "At most 0 image(s) may be provided",
    ],
)
def test_a_model_without_images_gets_none_from_then_on(text: str) -> None:
    form = adapt_form(
        RequestForm(UNKNOWN), refusal(text, 404 if "found" in text else 400), SentFeatures(has_media=True)
    )
    assert form is not None
    assert form.make_lasting_profile(UNKNOWN).images is False


def test_only_the_kinds_of_files_that_were_sent_are_learned() -> None:
    sent = SentFeatures(has_media=True, media_kinds=(MediaKind.IMAGE,))
    assert changes(adapt_form(RequestForm(UNKNOWN), refusal("Something else is wrong"), sent)) == {"images": False}


def test_parts_are_left_out_before_files_where_nothing_is_named() -> None:
    sent = SentFeatures(has_media=True, has_parts=True)
    form = adapt_form(RequestForm(UNKNOWN), refusal("Something else is wrong"), sent)
    assert form is not None
    assert (form.sends_parts, changes(form)) == (False, {})


@pytest.mark.parametrize("status", [401, 403, 408, 429, 502, 503, 529])
def test_keys_limits_and_outages_teach_nothing(status: int) -> None:
    assert adapt_form(RequestForm(UNKNOWN), refusal("Unsupported parameter: 'temperature'", status), SENT) is None


def test_a_limit_that_is_refused_under_both_names_is_not_tried_in_turns() -> None:
    form: RequestForm | None = RequestForm(UNKNOWN)
    message = refusal("Use 'max_tokens' or 'max_completion_tokens'")
    request_count = 0
    while form is not None:
        request_count += 1
        names = tuple({form.profile.limit_field} - form.profile.dropped)
        form = adapt_form(form, message, SentFeatures(fields=names))
    assert request_count < MAX_ADAPTATIONS


@pytest.mark.parametrize(
    ("param", "changed"),
    [
        ("temperature", {"dropped": {"temperature"}}),
        ("reasoning.effort", {"dropped": {"reasoning_effort"}}),
        ("messages[0].content", {}),
        ("tools[0].function.parameters", {}),
    ],
)
def test_beside_a_param_the_text_names_nothing(param: str, changed: dict[str, Any]) -> None:
    text = "It is refused: top_p, max_tokens is too large, response_format is not supported, metadata: extra inputs"
    assert changes(adapt_form(RequestForm(UNKNOWN), refusal(text, param=param), SENT)) == changed
