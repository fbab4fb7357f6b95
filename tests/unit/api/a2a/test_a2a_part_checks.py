"""Parts that would be lost or changed on their way are refused, and the answer says what is wrong."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from a2a.utils.errors import InvalidParamsError
from hypothesis import given
from hypothesis import strategies as st

from baton.api.a2a.json_text import MAX_DATA_VALUES, MAX_EXACT, check_parts
from tests.unit.api.a2a_client import A2AServed, Json, blocking, message


def make_older_params(part: Json) -> Json:
    return {"message": {"parts": [part]}}


def file_of(text: Any) -> Json:
    return make_older_params({"kind": "file", "file": {"bytes": text}})


def problem(params: Json, *, is_older: bool) -> str:
    """Its problem; empty if there is none."""
    try:
        check_parts(params, is_older=is_older)
    except InvalidParamsError as error:
        return str(error.message)
    return ""


@given(st.binary(min_size=1, max_size=100))
def test_what_is_base64_is_taken(content: bytes) -> None:
    standard, for_urls = base64.b64encode(content).decode(), base64.urlsafe_b64encode(content).decode()
    assert problem(file_of(standard), is_older=True) == ""
    for text in (standard, standard.rstrip("="), for_urls, for_urls.rstrip("=")):
        assert problem(make_older_params({"raw": text}), is_older=False) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!!!!", "is not base64"),
        ("abc", "cut off"),
        ("a", "cut off"),
        ("YWJj=", "cut off"),
        ("====", "is empty"),
        ("", "is empty"),
        ("-_-_", "is not base64"),
    ],
)
def test_what_is_no_base64_is_reported_as_such(text: str, expected: str) -> None:
    reported = problem(file_of(text), is_older=True)
    assert reported.startswith("params.message.parts[0].file.bytes")
    assert expected in reported


@pytest.mark.parametrize(
    ("text", "expected"), [("!!!!", "is not base64"), ("a", "cut off"), ("", "is empty"), ("a+_b", "is not base64")]
)
def test_likewise_in_1_0(text: str, expected: str) -> None:
    assert expected in problem(make_older_params({"raw": text}), is_older=False)


@pytest.mark.parametrize("number", [MAX_EXACT + 1, -MAX_EXACT - 1, 2**63, 10**400])
def test_numbers_that_would_be_rounded_are_refused(number: int) -> None:
    for data in ({"a": number}, {"a": [1, {"b": number}]}):
        assert "as texts" in problem(make_older_params({"kind": "data", "data": data}), is_older=True)
        assert "as texts" in problem(make_older_params({"data": data}), is_older=False)


@pytest.mark.parametrize(
    "data", [{"a": MAX_EXACT}, {"a": 1.5e300}, {"a": True}, {"a": str(2**64)}, {"a": [None, -MAX_EXACT]}]
)
def test_numbers_that_stay_the_same_are_taken(data: Json) -> None:
    assert problem(make_older_params({"kind": "data", "data": data}), is_older=True) == ""


def test_data_has_a_limited_number_of_values() -> None:
    assert problem(make_older_params({"kind": "data", "data": {"a": [1] * (MAX_DATA_VALUES - 2)}}), is_older=True) == ""
    assert "values" in problem(make_older_params({"kind": "data", "data": {"a": [1] * MAX_DATA_VALUES}}), is_older=True)
    half = {"kind": "data", "data": {"a": [1] * (MAX_DATA_VALUES // 2)}}
    assert "values" in problem({"message": {"parts": [half, half]}}, is_older=True)


async def test_a_call_is_answered_with_what_is_wrong() -> None:
    served = A2AServed()
    parts = [{"kind": "file", "file": {"bytes": "!!!!", "mimeType": "text/plain"}}]
    answer = await served.call("message/send", blocking(message("x", "m-1") | {"parts": parts}))
    assert answer["error"] == {"code": -32602, "message": "params.message.parts[0].file.bytes is not base64."}
    parts = [{"kind": "data", "data": {"a": [0] * 400_000}}]  # type: ignore[dict-item]
    answer = await served.call("message/send", blocking(message("x", "m-1") | {"parts": parts}), request_id=None)
    assert answer["error"]["code"] == -32600
