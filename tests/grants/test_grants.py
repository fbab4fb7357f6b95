"""Every AWS call of the end-to-end and fault suites is allowed by its function's role, and nothing else is granted.

The local cloud writes calls down while those suites run (``BATON_LOCAL_RECORDINGS``); ``make test`` runs this when
they are over. Whether all grants are used is seen after ``make all`` only: what was not run has unused grants.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from baton_local.root import ROOT
from tests.grants.declared import bucket_policy, list_implied, roles, template
from tests.grants.simulator import Asked, Decision, Grant, decide, grants

BODIES = "What does not fit into an item is in S3: whoever reads or writes messages may meet a large one."
MISSING = "Without it S3 answers 403, not 404, for an object that is not there, and an object is rarely missing."
LEFT_BEHIND = "Forgets connections that have gone, a cancel that was obeyed, and threads that failed to come to be."

NOT_EXERCISED: dict[tuple[str, str], str] = {
    ("AuthorizerRole", "s3:GetObject"): "Reads the settings for a token of an issuer; most tests have embed tokens.",
    ("AuthorizerRole", "s3:ListBucket"): MISSING,
    ("SweeperRole", "s3:GetObject"): "Reads the settings' providers for a tenant's agent that names a model.",
    ("SweeperRole", "s3:ListBucket"): MISSING,
    ("ClosingRole", "s3:ListBucket"): MISSING,
    ("ClosingRole", "s3:PutObject"): "A redacted text that does not fit into an item is in S3.",
    ("ClosingRole", "states:StartExecution"): "Starts captures that did not start during their session.",
    ("DeadTurnsRole", "dynamodb:DeleteItem"): LEFT_BEHIND,
    ("DeadTurnsRole", "s3:GetObject"): BODIES,
    ("DeadTurnsRole", "s3:ListBucket"): MISSING,
    ("DeadTurnsRole", "s3:PutObject"): BODIES,
    ("DeadTurnsRole", "sqs:SendMessage"): "Tells clients of the ends of runs of A2A tasks that it gives up.",
    ("DeadTurnsRole", "states:StartExecution"): "Adopts a dead worker's answer, which may end the conversation.",
    ("HttpRole", "dynamodb:DeleteItem"): LEFT_BEHIND,
    (
        "LearningRole",
        "dynamodb:BatchGetItem",
    ): "Reads the procedures that a draft is compared with, once there are some.",
    ("LearningRole", "dynamodb:DeleteItem"): "Withdraws a procedure whose conversation was deleted meanwhile.",
    ("LearningRole", "s3:GetObject"): BODIES,
    ("LearningRole", "s3:ListBucket"): MISSING,
    ("LearningRole", "states:StartExecution"): "Begins a capture that has waited for this one to end.",
    ("NotificationsRole", "dynamodb:DeleteItem"): "Removes the configuration of a receiver that answers 410.",
    ("NotificationsRole", "dynamodb:PutItem"): "Keeps an event that no receiver of a webhook took in a day.",
    ("NotificationsRole", "s3:GetObject"): BODIES,
    ("NotificationsRole", "s3:ListBucket"): MISSING,
    ("SocketsRole", "s3:ListBucket"): MISSING,
    ("StreamsRole", "dynamodb:DeleteItem"): LEFT_BEHIND,
    ("SweeperRole", "dynamodb:DeleteItem"): LEFT_BEHIND,
    ("SweeperRole", "sqs:SendMessage"): "Tells clients of A2A tasks that a session ends, and queues takeovers.",
    ("SweeperRole", "dynamodb:Query"): "Finds a user's newest conversation for agents whose schedules enter it.",
    ("SweeperRole", "dynamodb:GetItem"): "Reads the handoff and the workflow of a session that a specialist leads.",
    ("SweeperRole", "states:StartExecution"): "Takes up closings and ingestions that ended without a result.",
    ("TurnsRole", "s3:ListBucket"): MISSING,
    ("TurnsRole", "states:StartExecution"): "Starts closings, and captures of tasks that queued turns complete.",
}
"""(role, action) -> why it is granted although no suite may make the call. Chance decides what some of them do, so that
a reason may stand here that a run does not need."""

OPTIONAL_RESOURCES = {
    ":secret:baton/local/models/*": "The keys of providers that an operator names: the examples name none."
}
"""end of a resource -> why functions are granted it although no suite may ask for it. It is narrower than a role's
action, which would hide an unused grant of another secret."""


@dataclass(frozen=True)
class Decisions:
    """Everything that was asked, with what came of it."""

    recorded: list[tuple[Asked, Decision]]
    by_services: list[tuple[Asked, Decision]]
    granted: set[Grant]


@pytest.fixture(scope="module")
def decided() -> Decisions:
    folder = os.environ.get("BATON_LOCAL_RECORDINGS")
    if not folder:
        pytest.skip("nothing was recorded: `make test` without TESTS records what functions ask for, then runs this")
    declared = template()
    used = {questions.role for questions in list_implied(declared)}
    documents = {name: policies for name, policies in roles(declared).items() if name in used}
    recorded, by_services = read(Path(folder)), list(list_implied(declared))
    questions = [*recorded, *by_services]
    decisions = list(zip(questions, decide(questions, documents, bucket_policy(declared)), strict=True))
    return Decisions(decisions[: len(recorded)], decisions[len(recorded) :], grants(documents))


def read(folder: Path) -> list[Asked]:
    """The calls of the product's own functions, over TLS as in an account; other templates are those of tests."""
    lines = [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]
    return [
        Asked(
            line["function"],
            line["role"],
            line["action"],
            line["resource"],
            line["context"] | {"aws:SecureTransport": "true"},
        )
        for line in lines
        if line["template"] == str(ROOT / "template.yaml") and not is_check_at_start(line)
    ]


def is_check_at_start(line: dict[str, str]) -> bool:
    """Return whether the request is one of the local cloud's checks of tools and remote agents at its start."""
    questions = ("secretsmanager:GetSecretValue", "ssm:GetParameter", "s3:GetObject", "s3:ListBucket")
    return not line["function"] and line["action"] in questions


def test_every_call_belongs_to_a_function(decided: Decisions) -> None:
    assert {question.function for question, _ in decided.recorded} <= functions()


@pytest.mark.nightly
def test_every_function_was_recorded(decided: Decisions) -> None:
    assert {question.function for question, _ in decided.recorded} == functions()


def functions() -> set[str]:
    return {name for name, _ in template().of_type("AWS::Lambda::Function")}


def test_every_call_is_allowed(decided: Decisions) -> None:
    refused = {
        f"{question}: {decision.result} {decision.why}"
        for question, decision in (*decided.recorded, *decided.by_services)
        if decision.result != "Allowed"
    }
    assert sorted(refused) == []


@pytest.mark.nightly
def test_every_grant_is_used_or_has_a_reason(decided: Decisions) -> None:
    used = set().union(*(decision.uses for _, decision in (*decided.recorded, *decided.by_services)))
    unused = {
        grant
        for grant in decided.granted - used
        if (grant.role, grant.action) not in NOT_EXERCISED and not grant.resource.endswith(tuple(OPTIONAL_RESOURCES))
    }
    assert sorted(map(str, unused)) == []


def test_reasons_are_given_for_what_is_granted(decided: Decisions) -> None:
    assert set(NOT_EXERCISED) <= {(grant.role, grant.action) for grant in decided.granted}
    for resource in OPTIONAL_RESOURCES:
        assert any(grant.resource.endswith(resource) for grant in decided.granted)
