"""Checks of the secrets of a stage: whether they exist, functions can read them, and their form is right."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from baton.adapters.tokens.embed_keys import read_embed_keys
from baton.adapters.tokens.signing_keys import parse_card_keys
from baton.adapters.tokens.subject_tokens import parse_delegation_keys
from baton.domain.errors import InternalError
from baton.domain.tenants.secret import SecretReference
from baton.domain.tracing import parse_trace_headers
from baton_deployment.account import Account, explain, is_denied, read_code
from baton_deployment.called_addresses import find_secret_references
from baton_deployment.checks import Check, Outcome, fails, fine, note, unknown
from baton_deployment.contents import Contents
from baton_deployment.template import DeployedTemplate

NAME = "secret"
NONE: Mapping[str, str] = {}
AWS_KEY = "alias/aws/secretsmanager"
"""The default key of secrets, which is AWS's own."""
EMBED_KEYS = (
    r'"{\"acme-1\": {\"tenant\": \"acme\", \"algorithm\": \"HS256\", \"key\": \"$(openssl rand -base64 48)\"}}"'
)
"""A quoted value for a shell, with a new key for the tenant ``acme``."""


@dataclass(frozen=True)
class ExpectedSecret:
    """A secret that functions read."""

    parameter: str
    """The parameter, setting or position that names the secret."""
    name: str
    problem_of: Callable[[str], str]
    """A function that returns the fault of a value, without quoting it; empty if there is none."""
    example: str
    """A value, quoted for a shell, for the command that creates the secret."""


def list_expected_secrets(template: DeployedTemplate, provider_secrets: Mapping[str, str]) -> Iterator[ExpectedSecret]:
    """Yield the secrets that the stage's parameters and settings name."""
    values = template.values
    if values["ModelBaseUrl"]:
        yield ExpectedSecret("ModelKeySecret", values["ModelKeySecret"], _check_key, '"${OPENAI_API_KEY:?is not set}"')
    yield ExpectedSecret("EmbedKeysSecret", values["EmbedKeysSecret"], _check_embed_keys, EMBED_KEYS)
    if name := values["CardKeysSecret"]:
        yield ExpectedSecret("CardKeysSecret", name, _make_check(parse_card_keys), "file://card-keys.json")
    if name := values["DelegationKeysSecret"]:
        yield ExpectedSecret(
            "DelegationKeysSecret", name, _make_check(parse_delegation_keys), '"${FERNET_KEY:?is not set}"'
        )
    if name := values["TracesHeadersSecret"]:
        yield ExpectedSecret(
            "TracesHeadersSecret", name, _make_check(parse_trace_headers), """'{"x-api-key": "..."}'"""
        )
    for provider, name in provider_secrets.items():
        yield ExpectedSecret(f"modelProviders.{provider}", name, _check_key, '"${KEY:?is not set}"')


def check_secrets(
    account: Account, template: DeployedTemplate, provider_secrets: Mapping[str, str] = NONE
) -> Iterator[Check]:
    """Yield one row for each secret. ``provider_secrets`` has the secrets with keys, by providers of models."""
    manager = account.client("secretsmanager")
    keys = _Keys(account, template.values["SecretsKeyArn"])
    for secret in list_expected_secrets(template, provider_secrets):
        yield _check_secret(manager, secret, account.region, keys)


def check_references(account: Account, template: DeployedTemplate, contents: Contents) -> Iterator[Check]:
    """Yield one row for each secret and parameter of Systems Manager that the agents' definitions name."""
    stage = template.values["Stage"]
    keys = _Keys(account, template.values["SecretsKeyArn"])
    places: dict[SecretReference, str] = {}
    for agent in contents.agents.all():
        for field, reference in find_secret_references(agent):
            places.setdefault(reference, contents.locate(agent, *field))
    for reference, location in places.items():
        name = reference.resolve_name(stage)
        if reference.parameter is not None:
            yield _check_parameter(account, name, location)
            continue
        problem_of = _check_key if reference.key is None else _make_field_check(reference.key)
        example = '"${SECRET:?is not set}"' if reference.key is None else f"""'{{"{reference.key}": "..."}}'"""
        secret = ExpectedSecret(location, name, problem_of, example)
        yield _check_secret(account.client("secretsmanager"), secret, account.region, keys)


def _check_parameter(account: Account, name: str, location: str) -> Check:
    """Return whether a parameter of Systems Manager exists, which a field at ``location`` names.

    Raises errors of AWS.
    """
    named = f"the parameter {name} ({location})"
    try:
        account.client("ssm").get_parameter(Name=name)
    except ClientError as problem:
        if read_code(problem) == "ParameterNotFound":
            command = f'aws ssm put-parameter --name {name} --type SecureString --value "${{SECRET:?is not set}}"'
            return fails(NAME, f"{named} does not exist", f"{command} --region {account.region}")
        if is_denied(problem):
            return unknown(NAME, f"{named}: the caller may not read it (ssm:{problem.operation_name})")
        raise
    return fine(NAME, named)


def _make_field_check(key: str) -> Callable[[str], str]:
    """Return a function like ``ExpectedSecret.problem_of``, for objects with the text ``key``."""

    def find_problem(text: str) -> str:
        try:
            has_key = isinstance(json.loads(text).get(key), str)
        except (ValueError, AttributeError):
            has_key = False
        return "" if has_key else f"is no JSON object with the text {key}"

    return find_problem


@dataclass(frozen=True)
class _Keys:
    """The KMS keys with which functions may decrypt secrets."""

    account: Account
    own: str
    """The value of ``SecretsKeyArn``, maybe empty."""

    def check(self, secret: ExpectedSecret, key: str | None) -> Check | None:
        """Return the problem of a secret's KMS key, or None. ``key`` is an id, an ARN or an alias; None is AWS's."""
        if key is None or key.endswith(AWS_KEY):
            return None
        named = f"{secret.name} ({secret.parameter})"
        key_arn = key
        if key.rpartition(":")[2].startswith("alias/"):
            try:
                key_arn = self.account.client("kms").describe_key(KeyId=key)["KeyMetadata"]["Arn"]
            except ClientError as problem:
                return unknown(
                    NAME,
                    f"{named} is encrypted with {key}, whose key is unknown: {explain(problem)}",
                    f"Compare SecretsKeyArn with: aws kms describe-key --key-id {key} --region {self.account.region}",
                )
        if self.own and key_arn in (self.own, self.own.rpartition("/")[2]):
            return None
        arn = key_arn if key_arn.startswith("arn:") else f"the ARN of {key_arn}"
        return fails(
            NAME,
            f"{named} is encrypted with {key}: functions have no kms:Decrypt for it",
            f"Set the parameter SecretsKeyArn to {arn}, or: aws secretsmanager update-secret --secret-id {secret.name} "
            f"--kms-key-id {self.own or AWS_KEY} --region {self.account.region}",
        )


def _check_secret(manager: Any, secret: ExpectedSecret, region: str, keys: _Keys) -> Check:
    """Return the first problem of a secret, as far as the caller may read it. Raises other errors of AWS."""
    named = f"{secret.name} ({secret.parameter})"
    command = (
        f"aws secretsmanager create-secret --name {secret.name} --secret-string {secret.example} --region {region}"
    )
    encryption: Check | None = None
    try:
        about = manager.describe_secret(SecretId=secret.name)
        if "DeletedDate" in about:
            restore = f"aws secretsmanager restore-secret --secret-id {secret.name} --region {region}"
            return fails(NAME, f"{named} is scheduled for deletion", restore)
        encryption = keys.check(secret, about.get("KmsKeyId"))
        if encryption is not None and encryption.outcome is Outcome.FAILS:
            return encryption
        text = manager.get_secret_value(SecretId=secret.name).get("SecretString")
    except ClientError as problem:
        if read_code(problem) == "ResourceNotFoundException":
            return fails(NAME, f"{named} does not exist", command)
        if is_denied(problem):
            if problem.operation_name == "GetSecretValue":
                # The deployer's policy grants no access to values, because the embed keys sign tokens of any user.
                return encryption or note(NAME, f"{named} exists; the caller may not read whether its form is right")
            return unknown(NAME, f"{named}: the caller may not read it (secretsmanager:{problem.operation_name})")
        raise
    if text is None:
        return fails(
            NAME, f"{named} has a binary value, not text", command.replace("create-secret", "put-secret-value")
        )
    if wrong := secret.problem_of(text):
        return fails(NAME, f"{named}: {wrong}")
    if encryption is not None:
        return encryption
    if secret.problem_of is _check_embed_keys and json.loads(text) == {}:
        return note(NAME, f"{named} has no key: only tokens of tokenIssuers in the settings are accepted")
    return fine(NAME, named)


def _check_key(text: str) -> str:
    """Return the fault of a secret that is sent as plain text; empty if there is none."""
    if not text.strip():
        return "is empty"
    if text != text.strip():
        return "begins or ends with white space, which is sent too"
    if text.startswith("{"):
        return "is a JSON object; it must be plain text"
    return ""


def _check_embed_keys(text: str) -> str:
    """Return the faults of a secret with embed keys; empty if there are none."""
    try:
        _, problems = read_embed_keys(text)
    except ValueError:
        return "is no JSON object of keys"
    return "; ".join(f"the key {kid}: {problem}" for kid, problem in problems.items())


def _make_check(parse: Callable[[str], object]) -> Callable[[str], str]:
    """Return a function like ``ExpectedSecret.problem_of`` from one that raises ``InternalError``."""

    def find_problem(text: str) -> str:
        try:
            parse(text)
        except InternalError as error:
            return str(error)
        return ""

    return find_problem
