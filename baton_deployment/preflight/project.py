"""Checks of a project's contents for a deployment: addresses, models, secrets, code, documents and search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from baton.domain.agents.model_providers import BEDROCK_PROVIDER, DEFAULT_PROVIDER, route
from baton.domain.errors import BatonError
from baton.domain.tenants.egress_policy import EgressPolicy, EgressRefused
from baton.knowledge.document_rules import check_request
from baton.settings.document import SettingsDocument
from baton_client.agent_folders import list_owned_files
from baton_deployment.called_addresses import find_called_addresses, find_secret_references
from baton_deployment.checks import Check, fails, fine, note
from baton_deployment.contents import Contents
from baton_deployment.template import DeployedTemplate
from baton_deployment.variables_read import LAMBDA, find_variables_read
from baton_documents.media_types import type_by_name

ADDRESSES = "addresses"
DOCUMENTS = "documents"
MODELS = "models of agents"
SECRET_NAMES = "names of secrets"  # noqa: S105
SEARCH = "search"
VARIABLES_READ = "code"
SEARCH_REMEDY = "Set SearchEngine=embedded, which costs nothing while it is idle: docs/how-to/run-search.md."
PUBLIC = "Functions run in no private network: give the service a public https address."
ANYWHERE = EgressPolicy(("*",))
"""The policy for addresses that operators choose: any public host, over https."""


def check_addresses(contents: Contents, policy: EgressPolicy) -> Iterator[Check]:
    """Yield the addresses of tools, guardrails, servers and remote agents that the deployment would not call."""
    called = [
        (agent, field, url) for agent in contents.agents.all() for field, url in find_called_addresses(contents, agent)
    ]
    refused = [(agent, field, refusal) for agent, field, url in called if (refusal := _find_refusal(policy, url))]
    for agent, field, (reason, remedy) in refused:
        yield fails(ADDRESSES, f"{contents.locate(agent, *field)}: {reason}", remedy)
    if called and not refused:
        yield fine(ADDRESSES, f"{len(called)} of agents, public and allowed")


def _find_refusal(policy: EgressPolicy, url: str) -> tuple[str, str] | None:
    """Return the reason why an address is refused, and the remedy; None if it is allowed."""
    try:
        policy.check_url(url)
    except EgressRefused as problem:
        try:
            replace(policy, hosts=ANYWHERE.hosts).check_url(url)
        except EgressRefused:
            return str(problem), PUBLIC
        return str(problem), f"Add {urlsplit(url).hostname} there."
    return None


def check_stage_addresses(template: DeployedTemplate, settings: SettingsDocument) -> Iterator[Check]:
    """Yield the addresses and hosts in the parameters and settings of a stage that functions cannot or may not call."""
    values = template.values
    named = {
        name: value
        for name, value in values.items()
        if name.endswith(("Url", "Endpoint", "Issuer")) and value.startswith("http") and name != "PublicUrl"
    }
    for name, provider in settings.model_providers.items():
        if provider.base_url is not None:
            named[f"modelProviders.{name}.baseUrl"] = provider.base_url
    for index, token_issuer in enumerate(settings.token_issuers):
        field = "issuer" if token_issuer.jwks_url is None else "jwksUrl"
        named[f"tokenIssuers.{index}.{field}"] = token_issuer.jwks_url or token_issuer.issuer
    for field, url in named.items():
        if refusal := _find_refusal(ANYWHERE, url):
            yield fails(ADDRESSES, f"{field}: {refusal[0]}", refusal[1])
    for field, hosts in (("allowedHosts", settings.allowed_hosts), ("pushHosts", settings.push_hosts)):
        for host in hosts:
            with suppress(EgressRefused):
                if not host.startswith("*"):
                    ANYWHERE.check_host(host)
                continue
            yield note(
                ADDRESSES, f"{field}: {host} is not a public address, so it is never called", "Remove the entry."
            )


def check_models(contents: Contents, settings: SettingsDocument, template: DeployedTemplate) -> Iterator[Check]:
    """Yield the agents' models that belong to no provider of the stage."""
    providers = {BEDROCK_PROVIDER, *settings.model_providers}
    if template.values["ModelBaseUrl"]:
        providers.add(DEFAULT_PROVIDER)
    for agent in contents.agents.all():
        names = [(("name",), agent.model.name)] if agent.model.name is not None else []
        fallbacks = [(("fallback", index), name) for index, name in enumerate(agent.model.fallback)]
        for field, name in (*names, *fallbacks):
            if route(name, dict.fromkeys(providers)).provider not in providers:
                yield fails(
                    MODELS,
                    f"{contents.locate(agent, 'model', *field)}: {name!r} begins with the name of no provider of the "
                    f"stage ({', '.join(sorted(providers))}), and it has no default one",
                    "Set the parameter ModelBaseUrl, or name the provider in modelProviders of the settings.",
                )


def check_secret_names(contents: Contents, template: DeployedTemplate) -> Iterator[Check]:
    """Yield the secrets and parameters of headers that the functions' roles may not read."""
    stage = template.values["Stage"]
    written = json.dumps(template.source, default=str)
    folders = {
        folder.replace("${Stage}", stage)
        for folder in re.findall(r":(?:secret:|parameter/)(baton/\$\{Stage\}/(?:tools|agents)/)\*", written)
    }
    for agent in contents.agents.all():
        for field, reference in find_secret_references(agent):
            name = reference.resolve_name(stage)
            if not name.removeprefix("/").startswith(tuple(folders)):
                yield fails(
                    SECRET_NAMES,
                    f"{contents.locate(agent, *field)}: functions may not read {name}",
                    "Begin its name with baton/{stage}/tools/ or baton/{stage}/agents/ (a parameter's with a slash).",
                )


def check_variables_read(contents: Contents, template: DeployedTemplate) -> Iterator[Check]:
    """Yield the environment variables that agents and tools in Python read, but no function has."""
    existing = {name for variables in template.list_variables().values() for name in variables}
    for folder in contents.code:
        for variable in find_variables_read(folder):
            if variable.name in existing or LAMBDA.fullmatch(variable.name):
                continue
            judged = fails if variable.is_required else note
            end = "and the code fails without it" if variable.is_required else "which the code looks for"
            yield judged(
                VARIABLES_READ,
                f"{contents.make_relative(str(variable.file))}:{variable.line}: a deployment sets no {variable.name} "
                f"(`.env` is for this machine), {end}",
                "Write the value into a module, by BATON_STAGE if it differs, or read a secret baton/<stage>/tools/...",
            )


def check_documents(contents: Contents) -> Iterator[Check]:
    """Yield the files of documents and libraries that the deployment would not accept."""
    for file in [*list_owned_files(contents.documents), *list_owned_files(contents.libraries)]:
        size, name = file.file.stat().st_size, file.file.name
        kind = type_by_name(name) or "application/octet-stream"
        try:
            check_request(name=name, content_type=kind, size=size, sha256=None, document_id=None, details={})
        except BatonError as problem:
            yield fails(
                DOCUMENTS,
                f"{contents.make_relative(str(file.file))}: {problem.detail}",
                "Divide or convert the file, or move it out of the folder.",
            )


def check_search(contents: Contents, template: DeployedTemplate) -> Iterator[Check]:
    """Yield the search engine, or a problem if search is off although documents or recalling agents need it."""
    if template.intrinsics.holds("HasSearch"):
        yield fine(SEARCH, _describe_engine(template))
        return
    files = [*list_owned_files(contents.documents), *list_owned_files(contents.libraries)]
    recalling = [agent.id for agent in contents.agents.all() if agent.memory.episodic_top_k]
    if files:
        owners = ", ".join(sorted({file.agent_id for file in files}))
        count = f"{len(files)} document{'s' if len(files) != 1 else ''}"
        yield fails(SEARCH, f"it is off, so nobody will find {count} of {owners}", SEARCH_REMEDY)
    elif recalling:
        what = f"it is off: {', '.join(recalling)} will recall no earlier conversations"
        yield note(SEARCH, what, f"{SEARCH_REMEDY} Or set memory.episodic_top_k: 0.")


def _describe_engine(template: DeployedTemplate) -> str:
    """Return the stage's search engine, with its cost, as a phrase."""
    if not template.intrinsics.holds("EmbedsSearch"):
        return "OpenSearch, by the hour"
    if template.intrinsics.holds("UsesOpenSearch"):
        return "embedded, files in a bucket; OpenSearch for owners without one (others: `baton search STAGE move`)"
    return "embedded, files in a bucket, free while idle"
