"""The providers of a deployment's models, as operators declare them, and the report on the models' abilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, model_validator
from pydantic.alias_generators import to_camel

DEFAULT_PROVIDER = "default"
"""The provider of names that begin with no other provider's name."""
BEDROCK_PROVIDER = "bedrock"
"""Amazon Bedrock, which every deployment has as a provider, with the function's role and region."""
MAX_PROVIDERS = 20
MAX_TENANT_MODELS = 50

ProviderName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
_Url = Annotated[str, Field(pattern=r"^https?://[^\s?#@]+$", max_length=500)]
_Secret = Annotated[str, Field(pattern=r"^baton/[a-z0-9]{1,16}/models/[A-Za-z0-9_/+=.@-]{1,150}$")]
"""A name in the folder that the template lets the functions read."""
BedrockRegion = Annotated[str, Field(pattern=r"^[a-z]{2,8}(-[a-z0-9]+)+-[0-9]+$")]
GuardrailName = Annotated[
    str,
    Field(
        pattern=r"^([a-z0-9]{1,64}|arn:aws[a-z-]*:bedrock:[a-z0-9-]+:[0-9]{12}:guardrail/[a-z0-9]{1,64}):(DRAFT|[1-9][0-9]{0,7})$"
    ),
]
"""A guardrail's id or ARN, and its version."""
_ModelPattern = Annotated[str, Field(min_length=1, max_length=200)]


class ProviderKind(StrEnum):
    """The kinds of endpoints that Baton speaks to."""

    OPENAI = "openai"
    """Chat Completions or Responses, as OpenAI and many others serve them."""
    BEDROCK = "bedrock"
    """ConverseStream of Amazon Bedrock."""


class Provider(BaseModel):
    """One provider, as an operator writes it in ``modelProviders`` of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    kind: ProviderKind = ProviderKind.OPENAI
    base_url: _Url | None = None
    """The address of its API. Providers on Bedrock may leave it out."""
    key_secret: _Secret | None = None
    """The name of the secret with its key."""
    key: SecretStr | None = None
    """The key itself, for the local cloud only."""
    api: Literal["auto", "chat", "responses"] = "auto"
    """The API of OpenAI that is spoken. ``auto`` chooses by the model."""
    region: BedrockRegion | None = None
    """The region of Bedrock; None for the function's own."""
    signed: bool = False
    """True if requests to an OpenAI-compatible endpoint of Bedrock are signed with the function's role."""
    guardrail: GuardrailName | None = None
    """The guardrail of a provider on Bedrock, as ``<id or ARN>:<version>``. Guardrails belong to a region."""
    metadata: bool = False
    """True if each request names the agent and the state of its workflow."""
    cache_hints: Literal["auto", "key", "breakpoints", "none"] = "auto"
    """The hints of requests for the endpoint's prompt cache."""
    tenant_models: Annotated[tuple[_ModelPattern, ...], Field(max_length=MAX_TENANT_MODELS)] = ()
    """Names of its models, or patterns with ``*``, that agents of tenants may name besides those that ship."""

    @model_validator(mode="after")
    def _is_complete(self) -> Provider:
        if self.key is not None and self.key_secret is not None:
            raise ValueError("give either `key` or `keySecret`")
        if self.kind is ProviderKind.BEDROCK:
            self._refuse("a provider of kind bedrock", "key", "key_secret", "api", "signed", "cache_hints")
        elif self.signed:
            self._refuse("a provider with `signed`", "key", "key_secret", "guardrail")
        else:
            self._refuse("a provider of kind openai without `signed`", "region", "guardrail")
        return self

    def _refuse(self, what: str, *fields: str) -> None:
        names = [to_camel(field) for field in fields if field in self.model_fields_set]
        if names:
            raise ValueError(f"{what} takes no {', '.join(f'`{name}`' for name in names)}")


@dataclass(frozen=True, slots=True)
class Route:
    """The provider of a model, and the model's name there."""

    provider: str
    model: str


def route(name: str, providers: Mapping[str, object]) -> Route:
    """Return the route to the model ``name``. ``providers`` are those of the deployment, by name.

    If the first segment of ``name`` is no provider, all of it is the name of a model at the default provider, because
    models at gateways have slashes in their names too.
    """
    first, slash, rest = name.partition("/")
    if slash and rest and (first in providers or first == DEFAULT_PROVIDER):
        return Route(first, rest)
    return Route(DEFAULT_PROVIDER, name)


@dataclass(frozen=True, slots=True)
class OfferedModels:
    """The models that agents of tenants may name: those that the deployment uses itself, and those it offers."""

    used: frozenset[str]
    """Names of models that the deployment and its own agents use."""
    providers: Mapping[str, Provider]

    @classmethod
    def of(cls, used: Iterable[str], providers: Mapping[str, Provider]) -> OfferedModels:
        """Return the models that a deployment offers. It uses the models ``used`` itself."""
        return cls(frozenset(used), providers)

    def __contains__(self, name: str) -> bool:
        """Return whether a tenant may name the model, with or without the prefix of the default provider."""
        requested = route(name, self.providers)
        if any(route(used, self.providers) == requested for used in self.used):
            return True
        provider = self.providers.get(requested.provider)
        return provider is not None and any(
            fnmatchcase(requested.model, tenant_model) for tenant_model in provider.tenant_models
        )

    def __str__(self) -> str:
        """Return the names and patterns as a list for people."""
        patterns = {
            pattern if name == DEFAULT_PROVIDER else f"{name}/{pattern}"
            for name, provider in self.providers.items()
            for pattern in provider.tenant_models
        }
        return ", ".join(sorted(self.used | patterns))


class ModelKind(StrEnum):
    """The kinds of models."""

    CHAT = "chat"
    EMBEDDING = "embedding"


class ModelUse(StrEnum):
    """The deployment's own uses of a model."""

    CHAT = "chat"
    """The model of agents that name none."""
    LIGHT = "light"
    """Titles, summaries and similar work."""
    EMBEDDING = "embedding"
    """Search by meaning."""


class Ability(StrEnum):
    """The abilities for which models are tried."""

    TEXT = "text"
    TOOL_CALL = "tool_call"
    PARALLEL_CALLS = "parallel_calls"
    STRUCTURED_ANSWER = "structured_answer"
    IMAGE = "image"
    EMBEDDING = "embedding"


REQUIRED_ABILITIES = frozenset({Ability.TEXT, Ability.TOOL_CALL, Ability.EMBEDDING})
"""Abilities without which agents do not work. The lack of any other ability is only a remark."""


@dataclass(frozen=True, slots=True)
class ConfiguredModel:
    """A model that the deployment's settings or its agents name."""

    name: str
    kind: ModelKind
    uses: tuple[ModelUse, ...] = ()
    agents: tuple[str, ...] = ()
    """The agents that ask it, whether they name it or leave the choice to the deployment."""
    fallback_of: tuple[str, ...] = ()
    """The agents that ask it when their own model is not available."""


@dataclass(frozen=True, slots=True)
class AbilityCheck:
    """The outcome of one trial."""

    ability: Ability
    works: bool | None
    """None if it was not tried, because an earlier trial failed."""
    remark: str | None = None
    """A remark, even if the ability works."""
    error: str | None = None
    """The code of the error that ended the trial."""
    reason: str | None = None
    """The reason for the failure, in the words of the model's endpoint."""
    advice: str | None = None
    """The change to make."""
    dropped: tuple[str, ...] = ()
    """The settings and files that the model did not get; see ``Finished.dropped``."""


@dataclass(frozen=True, slots=True)
class ModelReport:
    """A model's abilities, and the changes to make."""

    model: ConfiguredModel
    checks: tuple[AbilityCheck, ...]
    learned: Mapping[str, JsonValue] = field(default_factory=dict)
    """Facts learned from the model's refusals, in the form of ``modelProfiles`` in the settings."""
    advice: tuple[str, ...] = ()
    """The changes to the settings that avoid dropped parameters and further refusals."""
    tokens: int = 0
    """The tokens that the trials have used."""

    @property
    def works(self) -> bool:
        """True if agents can work with the model."""
        return all(check.works for check in self.checks if check.ability in REQUIRED_ABILITIES)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Everything that the model did not get in a trial."""
        return tuple(sorted({name for check in self.checks for name in check.dropped}))
