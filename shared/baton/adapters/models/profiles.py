"""Look up a model's profile: in the table, with the operator's overrides, and with what refusals have taught.

Context lengths of a deployment's models are those that their profiles declare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from aws_lambda_powertools import Logger
from cachetools import LRUCache
from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from baton.adapters.models.profile import BEDROCK_HOST, ModelProfile
from baton.adapters.models.profile_overrides import UNDECLARED
from baton.domain.metrics import Metric, count
from baton.domain.model_providers import Provider, ProviderKind, route

MAX_PROFILES = 1_000
"""Models of an endpoint that are kept. Tenants name models, so their number has no other bound."""

ADDED = ("dropped", "dropped_keywords")
"""Facts whose values add up: what a later rule names is dropped besides what earlier ones name."""
_GEO = re.compile(r"^(us|eu|apac|jp|au|ca|in|sa|us-gov|global)\.")
_VERSION = re.compile(r"(-v\d+)?:\d+(:\w+)?$")


def host_of(base_url: str | None) -> str:
    """Return the host and port of an endpoint; OpenAI's without an address."""
    return (urlsplit(base_url).netloc.rpartition("@")[2] if base_url else "api.openai.com").lower()


def normalised(model: str) -> str:
    """Return the name that patterns match: without ARN, region prefix, version, and the maker's name before a slash."""
    return _VERSION.sub("", without_place(model))


def without_place(model: str) -> str:
    """Return a model's name with its version, but without ARN, region prefix, and the maker's name before a slash."""
    return _GEO.sub("", model.lower().rpartition("/")[2])


class Profiles:
    """The profiles of one endpoint's models.

    What a refusal teaches holds for the model as long as it is used. It is logged once, so that the table or an
    override can say it from the start.
    """

    def __init__(self, host: str, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """``overrides`` are facts by patterns of model names, applied last."""
        self._host = host
        self._overrides = overrides or {}
        self._known: LRUCache[str, ModelProfile] = LRUCache(MAX_PROFILES)
        self._logger = Logger(child=True)

    def of(self, model: str) -> ModelProfile:
        """Return the profile of a model, with what was learned."""
        known = self._known.get(model)
        if known is None:
            known = self._known[model] = self.declared(model)
        return known

    def declared(self, model: str) -> ModelProfile:
        """Return the profile of a model without what was learned."""
        return declared_profile(self._host, model, self._overrides)

    def learn(self, model: str, profile: ModelProfile, since: ModelProfile) -> None:
        """Keep what is different in a profile that a model has accepted, after it refused the one of ``since``.

        Facts that other requests have taught meanwhile stay.
        """
        if profile == since:
            return
        before = self.of(model)
        facts = {
            each.name: _add(each.name, before, profile)
            for each in fields(ModelProfile)
            if getattr(since, each.name) != getattr(profile, each.name)
        }
        profile = replace(before, **facts)
        changed = [name for name in facts if getattr(before, name) != getattr(profile, name)]
        if not changed:
            return
        self._known[model] = profile
        for name in changed:
            count(Metric.MODEL_FACTS_LEARNED)
            self._logger.warning(
                "A fact of the model was learned from its refusal; declare it in modelProfiles of the settings",
                extra={"model": model, "host": self._host, "fact": name, "value": _plain(getattr(profile, name))},
            )


def declared_profile(host: str, model: str, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> ModelProfile:
    """Return the profile of a model by the table and the ``overrides``, one of which may name its family."""
    from baton.adapters.models.profile_table import TABLE

    own = _overriding(model, overrides or {})
    known = normalised(family_of(model, overrides or {}) or model)
    profile = ModelProfile()
    for rule in TABLE:
        if fnmatchcase(host, rule.host) and fnmatchcase(known, rule.model):
            profile = with_facts(profile, rule.facts)
    for facts in own:
        profile = with_facts(profile, facts)
    return profile


def family_of(model: str, overrides: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the known model that an operator says a model to be; None if nothing is declared."""
    own = _overriding(model, overrides)
    return next((facts["family"] for facts in reversed(own) if facts.get("family")), None)


def _overriding(model: str, overrides: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the facts that are given for a model, the last ones applied last."""
    names = (normalised(model), model.lower())
    return [facts for pattern, facts in overrides.items() if any(fnmatchcase(name, pattern.lower()) for name in names)]


def with_facts(profile: ModelProfile, facts: Mapping[str, Any]) -> ModelProfile:
    """Return the profile with other facts. Dropped settings accumulate, as do facts of one adapter."""
    added: dict[str, Any] = {name: frozenset(facts[name]) | getattr(profile, name) for name in ADDED if name in facts}
    if "further" in facts:
        added["further"] = {**profile.further, **facts["further"]}
    return replace(profile, **{**facts, **added})


def _add(name: str, before: ModelProfile, profile: ModelProfile) -> Any:
    """Return the value of a fact, with what is known already if its values add up."""
    value = getattr(profile, name)
    return value | getattr(before, name) if name in ADDED else value


def _plain(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, frozenset) else str(value)


def context_lengths(
    providers: Mapping[str, Provider], overrides: Mapping[str, Mapping[str, Any]]
) -> Callable[[str], int | None]:
    """Return a function from a model's name to its context length in Baton's tokens; None if none is declared."""

    def length(model: str) -> int | None:
        asked = route(model, providers)
        provider = providers.get(asked.provider)
        is_bedrock = provider is not None and provider.kind is ProviderKind.BEDROCK
        host = BEDROCK_HOST if is_bedrock else host_of(provider.base_url if provider is not None else None)
        profile = declared_profile(host, asked.model, overrides)
        return int(profile.context_tokens / profile.token_ratio) if profile.context_tokens is not None else None

    return length


def learned_facts(declared: ModelProfile, known: ModelProfile) -> dict[str, JsonValue]:
    """Return the facts in which a model's profile differs from what is declared, by their names in the setting.

    Declaring them gives the model the profile ``known``, except for facts that cannot be declared, which are left out.
    """
    facts: dict[str, JsonValue] = {}
    for field in fields(ModelProfile):
        before, now = getattr(declared, field.name), getattr(known, field.name)
        if before != now and field.name not in UNDECLARED:
            facts[to_camel(field.name)] = _json(now - before if field.name in ADDED else now)
    return facts


def _json(value: Any) -> JsonValue:
    if isinstance(value, frozenset | tuple):
        return [str(each) for each in (sorted(value) if isinstance(value, frozenset) else value)]
    if isinstance(value, Mapping):
        return {str(name): str(each) for name, each in value.items()}
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)  # the words of enumerations are text
