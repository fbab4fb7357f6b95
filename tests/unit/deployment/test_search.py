"""Operators' commands for the search of a deployed stage."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from baton_deployment import search
from baton_deployment.errors import DeploymentError
from baton_deployment.search import SearchRequest, administer, is_sound

OUTPUTS = {"SearchFunctionName": "baton-dev-SearchFunction-1", "FunctionRoleArns": "arn:turns,arn:http"}


class Lambda:
    """AWS Lambda with one function, which gives ``answers`` one after the other."""

    def __init__(self, *answers: dict[str, Any], error: bool = False) -> None:
        self._answers = list(answers)
        self._error = error
        self.events: list[dict[str, Any]] = []

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
        assert FunctionName == OUTPUTS["SearchFunctionName"]
        self.events.append(json.loads(Payload))
        answer = {"Payload": io.BytesIO(json.dumps(self._answers.pop(0)).encode())}
        return answer | {"FunctionError": "Unhandled"} if self._error else answer


def test_a_migration_lets_the_functions_in_if_asked_to() -> None:
    client = Lambda({"indices": []}, {"indices": []})
    assert administer(client, OUTPUTS, SearchRequest("migrate")) == {"indices": []}  # type: ignore[arg-type]
    administer(client, OUTPUTS, SearchRequest("migrate", grants=True))  # type: ignore[arg-type]
    assert client.events == [{"command": "migrate"}, {"command": "migrate", "roles": ["arn:turns", "arn:http"]}]


def test_a_rebuild_is_continued_where_the_function_has_stopped() -> None:
    rest = {"tenants": ["acme"], "positions": {"acme": ["assistant", "next"]}}
    client = Lambda({"is_complete": False, **rest}, {"is_complete": True, "tenants": [], "positions": {}})
    assert administer(client, OUTPUTS, SearchRequest("rebuild"))["is_complete"]  # type: ignore[arg-type]
    assert client.events == [{"command": "rebuild"}, {"command": "rebuild", **rest}]


def test_a_rebuild_that_gets_no_further_ends_with_advice() -> None:
    client = Lambda(*[{"is_complete": False, "tenants": ["acme"], "positions": {}}] * 3)
    with pytest.raises(DeploymentError, match="Name one tenant"):
        administer(client, OUTPUTS, SearchRequest("rebuild"))  # type: ignore[arg-type]
    assert len(client.events) == 2


def test_a_rebuild_that_takes_too_many_invocations_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_INVOCATIONS", 3)
    client = Lambda(*[{"is_complete": False, "tenants": ["acme"], "positions": {}, "documents_started": 9}] * 3)
    with pytest.raises(DeploymentError, match=r"is not done .* Repeat the command"):
        administer(client, OUTPUTS, SearchRequest("rebuild"))  # type: ignore[arg-type]


def test_tenants_to_verify_are_passed_on() -> None:
    client = Lambda({"tenants": []})
    administer(client, OUTPUTS, SearchRequest("verify", ["acme"]))  # type: ignore[arg-type]
    assert client.events == [{"command": "verify", "tenants": ["acme"]}]


def test_a_failure_of_the_function_and_a_stack_without_search_are_reported() -> None:
    client = Lambda({"errorType": "SearchUnavailable", "errorMessage": "refused"}, error=True)
    with pytest.raises(DeploymentError, match="SearchUnavailable: refused"):
        administer(client, OUTPUTS, SearchRequest("migrate"))  # type: ignore[arg-type]
    with pytest.raises(DeploymentError, match="SearchEngine=none"):
        administer(client, {}, SearchRequest("migrate"))  # type: ignore[arg-type]


def test_a_result_is_sound_unless_a_tenant_is_not() -> None:
    assert is_sound({"indices": []})
    assert is_sound({"is_complete": True, "tenants": ["acme"]})
    assert not is_sound({"tenants": [{"tenant_id": "acme", "is_sound": True}, {"tenant_id": "b", "is_sound": False}]})


def test_a_move_is_continued_until_no_owner_is_left_and_its_counts_are_added() -> None:
    client = Lambda(
        {"owners_moved": 3, "documents_copied": 70, "owners_left": 1, "is_complete": False},
        {"owners_moved": 1, "documents_copied": 5, "owners_left": 0, "is_complete": True, "next": "Deploy."},
    )
    lines: list[str] = []
    result = administer(client, OUTPUTS, SearchRequest("move", ["acme"], ["rental"]), report=lines.append)  # type: ignore[arg-type]
    assert result == {
        "owners_moved": 4,
        "documents_copied": 75,
        "owners_left": 0,
        "is_complete": True,
        "next": "Deploy.",
    }
    assert client.events == [{"command": "move", "tenants": ["acme"], "agents": ["rental"]}] * 2
    assert lines == ["3 owners moved, 70 documents copied", "4 owners moved, 75 documents copied"]


def test_a_move_whose_owners_are_written_all_the_time_ends_with_advice() -> None:
    client = Lambda(*[{"owners_moved": 0, "documents_copied": 0, "owners_left": 1, "is_complete": False}] * 3)
    with pytest.raises(DeploymentError, match="Name one tenant"):
        administer(client, OUTPUTS, SearchRequest("move"))  # type: ignore[arg-type]
    assert len(client.events) <= 2
