"""The table of errors."""

from __future__ import annotations

import re
from http import HTTPStatus

import pytest

from baton.adapters.opensearch.engine import EngineError
from baton.domain import errors
from baton.domain.errors import (
    BatonError,
    InternalError,
    ModelError,
    SearchUnavailable,
    SpendingRefusal,
    list_error_classes,
    make_error_from_code,
)

CLASSES = [cls for cls in list_error_classes() if cls is not BatonError and cls.__module__.startswith(errors.__name__)]
every_error = pytest.mark.parametrize("cls", CLASSES)


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [cls.code for cls in CLASSES]
    assert len(set(codes)) == len(codes)


def test_an_adapters_special_case_of_an_error_does_not_stand_for_its_code() -> None:
    assert issubclass(EngineError, SearchUnavailable)
    assert EngineError not in list_error_classes()
    assert type(make_error_from_code(EngineError.code)) is SearchUnavailable


@every_error
def test_an_error_speaks_to_its_reader(cls: type[BatonError]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", cls.code)
    assert 400 <= HTTPStatus(cls.status) < 600
    assert cls.title
    assert not cls.title.endswith(".")
    assert cls.detail.endswith(".")
    assert cls.__doc__


@every_error
def test_only_faults_and_limits_of_the_server_are_worth_a_retry(cls: type[BatonError]) -> None:
    assert not cls.retryable or cls.status >= 500 or cls.status == 429


@every_error
def test_an_error_comes_back_from_its_code(cls: type[BatonError]) -> None:
    error = make_error_from_code(cls.code)
    assert (type(error), error.detail) == (cls, cls.detail)
    assert make_error_from_code(cls.code, "Other words.").detail == str(cls("Other words.")) == "Other words."


@pytest.mark.parametrize("code", ["", "gone_since_version_9", "BatonError"])
def test_an_unknown_code_is_a_fault_of_our_own(code: str) -> None:
    assert type(make_error_from_code(code)) is InternalError


def test_the_protocols_codes_have_the_protocols_status() -> None:
    promised = {
        "thread_unavailable": 404,
        "message_id_conflict": 409,
        "agent_mismatch": 409,
        "message_too_large": 413,
        "unsupported_part": 422,
        "invalid_sequence": 422,
        "token_expired": 401,
    }
    assert {code: make_error_from_code(code).status for code in promised} == promised


def test_every_failure_of_the_model_is_a_bad_gateway() -> None:
    failures = [cls for cls in CLASSES if issubclass(cls, ModelError) and not issubclass(cls, SpendingRefusal)]
    assert {cls.status for cls in failures} == {502}
