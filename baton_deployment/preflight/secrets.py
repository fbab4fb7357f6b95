"""The secrets that parameters name: there, readable by functions, and of the form that these expect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from baton.adapters.signing import parse_card_keys
from baton.adapters.tokens.embed_keys import read_embed_keys
from baton.adapters.tokens.subject_tokens import parse_delegation_keys
from baton.adapters.tracing.headers import parse_trace_headers
from baton.domain.errors import InternalError
from baton_deployment.account import Account, code_of, is_denied
from baton_deployment.checks import Check, fails, fine, note, unknown
from baton_deployment.template import DeployedTemplate

NAME = "secret"
NONE: Mapping[str, str] = {}
AWS_KEYS = ("alias/aws/secretsmanager",)


@dataclass(frozen=True)
class ExpectedSecret:
    """A secret that functions read."""

    parameter: str
    name: str
    problem_of: Callable[[str], str]
    """A function that returns the fault of a value, without quoting it; empty if there is none."""
    example: str
    """A value for the command that creates it."""


def expected_secrets(template: DeployedTemplate, provider_secrets: Mapping[str, str]) -> Iterator[ExpectedSecret]:
    """Yield the secrets that the stage's parameters and settings name."""
    values = template.values
    if values["ModelBaseUrl"]:
        yield ExpectedSecret("ModelKeySecret", values["ModelKeySecret"], _key_problem, '"$OPENAI_API_KEY"')
    yield ExpectedSecret("EmbedKeysSecret", values["EmbedKeysSecret"], _embed_problem, "'{}'")
    if name := values["CardKeysSecret"]:
        yield ExpectedSecret("CardKeysSecret", name, _problem_by(parse_card_keys), "file://card-keys.json")
    if name := values["DelegationKeysSecret"]:
        yield ExpectedSecret("DelegationKeysSecret", name, _problem_by(parse_delegation_keys), '"$FERNET_KEY"')
    if name := values["TracesHeadersSecret"]:
        yield ExpectedSecret(
            "TracesHeadersSecret", name, _problem_by(parse_trace_headers), """'{"x-api-key": "..."}'"""
        )
    for provider, name in provider_secrets.items():
        yield ExpectedSecret(f"modelProviders.{provider}", name, _key_problem, '"$KEY"')


def check_secrets(
    account: Account, template: DeployedTemplate, provider_secrets: Mapping[str, str] = NONE
) -> Iterator[Check]:
    """Yield one row for each secret. ``provider_secrets``: a provider of models to the secret with its key."""
    manager = account.client("secretsmanager")
    for secret in expected_secrets(template, provider_secrets):
        yield _check(manager, secret, account.region)


def _check(manager: Any, secret: ExpectedSecret, region: str) -> Check:
    named = f"{secret.name} ({secret.parameter})"
    command = (
        f"aws secretsmanager create-secret --name {secret.name} --secret-string {secret.example} --region {region}"
    )
    try:
        about = manager.describe_secret(SecretId=secret.name)
        if "DeletedDate" in about:
            restore = f"aws secretsmanager restore-secret --secret-id {secret.name} --region {region}"
            return fails(NAME, f"{named} is scheduled for deletion", restore)
        key = about.get("KmsKeyId")
        if key and key not in AWS_KEYS:
            advice = f"aws secretsmanager update-secret --secret-id {secret.name} --kms-key-id {AWS_KEYS[0]}"
            return fails(NAME, f"{named} is encrypted with {key}: functions have no kms:Decrypt for it", advice)
        text = manager.get_secret_value(SecretId=secret.name).get("SecretString")
    except ClientError as problem:
        if code_of(problem) == "ResourceNotFoundException":
            return fails(NAME, f"{named} does not exist", command)
        if is_denied(problem):
            return unknown(NAME, f"{named}: the caller may not read it (secretsmanager:{problem.operation_name})")
        raise
    if text is None:
        return fails(
            NAME, f"{named} has a binary value, not text", command.replace("create-secret", "put-secret-value")
        )
    if wrong := secret.problem_of(text):
        return fails(NAME, f"{named}: {wrong}")
    if secret.problem_of is _embed_problem and json.loads(text) == {}:
        return note(NAME, f"{named} has no key: only tokens of tokenIssuers in the settings are accepted")
    return fine(NAME, named)


def _key_problem(text: str) -> str:
    if not text.strip():
        return "is empty"
    if text != text.strip():
        return "begins or ends with white space, which the provider refuses"
    if text.startswith("{"):
        return "is a JSON object; it must be the key as plain text"
    return ""


def _embed_problem(text: str) -> str:
    try:
        _, problems = read_embed_keys(text)
    except ValueError:
        return "is no JSON object of keys"
    return "; ".join(f"the key {kid}: {problem}" for kid, problem in problems.items())


def _problem_by(parse: Callable[[str], object]) -> Callable[[str], str]:
    def problem(text: str) -> str:
        try:
            parse(text)
        except InternalError as error:
            return str(error)
        return ""

    return problem
