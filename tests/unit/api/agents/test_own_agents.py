"""A tenant's own agents: made, changed, restored and deleted over the API."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton import Agent, RunContext
from baton.domain.agents.agent import AgentDefinition
from baton.domain.memory.procedure import Procedure, ProcedureAction, ProcedureDecision, ProcedureScope, parse_draft
from baton.domain.tenants.tenant_limits import TenantLimits
from baton.tenants.registry import tenant_agents
from baton_testing.fakes.agents.shipped_agents import agent
from tests.contracts.documents import new_document
from tests.contracts.sources import new_source
from tests.examples import examples
from tests.harness.coded import make_coded_harness
from tests.harness.harness import Harness
from tests.unit.api.authors import TUTOR, WRITE, Authors
from tests.unit.api.served import Served

HELPER = agent(
    "helper",
    main=False,
    description="Helps the others.",
    triggers=("help me out",),
    workflow={
        "name": "helping",
        "states": [
            {
                "name": "ASKING",
                "label": "Asking",
                "collects": {"type": "object", "properties": {"what": {"type": "string"}}},
                "transitions": [{"to": "DONE", "when": {"field": "what", "in": ["a", "b"]}}],
            },
            {"name": "DONE", "label": "Done", "final": True},
        ],
    },
)


@pytest.fixture
def authors() -> Authors:
    return Authors(Served(Harness(others=(HELPER,))))


async def test_an_agent_is_made_and_read(authors: Authors) -> None:
    response = await authors.put("tutor", TUTOR)
    assert response.status_code == 201
    assert response.headers["etag"] == '"1"'
    change = response.json()
    assert (change["version"], change["isNew"], change["isStored"], change["warnings"]) == (1, True, True, [])
    read = await authors.call("GET", "/agents/tutor")
    assert read.headers["etag"] == '"1"'
    assert read.json() == change["agent"]
    assert read.json()["systemPrompt"] == TUTOR["systemPrompt"]
    listed = (await authors.served.get("/agents")).json()["items"]
    assert [item["id"] for item in listed] == ["assistant", "helper", "tutor"]
    assert "systemPrompt" not in listed[-1]


async def test_what_is_served_can_be_sent_back_for_any_agent(authors: Authors) -> None:
    for agent_id in ("assistant", "helper"):
        served = (await authors.call("GET", f"/agents/{agent_id}")).json()
        copy = served | {"id": f"{agent_id}-2", "triggers": []}
        first = await authors.put(f"{agent_id}-2", copy)
        assert first.status_code == 201, first.text
        read = (await authors.call("GET", f"/agents/{agent_id}-2")).json()
        assert read == copy | {"version": 1}
        second_answer = await authors.put(f"{agent_id}-2", read)
        assert (second_answer.status_code, second_answer.json()["isStored"], second_answer.json()["changes"]) == (
            200,
            False,
            [],
        )


async def test_yaml_is_taken_as_in_a_file(authors: Authors) -> None:
    text = "name: Tutor\ndescription: Helps.\nmain: true\nsystem_prompt: |\n  Ask.\n"
    assert (await authors.put("tutor", text)).status_code == 201
    assert (await authors.call("GET", "/agents/tutor")).json()["systemPrompt"] == "Ask."


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (TUTOR | {"model": {"temprature": 1}}, "model.temprature: there is no such field (did you mean temperature?)"),
        (TUTOR | {"memory": {"semanticTopK": 99}}, "memory.semanticTopK: Input should be less than or equal to 50."),
        ({"name": "Tutor", "description": "Helps."}, "system_prompt: Field required: what the model is told first."),
        (TUTOR | {"tools": ["find"]}, "tools.0: must be a mapping of fields with one of the types http, mcp, openapi,"),
        (TUTOR | {"tools": [{"name": "find"}]}, "tools.0: its type is missing: http, mcp, openapi, python."),
        (TUTOR | {"tools": [{"type": "htp"}]}, "tools.0: there is no type 'htp' (did you mean http?)."),
        (TUTOR | {"memory": "much"}, "memory: must be a mapping of fields."),
        (TUTOR | {"id": "other"}, "id: must be 'tutor', as in the address."),
        (TUTOR | {"subAgents": ["nobody"]}, "sub_agents.0: there is no agent 'nobody'."),
        (TUTOR | {"subAgents": ["librarian"]}, "sub_agents.0: there is no agent 'librarian'."),
        (TUTOR | {"handoffs": [{"agent": "tutor"}]}, "an agent cannot hand over to itself."),
        (TUTOR | {"sentences": {"en": {"hello": "Hi"}}}, "sentences.en.hello: there is no such sentence"),
        (TUTOR | {"sentences": {"en": {"exit": "{bye}"}}}, "sentences.en.exit: nothing fills {bye} (available: none)"),
        (TUTOR | {"triggers": ["(a+)+$(?=b)"]}, "triggers.0: the pattern"),
        (TUTOR | {"triggers": [".*"]}, "triggers.0: the trigger '.*' matches nearly every message."),
        (TUTOR | {"answerSchema": {"type": "string"}}, "answerSchema: must be a JSON Schema of type object."),
        (TUTOR | {"answerSchema": {"type": "object", "$ref": "#/x"}}, "answerSchema: $ref '#/x' must be '#' or"),
        (TUTOR | {"answerSchema": {"type": "object", "allOf": [{}] * 5_000}}, "it has more than 1,000 subschemas."),
        (
            TUTOR | {"answerSchema": {"type": "object", "items": {"pattern": "[é-ü]" * 600}}},
            "answerSchema: is no JSON Schema at items: a pattern has at most 1,000 characters.",
        ),
        (TUTOR | {"systemPrompt": "x" * 70_000}, "it is longer than 64 KB."),
        ("name: [1\n", "line 2: "),
        ("a: &a [x, x]\nb: [*a, *a]\n", "aliases (*name) are not allowed."),
        ("name: 1\nname: 2\n", "line 2: name: the field occurs twice."),
        ("- 1\n", "The body must be a mapping of fields."),
        (b"\xff\xfe\x00", "The body must be YAML, encoded as UTF-8."),
        ("name: 2026-02-31\n", "a value is not valid for its type, such as a date that does not exist."),
        ("x: " + "[" * 200, "it is nested more than 100 deep."),
        ("name: T\ndescription: d\nsystem_prompt: p\ntemperature: .inf\n", "JSON does not know."),
        (
            "name: T\ndescription: d\nsystem_prompt: p\ntools: [{type: http, name: t, description: d, "
            "url: 'https://a.example', parameters: {type: object, default: !!binary /w==}}]\n",
            "it must hold JSON values only: no binary data or infinite numbers, and dates in quotes.",
        ),
    ],
)
async def test_an_invalid_agent_is_refused_with_its_fields_and_not_stored(
    authors: Authors, body: Any, expected: str
) -> None:
    for dry_run in ("false", "true"):
        refused = await authors.put("tutor", body, dryRun=dry_run)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_agent")
        assert expected in refused.json()["detail"]
    assert (await authors.call("GET", "/agents/tutor")).status_code == 404


YAML = """\
name: Tutor
description: Helps.
main: true
# Errors that it gets.
system_prompt: |
  You help the user.
  Never tell the answer.
memory:
  semantic_top_k: 3
  retrieved_tokens: many
sub_agents:
- nobody
"""


async def test_the_problems_of_yaml_have_lines(authors: Authors) -> None:
    refused = (await authors.put("tutor", YAML)).json()
    assert refused["errors"] == [
        {
            "field": "memory.retrieved_tokens",
            "message": "Input should be a valid integer, unable to parse string as an integer",
            "line": 10,
        }
    ]
    refused = (await authors.put("tutor", YAML.replace("many", "500"))).json()
    assert refused["errors"] == [{"field": "sub_agents.0", "message": "there is no agent 'nobody'", "line": 12}]
    refused = (await authors.put("tutor", "name: [1\n")).json()
    assert [error["line"] for error in refused["errors"]] == [2]
    refused = (await authors.put("tutor", TUTOR | {"main": 7})).json()
    assert [(error["field"], error["line"]) for error in refused["errors"]] == [("main", None)]
    assert "errors" not in (await authors.call("GET", "/agents/tutor")).json()


async def test_an_agent_is_read_and_written_as_yaml(authors: Authors) -> None:
    written = (
        "name: Tutor\ndescription: Helps.\nsystem_prompt: |-\n  You help the user.\n  Never tell the answer.\n"
        "memory:\n  semantic_top_k: 3\nmain: true\n"
    )
    (await authors.put("tutor", written)).raise_for_status()
    as_yaml = {"Accept": "application/yaml"}
    read = await authors.call("GET", "/agents/tutor", headers=as_yaml)
    assert (read.text, read.headers["etag"]) == ("id: tutor\n" + written, '"1"')
    assert read.headers["content-type"] == "application/yaml"
    second_answer = (await authors.put("tutor", read.text, headers={"If-Match": '"1"'})).json()
    assert (second_answer["isStored"], second_answer["version"]) == (False, 1)
    (await authors.put("tutor", TUTOR)).raise_for_status()
    first = await authors.call("GET", "/agents/tutor/versions/1", headers=as_yaml)
    assert first.text == read.text
    shipped = await authors.call("GET", "/agents/assistant", headers=as_yaml)
    assert shipped.text.startswith("id: assistant\nname: Assistant\n")
    assert "etag" not in shipped.headers
    refused = await authors.served.request("GET", "/agents/assistant")
    assert "systemPrompt" not in refused.json()
    async with authors.served._client("eve") as client:
        refused = await client.get("/agents/assistant", headers=as_yaml)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


TOOL = {"type": "http", "name": "look", "description": "Looks.", "url": "https://api.example.com/x"}
SECRET = {"secret": "baton/model-key"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tools": [TOOL | {"headers": {"X-Note": SECRET}}]}, "tools.0.headers.X-Note: a tenant's agent cannot use"),
        (
            {"tools": [TOOL | {"headers": {"X-Note": {"parameter": "/prod/key"}}}]},
            "cannot use the deployment's secrets",
        ),
        (
            {"tools": [{"type": "mcp", "name": "m", "url": "https://m.example", "headers": {"Authorization": SECRET}}]},
            "tools.0.headers.Authorization: a tenant's agent cannot use",
        ),
        ({"tools": [TOOL | {"headers": {"Authorization": "Bearer x"}}]}, "tools.0.headers: Authorization holds a cred"),
        (
            {"main": False, "remote": {"cardUrl": "https://a.example", "headers": {"X-Api-Key": SECRET}}},
            "remote.headers.X-Api-Key: a tenant's agent cannot use the deployment's secrets",
        ),
        (
            {"tools": [{"type": "python", "name": "p", "description": "d", "entryPoint": "os:system"}]},
            "tools.0.type: functions of the deployment",
        ),
        ({"tools": [{"type": "openapi", "spec": "assistant.yaml", "operationId": "x"}]}, "tools.0.spec: must be a URL"),
        ({"tools": [{"type": "openapi", "spec": "file:///etc/passwd", "operationId": "x"}]}, "absolute https URL"),
        ({"tools": [TOOL | {"url": "http://169.254.169.254/latest"}]}, "tools.0.url: must be an https URL"),
        ({"main": False, "remote": {"cardUrl": "http://10.0.0.1/card"}}, "remote.cardUrl: String should match"),
        ({"model": {"name": "the-most-expensive"}}, "model.name: this deployment offers: light-model, test-model"),
        (
            {"model": {"fallback": ["test-model", "the-most-expensive"]}},
            "model.fallback.1: this deployment offers: light-model, test-model",
        ),
        (
            {"model": {"extra": {"api_base": "https://evil.example"}}},
            "model.extra: fields of requests are for the agents",
        ),
        ({"tools": [TOOL | {"name": f"t{index}"} for index in range(21)]}, "tools: a tenant's agent has at most 20"),
        ({"triggers": [f"(a|b){{{n},20}}x" for n in range(11)]}, "triggers: a tenant's agent has at most 10 patterns"),
        ({"triggers": ["((a{1,100}){1,100}){1,100}"]}, "triggers.0: the pattern"),
        ({"triggers": ["(a|b|[c-z]{1,9}){1,60}x[0-9]{1,900}y"]}, "triggers.0: the pattern is too large"),
        (
            {
                "workflow": {
                    "name": "w",
                    "produces": "skill",
                    "states": [{"name": "A", "label": "a"}, {"name": "B", "label": "b", "final": True}],
                }
            },
            "requires skill:create",
        ),
        (
            {
                "workflow": {
                    "name": "w",
                    "states": [
                        {
                            "name": "A",
                            "label": "a",
                            "collects": {
                                "type": "object",
                                "unevaluatedProperties": {"$ref": "http://169.254.169.254/x"},
                            },
                        },
                        {"name": "B", "label": "b", "final": True},
                    ],
                }
            },
            "must not use $ref",
        ),
    ],
)
async def test_a_tenants_agent_gets_nothing_that_is_the_deployments(
    authors: Authors, fields: dict[str, Any], expected: str
) -> None:
    refused = await authors.put("tutor", TUTOR | fields)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_agent"), refused.text
    assert expected in refused.json()["detail"]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "ROLLBACK"])
async def test_agents_that_ship_are_not_changed(authors: Authors, method: str) -> None:
    if method == "PUT":
        refused = await authors.put("assistant", TUTOR)
    elif method == "DELETE":
        refused = await authors.call("DELETE", "/agents/assistant")
    else:
        refused = await authors.call("POST", "/agents/assistant/rollback", json={"version": 1})
    assert (refused.status_code, refused.json()["code"]) == (409, "agent_id_taken")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/agents/tutor", TUTOR),
        ("DELETE", "/agents/tutor", None),
        ("POST", "/agents/tutor/rollback", {"version": 1}),
        ("GET", "/agents/tutor/versions", None),
        ("GET", "/agents/tutor/versions/1", None),
    ],
)
async def test_a_user_who_may_not_write_agents_changes_none(
    authors: Authors, method: str, path: str, body: Any
) -> None:
    await authors.put("tutor", TUTOR)
    async with authors.served._client("bob") as client:
        refused = await client.request(method, path, json=body)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    denied = authors.served.harness.audit.records[-1]
    assert (denied.outcome, denied.detail) == ("denied", {"permission": WRITE})


async def test_nobody_gains_an_agent_that_its_permissions_hide(authors: Authors) -> None:
    hidden = TUTOR | {"requiredPermissions": ["hr:read"], "systemPrompt": "The salaries are ..."}
    warned = await authors.put("tutor", hidden)
    assert warned.json()["warnings"] == ["required_permissions: you lack hr:read, so the agent will not exist for you."]
    calls = [
        await authors.put("tutor", TUTOR),
        await authors.put("tutor", TUTOR, dryRun="true"),
        await authors.call("DELETE", "/agents/tutor"),
        await authors.call("GET", "/agents/tutor/versions"),
        await authors.call("GET", "/agents/tutor/versions/1"),
        await authors.call("POST", "/agents/tutor/rollback", json={"version": 1}),
        await authors.call("GET", "/agents/tutor"),
        await authors.put("friend", TUTOR | {"subAgents": ["tutor"]}),
    ]
    assert [call.json()["code"] for call in calls] == ["unknown_agent"] * 7 + ["invalid_agent"]
    assert (await authors.put("tutor", TUTOR, "hr:read")).status_code == 200
    # The version that was hidden stays hidden.
    assert (await authors.call("GET", "/agents/tutor/versions/1")).json()["code"] == "unknown_agent"
    second_answer = await authors.call("POST", "/agents/tutor/rollback", json={"version": 1})
    assert second_answer.json()["code"] == "unknown_agent"


async def test_what_belongs_to_a_deleted_agent_is_not_gained_by_making_it_again(authors: Authors) -> None:
    hidden = {**TUTOR, "requiredPermissions": ["board"]}
    await authors.put("secret", hidden, "board")
    assert (await authors.call("DELETE", "/agents/secret", "board")).status_code == 204
    for query in ({}, {"dryRun": True}):
        assert (await authors.put("secret", TUTOR, user="eve", **query)).json()["code"] == "unknown_agent"
    assert (await authors.put("secret", TUTOR, "board")).status_code == 201


async def test_a_dry_run_shows_the_changes_and_stores_nothing(authors: Authors) -> None:
    await authors.put("tutor", TUTOR)
    better = TUTOR | {"systemPrompt": "Ask two questions.", "memory": {"retrievedTokens": 10}}
    reported = await authors.put("tutor", better, dryRun="true")
    assert reported.status_code == 200
    assert reported.json()["changes"] == [
        {"field": "memory.retrievedTokens", "before": 2000, "after": 10},
        {"field": "systemPrompt", "before": "Ask one question at a time.", "after": "Ask two questions."},
    ]
    assert (reported.json()["version"], reported.json()["isStored"]) == (2, False)
    assert (await authors.call("GET", "/agents/tutor")).json()["version"] == 1


async def test_a_version_that_others_have_replaced_is_not_written_over(authors: Authors) -> None:
    await authors.put("tutor", TUTOR)
    own_agent = (await authors.call("GET", "/agents/tutor")).json()
    await authors.put("tutor", TUTOR | {"name": "Tutor of theirs"}, user="bob")
    for refused in (
        await authors.put("tutor", own_agent | {"name": "Mine"}),
        await authors.put("tutor", TUTOR | {"name": "Mine"}, headers={"If-Match": '"1"'}),
        await authors.put("tutor", TUTOR | {"name": "Mine"}, headers={"If-None-Match": "*"}),
        await authors.call("DELETE", "/agents/tutor", headers={"If-Match": '"1"'}),
        await authors.put("other", TUTOR, headers={"If-Match": "*"}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (412, "agent_version_mismatch")
    stored = await authors.put("tutor", TUTOR | {"name": "Mine"}, headers={"If-Match": '"2"'})
    assert stored.json()["version"] == 3
    assert (await authors.put("tutor", TUTOR, headers={"If-Match": "3"})).json()["code"] == "invalid_request"


async def test_a_repeated_change_makes_one_version_and_one_record(authors: Authors) -> None:
    for _ in range(3):
        second_answer = await authors.put("tutor", TUTOR, headers={"If-None-Match": "*"})
        assert second_answer.json()["version"] == 1
    assert [(record.action, record.outcome, record.detail) for record in authors.served.harness.audit.records] == [
        ("agent.write", "created", {"agentId": "tutor", "version": 1})
    ]


async def test_changes_at_once_are_all_kept(authors: Authors) -> None:
    results = await asyncio.gather(*(authors.put(f"tutor-{number}", TUTOR) for number in range(4)))
    assert [item.status_code for item in results] == [201] * 4
    assert len((await authors.call("GET", "/agents")).json()["items"]) == 6


async def test_an_agent_is_rolled_back_to_any_version_and_back_from_its_deletion(authors: Authors) -> None:
    await authors.put("tutor", TUTOR, comment="The first")
    await authors.put("tutor", TUTOR | {"name": "Worse"})
    back = await authors.call("POST", "/agents/tutor/rollback", json={"version": 1, "comment": "It was better"})
    assert (back.status_code, back.json()["version"], back.json()["agent"]["name"]) == (200, 3, "Tutor")
    for _ in range(2):
        assert (await authors.call("DELETE", "/agents/tutor")).status_code == 204
    assert (await authors.call("GET", "/agents/tutor")).json()["code"] == "unknown_agent"
    assert (await authors.call("POST", "/agents/tutor/rollback", json={"version": 4})).status_code == 422
    assert (await authors.call("POST", "/agents/tutor/rollback", json={"version": 2})).json()["version"] == 5
    assert (await authors.call("GET", "/agents/tutor")).json()["name"] == "Worse"
    page = (await authors.call("GET", "/agents/tutor/versions", params={"limit": 3})).json()
    assert [(item["version"], item["isDeletion"], item["restores"], item["comment"]) for item in page["items"]] == [
        (5, False, 2, None),
        (4, True, None, None),
        (3, False, 1, "It was better"),
    ]
    rest = (await authors.call("GET", "/agents/tutor/versions", params={"cursor": page["nextCursor"]})).json()
    assert [item["version"] for item in rest["items"]] == [2, 1]
    first = (await authors.call("GET", "/agents/tutor/versions/1")).json()
    assert (first["comment"], first["agent"]["name"]) == ("The first", "Tutor")
    for missing in (
        await authors.call("GET", "/agents/tutor/versions/6"),
        await authors.call("POST", "/agents/tutor/rollback", json={"version": 6}),
    ):
        assert (missing.status_code, missing.json()["code"]) == (404, "unknown_agent_version")
    records = authors.served.harness.audit.records
    outcomes = [record.outcome for record in records if record.outcome != "not_found"]
    assert outcomes == ["created", "changed", "restored", "deleted", "restored"]
    assert "Ask" not in json.dumps([record.detail for record in records])


async def test_an_agent_that_others_refer_to_is_not_deleted(authors: Authors) -> None:
    await authors.put("maths", TUTOR)
    await authors.put("tutor", TUTOR | {"handoffs": [{"agent": "maths", "reason": "For sums."}]})
    refused = await authors.call("DELETE", "/agents/maths")
    assert (refused.status_code, refused.json()["code"]) == (409, "agent_in_use")
    assert "tutor" in refused.json()["detail"]
    await authors.put("tutor", TUTOR)
    assert (await authors.call("DELETE", "/agents/maths")).status_code == 204
    assert (await authors.call("DELETE", "/agents/nobody")).json()["code"] == "unknown_agent"


@pytest.mark.parametrize("stored", ["sources", "documents", "procedures"])
async def test_an_agent_is_not_deleted_before_what_belongs_to_it(authors: Authors, stored: str) -> None:
    await authors.put("tutor", TUTOR)
    harness = authors.served.harness
    ada = harness.ada
    fields = {"name": "Sums", "description": "Adds.", "triggers": ["add"], "steps": [{"text": "Add."}]}
    procedure = Procedure(parse_draft(fields), ada.tenant_id, "tutor", "ada", harness.clock.now())
    await harness.procedures.put(ada, replace(procedure, scope=ProcedureScope.TENANT))
    if stored == "sources":
        await harness.sources.create(ada, new_source(agent_id="tutor"))
    elif stored == "documents":
        await harness.documents.create(ada, new_document(agent_id="tutor"))
    else:
        await harness.procedures.put(ada, procedure)
    refused = await authors.call("DELETE", "/agents/tutor")
    assert (refused.status_code, refused.json()["code"]) == (409, "agent_in_use")
    assert refused.json()["detail"].endswith(f"its {stored}.")
    assert (await authors.call("GET", "/agents/tutor")).status_code == 200
    if stored == "procedures":
        retired = ProcedureDecision(ProcedureAction.RETIRE, "ada", harness.clock.now())
        await harness.procedures.decide(ada, "tutor", procedure.id, 1, retired)
        assert (await authors.call("DELETE", "/agents/tutor")).status_code == 204


async def test_a_procedure_counts_behind_however_many_newer_ones_of_the_tenant(
    authors: Authors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_agents, "PAGE", 1)
    await authors.put("tutor", TUTOR)
    harness = authors.served.harness
    fields = {"name": "Sums", "description": "Adds.", "triggers": ["add"], "steps": [{"text": "Add."}]}
    procedure = Procedure(parse_draft(fields), "acme", "tutor", "ada", harness.clock.now())
    await harness.procedures.put(harness.ada, procedure)
    for number in range(25):
        later = harness.clock.now() + timedelta(seconds=number + 1)
        newer = replace(procedure, draft=replace(procedure.draft, name=f"Sums {number}"), scope=ProcedureScope.TENANT)
        await harness.procedures.put(harness.ada, replace(newer, created_at=later))
    refused = await authors.call("DELETE", "/agents/tutor")
    assert (refused.status_code, refused.json()["code"]) == (409, "agent_in_use")


async def test_the_author_is_warned_of_what_others_refer_to(authors: Authors) -> None:
    await authors.put("maths", TUTOR | {"triggers": ["do sums"]})
    await authors.put("physics", TUTOR)
    targets = [{"agent": item, "reason": "For sums."} for item in ("maths", "physics")]
    await authors.put("tutor", TUTOR | {"handoffs": targets})
    warned = await authors.put("physics", TUTOR | {"triggers": ["Do  sums"]}, dryRun="true")
    [warning] = warned.json()["warnings"]
    assert warning.startswith("tutor: handoffs.1: 'physics' has the trigger")


async def test_the_number_of_a_tenants_agents_and_their_text_are_limited(
    authors: Authors, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = authors.served.harness
    await harness.tenant_limits.put(harness.ada, TenantLimits(agents=2, revision=1))
    assert [(await authors.put(f"tutor-{n}", TUTOR)).status_code for n in range(3)] == [201, 201, 409]
    assert (await authors.put("tutor-1", TUTOR | {"name": "Other"})).status_code == 200
    monkeypatch.setattr(tenant_agents, "MAX_DEFINITIONS", 1_000)
    refused = await authors.put("tutor-1", TUTOR | {"systemPrompt": "x" * 1_000})
    assert refused.json()["code"] == "agent_limit_reached"


async def test_a_body_that_is_too_large_or_no_json_is_refused(authors: Authors) -> None:
    assert (await authors.put("tutor", "x" * 300_000)).json()["code"] == "message_too_large"
    for body in (b"{", b"[1]", b'{"a": NaN}', b'{"a":' * 5_000 + b"1" + b"}" * 5_000):
        refused = await authors.put("tutor", body, headers={"Content-Type": "application/json"})
        assert (refused.status_code, refused.json()["code"]) == (400, "malformed_json")
    schema = b'{"properties": {"a":' * 300 + b"{}" + b"}}" * 300
    nested = (
        b'{"name":"T","description":"d","systemPrompt":"p","tools":[{"type":"http","name":"t","description":"d",'
        + (b'"url":"https://a.example","parameters":' + schema + b"}]}")
    )
    refused = await authors.put("tutor", nested, headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_agent")


TENANTS = ("acme", "globex", "initech")
IDS = ("tutor", "maths", "physics")


@settings(max_examples=examples(15))
@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(TENANTS),
            st.sampled_from(("put", "refer", "delete", "restore")),
            st.sampled_from(IDS),
            st.sampled_from(IDS),
        ),
        max_size=10,
    )
)
async def test_an_agent_exists_for_its_tenant_only(changes: list[tuple[str, str, str, str]]) -> None:
    authors = Authors(Served())
    model: dict[str, dict[str, str]] = {tenant: {} for tenant in TENANTS}
    for number, (tenant, action, agent_id, other) in enumerate(changes):
        name = f"{agent_id} {number} of {tenant}"
        own = model[tenant]
        if action in ("put", "refer"):
            body = TUTOR | {"name": name, "subAgents": [other] if action == "refer" else []}
            answer = await authors.put(agent_id, body, tenant=tenant)
            if answer.is_success:
                own[agent_id] = name
            assert answer.is_success or (action == "refer" and (other not in own or other == agent_id))
        elif action == "delete":
            answer = await authors.call("DELETE", f"/agents/{agent_id}", tenant=tenant)
            if answer.is_success:
                own.pop(agent_id, None)
        else:
            versions = await authors.call("GET", f"/agents/{agent_id}/versions", tenant=tenant)
            existing = [item for item in versions.json().get("items", ()) if not item["isDeletion"]]
            if existing:
                answer = await authors.call(
                    "POST", f"/agents/{agent_id}/rollback", tenant=tenant, json={"version": existing[-1]["version"]}
                )
                if answer.is_success:
                    own[agent_id] = answer.json()["agent"]["name"]
        for entry in TENANTS:
            listed = (await authors.call("GET", "/agents", tenant=entry)).json()["items"]
            assert {one["id"]: one["name"] for one in listed if one["version"]} == model[entry]
            assert all(one["name"].endswith(f" of {entry}") for one in listed if one["version"])


def test_an_owner_is_no_field_of_a_definition() -> None:
    definition = AgentDefinition.model_validate({"id": "a", "name": "A", "description": "d", "system_prompt": "p"})
    assert "tenantId" not in definition.of_tenant("acme", 1).model_dump(by_alias=True)


async def test_many_problems_of_a_definition_are_reported_up_to_a_limit(authors: Authors) -> None:
    text = "name: T\ndescription: d\nsystem_prompt: p\n" + "".join(f"x{number}: 1\n" for number in range(5_000))
    refused = (await authors.put("tutor", text)).json()
    assert [error["line"] for error in refused["errors"]] == list(range(4, 24))
    assert refused["detail"].endswith("and 4980 more.")


async def test_authors_are_shown_the_functions_of_an_agent_in_python() -> None:
    written = Agent("assistant", "Sell.", main=True)

    @written.run
    async def run(context: RunContext, message: str) -> str:
        return message

    @written.before_tool
    def check_amount(name: str) -> None:
        return None

    served = Served(make_coded_harness(written))
    visible = (await Authors(served).call("GET", "/agents/assistant")).json()
    assert visible["functions"] == ["run", "before_tool check_amount"]
    assert "functions" not in (await served.get("/agents/assistant")).json()
    as_yaml = await Authors(served).call("GET", "/agents/assistant", headers={"Accept": "application/yaml"})
    assert as_yaml.text.startswith(
        "# In Python: run, before_tool check_amount. A copy of this definition has none of these functions.\nid: assis"
    )
