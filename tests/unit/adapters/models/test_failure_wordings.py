"""Endpoints name the cause of a failure in many words, and callers get one error for it. The wordings are real ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from baton.adapters.models.failures.failure import MAX_LOGGED, Backoff, ProviderFailure
from baton.domain.errors import (
    ContentFiltered,
    ContextTooLong,
    ModelError,
    ModelMisconfigured,
    ModelRateLimited,
    ModelRefused,
    ModelUnavailable,
    OutOfCredit,
)


def failure(status: int, body: Any) -> ProviderFailure:
    return replace(ProviderFailure.of(body, "APIStatusError"), status=status, retry_after=None)


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": text, "type": "invalid_request_error", **more}}


@pytest.mark.parametrize("location", [None, 3, "body"])
def test_a_refusal_whose_place_is_no_list_is_read(location: Any) -> None:
    refused = ProviderFailure.of({"detail": [{"loc": location, "msg": "Field required"}]}, "APIStatusError")
    assert (refused.text, refused.param) == ("Field required", "")


WORDINGS: list[tuple[type[ModelError], int, Any]] = [
    (
        ContextTooLong,
        413,
        message(
            (
                "Request too large for model `llama-3.1-8b-instant` in organization `org_x` "
                "service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 7000, "
                "please reduce your message size and try again."
            ),
            type="tokens",
            code="rate_limit_exceeded",
        ),
    ),
    (
        ContextTooLong,
        429,
        message(
            (
                "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit "
                "30000, Requested 40000. The input or output tokens must be reduced in order to "
                "run successfully."
            ),
            type="tokens",
            code="rate_limit_exceeded",
        ),
    ),
    (
        ContextTooLong,
        413,
        message("Request body too large for gpt-4o model. Max size: 8000 tokens.", code="tokens_limit_reached"),
    ),
    (
        ContextTooLong,
        422,
        {
            "error": (
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. "
                "Given: 9000 `inputs` tokens and 0 `max_new_tokens`"
            ),
            "error_type": "validation",
        },
    ),
    (ContextTooLong, 422, {"error": ("Input validation error: `inputs` must have less than 8192 tokens. Given: 9000")}),
    (ContextTooLong, 400, message("prompt too long; exceeded max context length by 123 tokens")),
    (
        ContextTooLong,
        400,
        message("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    ),
    (
        ContextTooLong,
        400,
        {
            "code": "Client specified an invalid argument",
            "error": ("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        },
    ),
    (
        ContextTooLong,
        400,
        {
            "object": "error",
            "message": (
                "The decoder prompt (length 5000) is longer than the maximum model length of 4096. "
                "Make sure that `max_model_len` is no smaller than the number of text tokens."
            ),
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    (
        ContextTooLong,
        400,
        message(
            (
                "You passed 5000 input tokens and requested 0 output tokens. However, the model's "
                "context length is only 4096 tokens, resulting in a maximum input length of 4096 "
                "tokens. Please reduce the length of the input prompt."
            ),
            param="input_tokens",
        ),
    ),
    (
        ContextTooLong,
        400,
        {
            "object": "error",
            "message": ("The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    (
        ContextTooLong,
        400,
        {
            "object": "error",
            "message": ("Requested token count exceeds the model's maximum context length of 8192 tokens."),
            "code": 400,
        },
    ),
    (ContextTooLong, 400, message("Range of input length should be [1, 30720]", code="InvalidParameter")),
    (ContextTooLong, 400, message("Invalid request: Your request exceeded model token limit: 262144")),
    (ContextTooLong, 400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
    (
        ContextTooLong,
        400,
        message("prompt token count of 71175 exceeds the limit of 64000", code="model_max_prompt_tokens_exceeded"),
    ),
    (
        ContextTooLong,
        400,
        {"message": ("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 9000")},
    ),
    (
        ContextTooLong,
        500,
        message(
            "Reached context length of 4096 tokens, but this model does not currently support "
            "mid-generation context overflow."
        ),
    ),
    (
        ContextTooLong,
        400,
        message(
            "litellm.ContextWindowExceededError: BedrockException: Context Window Error - "
            '{"message":"Input is too long for requested model."}'
        ),
    ),
    (
        ContextTooLong,
        400,
        message(
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"
        ),
    ),
    (
        ContextTooLong,
        400,
        message(
            ("request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it"),
            code=400,
            type="exceed_context_size_error",
            n_prompt_tokens=9000,
            n_ctx=8192,
        ),
    ),
    (
        ContextTooLong,
        400,
        message(
            "Provider returned error",
            code=400,
            metadata={
                "raw": (
                    '{"error":{"message":"This endpoint\'s maximum context length is 8192 tokens. '
                    'However, you requested about 9000 tokens"}}'
                ),
                "provider_name": "X",
            },
        ),
    ),
    (ModelRateLimited, 429, message("Too many tokens, please wait before trying again.")),
    (
        ModelRateLimited,
        429,
        message(
            (
                "Rate limit reached for model `x` in organization `o` on tokens per minute (TPM): "
                "Limit 6000, Used 5900, Requested 200. Please try again in 1.2s."
            ),
            type="tokens",
            code="rate_limit_exceeded",
        ),
    ),
    (
        ModelRateLimited,
        429,
        [
            {
                "error": {
                    "code": 429,
                    "message": (
                        "You exceeded your current quota. Quota exceeded for metric: "
                        "generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, "
                        "limit: 250000"
                    ),
                    "status": "RESOURCE_EXHAUSTED",
                    "details": [{"@type": "x.RetryInfo", "retryDelay": "34s"}],
                }
            }
        ],
    ),
    (
        OutOfCredit,
        429,
        message(
            ("You exceeded your current quota, please check your plan and billing details."),
            type="insufficient_quota",
            code="insufficient_quota",
        ),
    ),
    *(
        (OutOfCredit, 429, {"error": {"message": f"litellm.RateLimitError: RateLimitError: {text}", "code": "429"}})
        for text in (
            "OpenAIException - You exceeded your current quota, please check your plan and billing details. For more "
            "information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
            "OpenAIException - You exceeded your current quota.",
            "AzureException - You exceeded your current quota, please check your plan and billing details.",
        )
    ),
    (
        ModelRateLimited,
        429,
        message(
            "litellm.RateLimitError: VertexAIException - You exceeded your current quota, please check your plan and "
            "billing details. Quota exceeded for metric: requests, limit: 10. Please retry in 17.5s."
        ),
    ),
    (
        ModelRateLimited,
        429,
        message(
            "litellm.RateLimitError: geminiException - You exceeded your current quota, please check your plan and "
            "billing details. quotaId: GenerateRequestsPerMinutePerProjectPerModel"
        ),
    ),
    (
        OutOfCredit,
        403,
        {
            "code": "The caller does not have permission",
            "error": (
                "Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai"
            ),
        },
    ),
    (
        OutOfCredit,
        403,
        {
            "code": "x",
            "error": ("Your team has either used all available credits or reached its monthly spending limit."),
        },
    ),
    (OutOfCredit, 400, message("Your credit balance is too low to access the Anthropic API.")),
    (
        OutOfCredit,
        429,
        message("We're sorry, your account has exceeded its billing hard limit", code="billing_hard_limit_reached"),
    ),
    (
        OutOfCredit,
        400,
        message(
            "Billing hard limit has been reached", type="billing_limit_user_error", code="billing_hard_limit_reached"
        ),
    ),
    (
        OutOfCredit,
        400,
        message(
            ("litellm.BudgetExceededError: Budget has been exceeded! Current cost: 10.1, Max budget: 10.0"),
            type="budget_exceeded",
        ),
    ),
    (
        ContentFiltered,
        403,
        {
            "code": ("The caller does not have permission to execute the specified operation"),
            "error": (
                "Content violates usage guidelines. Team: t, API key ID: k, Model: grok-4, Failed "
                "check: SAFETY_CHECK_TYPE_BIO"
            ),
        },
    ),
    (ContentFiltered, 400, message("Content Exists Risk")),
    (ContentFiltered, 400, message("Input data may contain inappropriate content.", code="DataInspectionFailed")),
    (ContentFiltered, 400, message("The request was rejected because it was considered high risk")),
    (
        ContentFiltered,
        400,
        message(("Invalid prompt: we've limited access to this content for safety reasons."), code="invalid_prompt"),
    ),
    (
        ContentFiltered,
        400,
        message("Your request was rejected as a result of our safety system.", code="moderation_blocked"),
    ),
    (ContentFiltered, 400, message("input new_sensitive (1026)")),
    (
        ContentFiltered,
        403,
        message(
            'X requires moderation on Y. Your input was flagged for "violence".',
            code=403,
            metadata={"reasons": ["violence"]},
        ),
    ),
    (
        ContentFiltered,
        400,
        message(
            ("The response was filtered due to the prompt triggering Azure OpenAI's content management policy."),
            code="content_filter",
            innererror={"code": "ResponsibleAIPolicyViolation"},
        ),
    ),
    (ContentFiltered, 400, message("litellm.ContentPolicyViolationError: AzureException - blocked")),
    (
        ModelMisconfigured,
        400,
        {"object": "error", "message": "Invalid model: foo", "type": "invalid_model", "param": None, "code": "1500"},
    ),
    (ModelMisconfigured, 400, message("Model Not Exist", code="invalid_request_error")),
    (ModelMisconfigured, 400, message("foo is not a valid model ID", code=400)),
    (
        ModelMisconfigured,
        400,
        message(
            "litellm.BadRequestError: Invalid model name passed in model=foo. Call "
            "`/v1/models` to view available models for your key."
        ),
    ),
    (
        ModelMisconfigured,
        400,
        message("The model `x` has been decommissioned and is no longer supported.", code="model_decommissioned"),
    ),
    (
        ModelMisconfigured,
        400,
        {
            "code": "c",
            "error": ("Incorrect API key provided: ab***. You can obtain an API key from https://console.x.ai."),
        },
    ),
    (
        ModelMisconfigured,
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "API key not valid. Please pass a valid API key.",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
    ),
    (ModelMisconfigured, 401, {"detail": "Unauthorized"}),
    (
        ModelMisconfigured,
        404,
        {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404},
    ),
    (ModelMisconfigured, 404, message('model "foo" not found, try pulling it first')),
    (ModelMisconfigured, 400, message("The provided model identifier is invalid.")),
    (
        ModelMisconfigured,
        400,
        message(
            "Invocation of model ID X with on-demand throughput isn\u2019t supported. Retry your "
            "request with the ID or ARN of an inference profile that contains this model."
        ),
    ),
    (ModelMisconfigured, 400, message("unsupported model: foo")),
    (ModelMisconfigured, 404, "404 page not found"),
    (
        ModelMisconfigured,
        404,
        message("The API deployment for this resource does not exist.", code="DeploymentNotFound"),
    ),
    (ModelRefused, 400, message("The tool call id call_1 does not exist in the previous message")),
    (ModelRefused, 400, message("The image at https://x does not exist")),
    (
        ModelRefused,
        404,
        message(
            (
                "No endpoints found that support tool use. To learn more about provider routing, "
                "visit https://openrouter.ai/docs/provider-routing"
            ),
            code=404,
        ),
    ),
    (ModelRefused, 404, message("No endpoints found that support image input", code=404)),
    (ModelRefused, 400, message("registry.ollama.ai/library/gemma:2b does not support tools")),
    (
        ModelRefused,
        400,
        message(
            ("Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576"),
            code="string_above_max_length",
        ),
    ),
    (
        ModelUnavailable,
        400,
        message(
            ("Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."),
            code="tool_use_failed",
            failed_generation="<function=...>",
        ),
    ),
    (ModelUnavailable, 500, message("x")),
    (ModelUnavailable, 529, message("Overloaded", type="overloaded_error")),
    (ModelUnavailable, 503, message("Loading model", type="unavailable_error", code=503)),
    (ModelUnavailable, 498, message("Flex tier capacity exceeded", code="capacity_exceeded")),
    (ModelUnavailable, 409, message("The request could not be completed due to a conflict, retry")),
    (ModelUnavailable, 499, message("cancelled")),
    (ModelRefused, 400, {"error": True, "message": "tools is odd"}),
    (ModelMisconfigured, 403, message("Your organization must be verified to use the model `o3`")),
    (ModelMisconfigured, 403, message("You don't have access to the model with the specified model ID.")),
    (ModelRefused, 403, message("You invoked an unsupported model or your request did not allow prompt caching")),
]


@pytest.mark.parametrize(("error", "status", "body"), WORDINGS)
def test_a_wording_has_its_error(error: type[ModelError], status: int, body: Any) -> None:
    assert type(failure(status, body).error) is error


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ([{"error": {"message": "Quota exceeded.", "details": [{"retryDelay": "34.5s"}]}}], 34.5),
        (message("Rate limit reached. Please try again in 7.66s. Need more tokens?"), 7.66),
        (message("Rate limit reached. Please try again in 250ms."), 0.25),
        (message("Rate limit reached. Please try again in 1m30s."), 90.0),
        ("Try again in 3s", 3.0),
        (message("Slow down."), None),
    ],
)
def test_a_wait_is_read_from_the_text(body: Any, seconds: float | None) -> None:
    assert ProviderFailure.of(body, "APIError").retry_after == seconds


def test_a_wait_that_is_too_long_is_not_waited_for() -> None:
    limited = ProviderFailure("RateLimitError", status=429, retry_after=34.5)
    assert Backoff(0.5).choose_delay(limited, 0) is None


@pytest.mark.parametrize("at", range(MAX_LOGGED - 12, MAX_LOGGED + 2, 3))
def test_no_part_of_a_key_is_logged(at: int) -> None:
    key = "sk-0123456789"
    messages = ProviderFailure("E", status=400, code=f"no {key}", type=f"no {key}", text="." * at + key)
    logged = str(messages.log_fields(key))
    assert not any(key[:length] in logged for length in range(4, len(key) + 1))


@pytest.mark.parametrize("status", [502, 503, 504, 529])
def test_an_error_of_a_gateway_is_no_refusal_whatever_it_quotes(status: int) -> None:
    text = failure(status, message("Unsupported parameter: 'temperature' must be 1"))
    assert not text.may_be_refusal


def test_a_server_error_that_asks_to_try_again_is_no_refusal() -> None:
    assert not failure(500, message("Overloaded: a template must be loaded, try again")).may_be_refusal
    assert failure(500, message("System message must be at the beginning.")).may_be_refusal
