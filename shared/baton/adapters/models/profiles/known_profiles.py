"""Look up a model's profile: the table's facts, the operator's overrides, and the facts learned from refusals.

The profiles also declare the context lengths of a deployment's models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from aws_lambda_powertools import Logger
from cachetools import LRUCache
from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from baton.adapters.models.profiles.profile import ADDED, BEDROCK_HOST, UNDECLARED, ModelProfile, with_facts
from baton.domain.agents.model_providers import Provider, ProviderKind, route
from baton.domain.metrics import Metric, count
from baton.ports.agents.chat_model import ModelCaller

MAX_PROFILES = 1_000
"""The number of an endpoint's models that are cached. Tenants name models, so their number has no other bound."""

MAX_LEARNED = 5_000
"""The number of models and tenants whose learned facts are cached."""
NEVER_SHARED = frozenset({"refused_values"})
"""Facts about a tenant's requests, and not about the model."""
Facts = dict[str, Any]
"""Facts of a profile by their names."""
_GEO = re.compile(r"^(us|eu|apac|jp|au|ca|in|sa|us-gov|global)\.")
_VERSION = re.compile(r"(-v\d+)?:\d+(:\w+)?$")


def find_host(base_url: str | None) -> str:
    """Return the host and port of an endpoint in lower case; OpenAI's host without an address."""
    return (urlsplit(base_url).netloc.rpartition("@")[2] if base_url else "api.openai.com").lower()


def normalise_name(model: str) -> str:
    """Return the name that patterns match: without ARN, region prefix, version, and the maker's name before a slash."""
    return _VERSION.sub("", without_place(model))


def without_place(model: str) -> str:
    """Return a model's name with its version, without ARN, region prefix, and the maker's name before a slash."""
    return _GEO.sub("", model.lower().rpartition("/")[2])


class Profiles:
    """The profiles of one endpoint's models.

    A fact that is learned from a refusal holds for the tenant whose request was refused. If the client had declared
    tools, it holds for the client's user only. So does a fact that is learned from the words of an answer. A tenant's
    fact holds for all tenants once it is learned for a second tenant, except the facts in ``NEVER_SHARED``. A fact that
    is learned from a request of the deployment itself holds for all tenants. Every fact is logged, so that an operator
    can declare it.
    """

    def __init__(self, host: str, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """``overrides`` are facts by patterns of model names, applied last."""
        self._host = host
        self._overrides = overrides or {}
        self._declared: LRUCache[str, ModelProfile] = LRUCache(MAX_PROFILES)
        self._learned: LRUCache[tuple[str, str], Facts] = LRUCache(MAX_LEARNED)
        """Facts by model, and by the tenant or user for which they hold."""
        self._witnesses: LRUCache[tuple[str, str, Any], str] = LRUCache(MAX_LEARNED)
        """The first tenant for which a fact of a model was learned, by model, name and value."""
        self._logger = Logger(child=True)

    def of(self, model: str, caller: ModelCaller | None = None) -> ModelProfile:
        """Return the profile of a model, with the facts that were learned for a caller."""
        profile = self.find_declared(model)
        for holder in _list_holders(caller):
            facts = self._learned.get((model, holder))
            profile = with_facts(profile, facts) if facts else profile
        return profile

    def find_declared(self, model: str) -> ModelProfile:
        """Return the profile of a model without learned facts."""
        profile = self._declared.get(model)
        if profile is None:
            profile = self._declared[model] = find_declared_profile(self._host, model, self._overrides)
        return profile

    def learn(
        self,
        model: str,
        profile: ModelProfile,
        since: ModelProfile,
        caller: ModelCaller | None = None,
        *,
        is_for_user: bool = False,
    ) -> None:
        """Keep the facts in which ``profile``, which the model has accepted, differs from ``since``.

        If ``is_for_user``, words of the caller's user may be the cause, so the facts hold for this user only. Facts
        that were learned from other requests meanwhile are kept.
        """
        facts = _find_difference(profile, since)
        if not facts:
            return
        holders = _list_holders(caller) if is_for_user else _list_holders(caller)[:2]
        holder = holders[-1]  # the narrowest of them
        self._keep_facts(model, holder, facts)
        if caller is None or is_for_user:
            return
        for name, value in facts.items():
            for value_part in value if name in ADDED else (value,):
                first = self._witnesses.setdefault((model, name, str(value_part)), caller.tenant_id)
                if first != caller.tenant_id and name not in NEVER_SHARED:
                    self._keep_facts(model, "", {name: frozenset({value_part}) if name in ADDED else value_part})

    def _keep_facts(self, model: str, holder: str, facts: Facts) -> None:
        """Add facts to those of a holder (see ``_list_holders``). Log and count those that are new."""
        facts_before = self._learned.get((model, holder), {})
        added = {name: facts_before[name] | facts[name] for name in ADDED if name in facts and name in facts_before}
        new = {**facts_before, **facts, **added}
        self._learned[model, holder] = new
        for name in (fact for fact in facts if new[fact] != facts_before.get(fact)):
            count(Metric.MODEL_FACTS_LEARNED)
            self._logger.warning(
                "A fact of the model was learned; declare it in modelProfiles of the settings",
                extra={
                    "model": model,
                    "host": self._host,
                    "fact": name,
                    "value": _to_plain(new[name]),
                    "tenant": holder.partition("\0")[0] or None,
                },
            )


def _list_holders(caller: ModelCaller | None) -> tuple[str, ...]:
    """Return the holders whose facts apply to a caller's requests: everybody (``""``), the tenant, the user.

    Without a caller, the request is the deployment's own, and only the facts for everybody apply.
    """
    if caller is None:
        return ("",)
    return "", caller.tenant_id, f"{caller.tenant_id}\0{caller.user_id}"


def _find_difference(profile: ModelProfile, since: ModelProfile) -> Facts:
    """Return the facts in which ``profile`` differs from ``since``."""
    facts: Facts = {}
    for field in fields(ModelProfile):
        before, now = getattr(since, field.name), getattr(profile, field.name)
        if before != now:
            facts[field.name] = now - before if field.name in ADDED else now
    return facts


def find_declared_profile(
    host: str, model: str, overrides: Mapping[str, Mapping[str, Any]] | None = None
) -> ModelProfile:
    """Return the profile of a model from the table and the ``overrides``, one of which may name its family."""
    from baton.adapters.models.profiles.profile_table import TABLE

    model_overrides = _find_overrides(model, overrides or {})
    normal_name = normalise_name(find_family(model, overrides or {}) or model)
    profile = ModelProfile()
    for rule in TABLE:
        if fnmatchcase(host, rule.host) and fnmatchcase(normal_name, rule.model):
            profile = with_facts(profile, rule.facts)
    for facts in model_overrides:
        profile = with_facts(profile, facts)
    return profile


def find_family(model: str, overrides: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the known model as which an operator has declared this one; None without a declaration."""
    model_overrides = _find_overrides(model, overrides)
    return next((facts["family"] for facts in reversed(model_overrides) if facts.get("family")), None)


def _find_overrides(model: str, overrides: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the overrides of a model, in the order in which they apply."""
    names = (normalise_name(model), model.lower())
    return [facts for pattern, facts in overrides.items() if any(fnmatchcase(name, pattern.lower()) for name in names)]


def _to_plain(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, frozenset) else str(value)


def make_context_lengths(
    providers: Mapping[str, Provider], overrides: Mapping[str, Mapping[str, Any]]
) -> Callable[[str], int | None]:
    """Return a function from a model's name to its context length in Baton's tokens, or None if none is declared."""

    def find_length(model: str) -> int | None:
        selected = route(model, providers)
        provider = providers.get(selected.provider)
        is_bedrock = provider is not None and provider.kind is ProviderKind.BEDROCK
        host = BEDROCK_HOST if is_bedrock else find_host(provider.base_url if provider is not None else None)
        profile = find_declared_profile(host, selected.model, overrides)
        return int(profile.context_tokens / profile.token_ratio) if profile.context_tokens is not None else None

    return find_length


def list_learned_facts(declared: ModelProfile, learned: ModelProfile) -> dict[str, JsonValue]:
    """Return the facts in which a model's profile differs from the declared one, by their names in the setting.

    Declaring them gives the model the profile ``learned``, except for facts that cannot be declared: these are left
    out.
    """
    facts = _find_difference(learned, declared)
    return {to_camel(name): _to_json(value) for name, value in facts.items() if name not in UNDECLARED}


def _to_json(value: Any) -> JsonValue:
    if isinstance(value, frozenset | tuple):
        return [str(member) for member in (sorted(value) if isinstance(value, frozenset) else value)]
    if isinstance(value, Mapping):
        return {str(name): str(member) for name, member in value.items()}
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)  # the words of enumerations are text
