"""The OpenAI adapter against an endpoint that really fails, over real HTTP."""

from __future__ import annotations

import logging

import pytest

from baton.adapters.models.openai import OpenAIChatModel
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
from baton.ports.agents.chat_model import ModelSettings
from tests import fault_model as fault
from tests.fault_model import Behaviour, FaultModel
from tests.integration.models.asking import ONE_WORD, MakeModel, ask, ask_until_error, text_of
from tests.integration.models.conftest import SECRET

# Failures that pass: repeated as long as nothing was said


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(fault.rate_limited(), id="429"),
        pytest.param(fault.rate_limited("0"), id="429 with Retry-After"),
        pytest.param(fault.status(408), id="408"),
        pytest.param(fault.status(500), id="500"),
        pytest.param(fault.unavailable(), id="503"),
        pytest.param(fault.refused_connection(), id="dropped connection"),
        pytest.param(fault.breaks_after(), id="stream broken before the first word"),
        pytest.param(fault.ends_after(), id="stream ended before the first word"),
        pytest.param(fault.html(), id="a web page"),
        pytest.param(fault.html(502), id="a web page as 502"),
        pytest.param(fault.invalid_json(), id="invalid JSON"),
        pytest.param(fault.error_after(error={"code": 503, "message": "overloaded"}), id="error object at once"),
    ],
)
async def test_a_failure_before_the_first_word_is_not_noticed(
    model: OpenAIChatModel, fault_model: FaultModel, failure: Behaviour
) -> None:
    fault_model.script(failure, failure, fault.answers("Fine now."))
    assert text_of(await ask(model)) == "Fine now."
    assert len(fault_model.requests) == 3


async def test_attempts_are_bounded(model: OpenAIChatModel, fault_model: FaultModel) -> None:
    fault_model.otherwise = fault.unavailable()
    _, error = await ask_until_error(model)
    assert isinstance(error, ModelUnavailable)
    assert len(fault_model.requests) == 3


@pytest.mark.parametrize("retry_after", ["60", "Fri, 31 Dec 2999 23:59:59 GMT"])
async def test_an_endpoint_that_wants_long_rest_is_left_alone(
    model: OpenAIChatModel, fault_model: FaultModel, retry_after: str
) -> None:
    fault_model.script(fault.rate_limited(retry_after))
    _, error = await ask_until_error(model)
    assert isinstance(error, ModelRateLimited)
    assert len(fault_model.requests) == 1


async def test_no_attempt_is_made_that_would_begin_after_the_models_time(
    make_model: MakeModel, fault_model: FaultModel
) -> None:
    fault_model.otherwise = fault.unavailable()
    model = make_model(backoff_seconds=8.0)
    await ask_until_error(model, ModelSettings(model="fault-1", timeout_seconds=5))
    assert len(fault_model.requests) == 1


# Failures that stay


@pytest.mark.parametrize(
    ("failure", "expected", "words"),
    [
        pytest.param(fault.rate_limited(), ModelRateLimited, "", id="429"),
        pytest.param(fault.status(429, {"code": "insufficient_quota"}), OutOfCredit, "", id="empty account"),
        pytest.param(fault.status(408), ModelTimeout, "", id="408"),
        pytest.param(fault.status(500), ModelUnavailable, "", id="500"),
        pytest.param(fault.unavailable(), ModelUnavailable, "", id="503"),
        pytest.param(fault.html(), ModelUnavailable, "", id="a web page"),
        pytest.param(fault.invalid_json(), ModelUnavailable, "", id="invalid JSON"),
        pytest.param(fault.sends('"text"', "[DONE]"), ModelUnavailable, "", id="JSON of another shape"),
        pytest.param(fault.sends({"choices": [{}]}, "[DONE]"), ModelUnavailable, "", id="an empty choice"),
        pytest.param(fault.sends({"choices": "x"}, "[DONE]"), ModelUnavailable, "", id="choices of another type"),
        pytest.param(fault.sends(fault.chunk({"tool_calls": "x"})), ModelUnavailable, "", id="calls of another type"),
        pytest.param(
            fault.sends(fault.chunk(fault.tool_delta(0, arguments="{}"), "tool_calls")),
            ModelUnavailable,
            "",
            id="a call without a name",
        ),
        pytest.param(fault.unauthorized(), ModelMisconfigured, "", id="401"),
        pytest.param(fault.status(404, {"code": "model_not_found"}), ModelMisconfigured, "", id="unknown model"),
        pytest.param(fault.status(400, {"code": "context_length_exceeded"}), ContextTooLong, "", id="prompt too long"),
        pytest.param(fault.filtered_prompt(), ContentFiltered, "", id="filtered question"),
        pytest.param(fault.filtered_answer(), ContentFiltered, "", id="filtered answer, nothing words"),
        pytest.param(fault.filtered_answer(ONE_WORD), ContentFiltered, ONE_WORD, id="filtered answer"),
        pytest.param(fault.sends(fault.chunk({"refusal": "I cannot"})), ContentFiltered, "", id="refusal"),
        pytest.param(fault.breaks_after(ONE_WORD), ModelUnavailable, ONE_WORD, id="broken stream"),
        pytest.param(fault.ends_after(ONE_WORD), ModelUnavailable, ONE_WORD, id="unfinished stream"),
        pytest.param(fault.error_after(ONE_WORD, error="oops"), ModelUnavailable, ONE_WORD, id="error text"),
        pytest.param(fault.error_after(ONE_WORD, error={"code": 429}), ModelRateLimited, ONE_WORD, id="429 in stream"),
        pytest.param(
            fault.error_after(ONE_WORD, error={"type": "rate_limit_error"}),
            ModelRateLimited,
            ONE_WORD,
            id="limit by name",
        ),
        pytest.param(
            fault.error_after(ONE_WORD, error={"type": "invalid_request_error"}),
            ModelRefused,
            ONE_WORD,
            id="refused by name",
        ),
        pytest.param(
            fault.error_after(ONE_WORD, error={"code": "content_filter"}),
            ContentFiltered,
            ONE_WORD,
            id="filter by name",
        ),
    ],
)
async def test_a_failure_that_stays_is_reported_by_its_own_error(
    model: OpenAIChatModel, fault_model: FaultModel, failure: Behaviour, expected: type[ModelError], words: str
) -> None:
    fault_model.otherwise = failure
    text, error = await ask_until_error(model)
    assert type(error) is expected
    assert text == words
    if words or not error.retryable:
        assert len(fault_model.requests) == 1


async def test_a_missing_listener_is_reported_as_unavailable(make_model: MakeModel) -> None:
    _, error = await ask_until_error(make_model(base_url="http://127.0.0.1:9/v1"))
    assert isinstance(error, ModelUnavailable)


@pytest.mark.parametrize(
    ("behaviour", "seconds", "words"),
    [
        pytest.param(fault.silence(), 1.0, "", id="never answers"),
        # Long enough for the first word to come on a busy machine.
        pytest.param(fault.hangs_after(ONE_WORD), 3.0, ONE_WORD, id="hangs in the middle"),
    ],
)
async def test_silence_beyond_the_models_time_is_a_timeout_and_ends_the_request(
    model: OpenAIChatModel, fault_model: FaultModel, behaviour: Behaviour, seconds: float, words: str
) -> None:
    fault_model.otherwise = behaviour
    text, error = await ask_until_error(model, ModelSettings(model="fault-1", timeout_seconds=seconds))
    assert isinstance(error, ModelTimeout)
    assert text == words
    await fault_model.wait_until(lambda server: server.hangups == len(server.requests) == 1)


async def test_errors_show_users_nothing_of_the_provider_and_the_log_does_not_keep_the_key(
    model: OpenAIChatModel, fault_model: FaultModel, caplog: pytest.LogCaptureFixture
) -> None:
    fault_model.otherwise = fault.unauthorized()
    with caplog.at_level(logging.WARNING):
        _, error = await ask_until_error(model)
    assert error.__cause__ is None
    assert "provider" not in error.detail
    logged = [vars(record) for record in caplog.records if "model" in record.getMessage()]
    assert logged[0]["http_status"] == 401
    assert "internal.example" in logged[0]["text"]
    assert SECRET not in str(logged)


async def test_an_endpoint_that_is_not_there_is_named_in_the_log_and_to_operators(
    caplog: pytest.LogCaptureFixture, make_model: MakeModel
) -> None:
    model = make_model(base_url="http://user:secret@127.0.0.1:9/v1")
    _, error = await ask_until_error(model)
    assert isinstance(error, ModelUnavailable)
    assert error.reason == "Connection error. (http://127.0.0.1:9/)"
    assert "secret" not in caplog.text
