"""The settings document: settings of any length that change without a deployment, as one JSON object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Json, JsonValue, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_settings import NoDecode

from baton.domain.agents.model_providers import Provider
from baton.domain.definition import KINDS, get_message
from baton.domain.runs.usage import Price, Prices
from baton.domain.tenants.egress_policy import HOST_ENTRY
from baton.domain.tenants.identity import OidcIssuer
from baton.domain.tenants.inbound_hook import MAX_HOOKS, InboundHook
from baton.domain.tenants.tenant_limits import OperatorLimits
from baton.domain.tenants.webhook import MAX_WEBHOOKS, Webhook, check_unique
from baton.domain.text import count_bytes
from baton.settings.base import ORIGIN, Hosts, Name, Origins, Settings, parse_object
from baton.settings.models import MAX_PROFILES, ModelVariables, ProvidersWithAddresses

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_SETTINGS_BYTES = 1024 * 1024
"""Bytes of the largest document that functions read."""
MAX_ISSUERS = 2_000
MAX_HOSTS = 1_000
MAX_PRICES = 1_000
MAX_PROBLEMS = 20
"""Problems of a document that an error lists."""

_Host = Annotated[str, StringConstraints(pattern=f"^({HOST_ENTRY})$", max_length=253)]
_Origin = Annotated[str, StringConstraints(pattern=f"^({ORIGIN})$", max_length=300)]


def _check_unique(issuers: tuple[OidcIssuer, ...]) -> tuple[OidcIssuer, ...]:
    """Return the issuers. Raise ``ValueError`` if two have the same address, as the second would never be used."""
    name, number = Counter(issuer.issuer for issuer in issuers).most_common(1)[0] if issuers else ("", 0)
    if number > 1:
        raise ValueError(f"{name!r} occurs {number} times")
    return issuers


def _refuse_keys(providers: dict[str, Provider]) -> dict[str, Provider]:
    """Return the providers. Raise ``ValueError`` for a key in plain text."""
    for name, provider in providers.items():
        if provider.key is not None:
            raise ValueError(f"{name}.key: the document is not secret. Name a secret in `keySecret`")
    return providers


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """A fault of a document, without the value."""

    path: tuple[str | int, ...]
    """The names of fields and indices in lists that lead to it; empty for the whole document."""
    message: str

    def __str__(self) -> str:
        """Return ``field.0.field: message``."""
        return f"{'.'.join(map(str, self.path)) or '(document)'}: {self.message}"


class InvalidDocument(ValueError):
    """The text is not a settings document."""

    def __init__(self, *problems: DocumentProblem) -> None:
        self.problems = problems[:MAX_PROBLEMS]
        more = [f"and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
        super().__init__("; ".join([*map(str, self.problems), *more]))


class SettingsDocument(BaseModel):
    """The settings document. Every field has a default, with which a deployment without a document works.

    By default no issuer is trusted and no host may be called. Callers then need embed tokens.
    """

    # An error must not quote the keys of providers.
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, hide_input_in_errors=True)

    version: Literal[1] = 1
    """The version of this schema."""
    token_issuers: Annotated[tuple[OidcIssuer, ...], Field(max_length=MAX_ISSUERS), AfterValidator(_check_unique)] = ()
    """OIDC issuers whose tokens are accepted."""
    model_prices: Annotated[dict[Name, Price], Field(max_length=MAX_PRICES)] = {}
    """The prices of models for a million tokens, by the model's name."""
    tenant_limits: OperatorLimits = OperatorLimits()
    """The limits of every tenant. Tenants may choose less."""
    allowed_origins: Annotated[tuple[_Origin, ...], Field(max_length=MAX_HOSTS)] = ("*",)
    """Origins of web pages that may call the API."""
    allowed_hosts: Annotated[tuple[_Host, ...], Field(max_length=MAX_HOSTS)] = ()
    """Hosts of tools, remote agents and sources of documents that may be called."""
    push_hosts: Annotated[tuple[_Host, ...], Field(max_length=MAX_HOSTS)] = ()
    """Hosts to which notifications of A2A clients may be posted."""
    webhooks: Annotated[tuple[Webhook, ...], Field(max_length=MAX_WEBHOOKS), AfterValidator(check_unique)] = ()
    """Receivers of events. Their hosts must be among ``allowedHosts``."""
    hooks: Annotated[tuple[InboundHook, ...], Field(max_length=MAX_HOOKS), AfterValidator(check_unique)] = ()
    """Hooks by which other systems send events."""
    model_providers: Annotated[ProvidersWithAddresses, AfterValidator(_refuse_keys)] = {}
    """Further providers of models by name."""
    model_profiles: Annotated[dict[Name, dict[Name, JsonValue]], Field(max_length=MAX_PROFILES)] = {}
    """Facts that replace Baton's own facts about models, by patterns of the models' names."""

    @cached_property
    def prices(self) -> Prices:
        """The prices of models."""
        return Prices(self.model_prices)


def read_document(text: str | bytes) -> SettingsDocument:
    """Return the document in ``text``. Raises ``InvalidDocument``, which names wrong fields but quotes no secret."""
    if (len(text) if isinstance(text, bytes) else count_bytes(text)) > MAX_SETTINGS_BYTES:
        raise InvalidDocument(DocumentProblem((), f"is longer than {MAX_SETTINGS_BYTES} bytes"))
    try:
        value = parse_object(text.decode() if isinstance(text, bytes) else text)
    except UnicodeDecodeError:
        raise InvalidDocument(DocumentProblem((), "is not UTF-8")) from None
    except ValueError as error:
        raise InvalidDocument(DocumentProblem((), str(error))) from None
    return check_document(value)


def check_document(value: object) -> SettingsDocument:
    """Return the document that ``value``, a JSON value, describes. Raises ``InvalidDocument``."""
    if isinstance(value, dict) and "version" not in value:
        raise InvalidDocument(DocumentProblem(("version",), "is missing. This release reads version 1"))
    try:
        document = SettingsDocument.model_validate(value)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        raise InvalidDocument(
            *(DocumentProblem(fault["loc"], _describe_fault(fault, SettingsDocument)) for fault in errors)
        ) from None
    refusals = (webhook.find_refusal(document.allowed_hosts) for webhook in document.webhooks)
    problems = [DocumentProblem(("webhooks", index, "url"), why) for index, why in enumerate(refusals) if why]
    if problems:
        raise InvalidDocument(*problems)
    return document


def check_deployed(document: SettingsDocument) -> None:
    """Raise ``InvalidDocument`` for webhooks and issuers that the local cloud alone accepts."""
    problems: list[DocumentProblem] = []
    for index, webhook in enumerate(document.webhooks):
        if webhook.secret is not None:
            message = "is for the local cloud: put the secret into Secrets Manager, and name it in secretArn"
            problems.append(DocumentProblem(("webhooks", index, "secret"), message))
        if webhook.is_on_this_machine:
            message = "is an address of this machine, which the local cloud alone calls"
            problems.append(DocumentProblem(("webhooks", index, "url"), message))
    for index, token_issuer in enumerate(document.token_issuers):
        # If there is an address of the keys, nothing is fetched from the issuer.
        field, address = (
            ("issuer", token_issuer.issuer) if token_issuer.jwks_url is None else ("jwksUrl", token_issuer.jwks_url)
        )
        if not _is_https(address):
            message = "is no https address: a deployed stage fetches the keys of issuers over https only"
            problems.append(DocumentProblem(("tokenIssuers", index, field), message))
    if problems:
        raise InvalidDocument(*problems)


def _is_https(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname)


class DocumentVariables(Settings):
    """Variables that replace fields of the document, in the local cloud and tests. The template sets none of them."""

    token_issuers: Annotated[Json[tuple[OidcIssuer, ...]], NoDecode] = Field(
        default=(), validate_default=False, validation_alias="BATON_TOKEN_ISSUERS"
    )
    model_prices: Annotated[Json[dict[Name, Price]], NoDecode] = Field(
        default_factory=dict, validate_default=False, validation_alias="BATON_MODEL_PRICES"
    )
    """JSON: a model's name to its prices for a million tokens, ``{"input", "cachedInput"?, "output"}``."""
    tenant_limits: Annotated[Json[OperatorLimits], NoDecode] = Field(
        default_factory=OperatorLimits, validate_default=False, validation_alias="BATON_TENANT_LIMITS"
    )
    """JSON, with the fields of ``OperatorLimits``. Tenants may choose less."""
    allowed_origins: Origins = Field(default="*", validation_alias="BATON_ALLOWED_ORIGINS")
    """Comma-separated origins of web pages that may call the API."""
    allowed_hosts: Hosts = Field(default="", validation_alias="BATON_ALLOWED_HOSTS")
    """Comma-separated hosts, ``*.example.com`` for a domain's subdomains, ``*`` for every public host."""
    push_hosts: Hosts = Field(default="", validation_alias="BATON_PUSH_HOSTS")
    """Hosts to which notifications may be posted, written like ``BATON_ALLOWED_HOSTS``."""
    webhooks: Annotated[Json[tuple[Webhook, ...]], NoDecode] = Field(
        default=(), validate_default=False, validation_alias="BATON_WEBHOOKS"
    )
    """JSON: receivers of events, as in the document."""
    hooks: Annotated[Json[tuple[InboundHook, ...]], NoDecode] = Field(
        default=(), validate_default=False, validation_alias="BATON_HOOKS"
    )
    """JSON: hooks by which other systems send events, as in the document."""


def apply_variables(document: SettingsDocument) -> SettingsDocument:
    """Return the document with the values of variables that are set. Raises ``ValidationError`` for an invalid one."""
    replaced: dict[str, object] = {}
    for variables in (DocumentVariables(), ModelVariables()):
        for name in variables.model_fields_set:
            value = getattr(variables, name)
            # Lists of hosts and origins are texts with commas in variables.
            replaced[name] = tuple(filter(None, value.split(","))) if isinstance(value, str) else value
    return document.model_copy(update=replaced) if replaced else document


FORMS = {
    "allowedOrigins": "is not an origin: write scheme and host, without a path or a slash at the end, such as "
    "https://app.example.com, or *",
    "allowedHosts": "is not a host name: write api.example.com, *.example.com or *",
    "pushHosts": "is not a host name: write hooks.example.com, *.example.com or *",
}
"""The messages for entries that do not match the pattern of their field, by the field."""


def _describe_fault(error: ErrorDetails, document: type[BaseModel]) -> str:
    """Return what is wrong with a field, without the value: in Baton's words, or else in pydantic's."""
    location, kind = error["loc"], error["type"]
    if kind == "extra_forbidden":
        return f"is an unknown field{_suggest(str(location[-1]), _find_fields(location[:-1], document))}"
    if kind == "string_pattern_mismatch" and location[0] in FORMS:
        return FORMS[str(location[0])]
    return "is missing" if kind == "missing" else KINDS.get(kind, get_message(error))


def _suggest(name: str, fields: Mapping[str, Any]) -> str:
    from difflib import get_close_matches  # imported for faults only

    close = get_close_matches(name, fields, n=1)
    return f": is {close[0]} meant?" if close else f". Available: {', '.join(sorted(fields))}"


def _find_fields(location: tuple[int | str, ...], model: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of the model at ``location``, by alias, looking into lists and mappings of models."""
    inner_model = model
    for part in location:
        for field in inner_model.model_fields.values():
            if field.alias == part and (inner := _find_model(field.annotation)) is not None:
                inner_model = inner
    return {str(field.alias): field for field in inner_model.model_fields.values()}


def _find_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for argument in get_args(annotation) if (model := _find_model(argument)) is not None), None)
