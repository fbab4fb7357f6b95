"""The rules of agents' definitions, for files and for agents that are made over the API: every problem has a place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.guardrail import Guardrail
from baton.domain.agents.model_providers import OfferedModels
from baton.domain.agents.sentences import SENTENCES, find_placeholder_problems
from baton.domain.agents.tool import TOOL_TYPES, HttpTool, McpServer, OpenApiTool, PythonTool, ToolDefinition
from baton.domain.definition import (
    describe_unknown_field,
    find_similar_name,
    in_plain_words,
    list_field_names,
    suggest_name,
)
from baton.domain.handoffs.completion_arguments import find_completion_problems
from baton.domain.handoffs.triggers import MAX_PATTERN_SIZE, is_phrase, measure_pattern, normalise_trigger
from baton.domain.runs.tool_call import ASK, TRANSFER, make_tool_name
from baton.domain.tenants.egress_policy import LOOPBACK_HOSTS
from baton.domain.tenants.identity import Permission
from baton.domain.tenants.secret import TokenExchange

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_TOOLS = 20
"""Tools of an agent that a tenant has made."""
MAX_REFERENCES = 20
"""Agents that an agent of a tenant hands over to, and as many that it asks."""
MAX_PATTERNS = 10
"""Triggers of an agent of a tenant that are patterns, in each of its lists. Each takes memory of every worker."""

_REFUSED_HEADER = "a tenant's agent cannot use the deployment's secrets: leave the header out"


@dataclass(frozen=True, slots=True)
class Problem:
    """A flaw of a definition, and its place."""

    place: tuple[str | int, ...]
    """Names of fields and indices in lists, from the outside in; empty: the definition as a whole."""
    what: str
    """The problem, in words for the author."""


def check_agent(values: Mapping[Any, Any], *, as_served: bool = False) -> tuple[AgentDefinition | None, list[Problem]]:
    """Return the definition made from these fields, or None if they are invalid, and the problems found without others.

    ``as_served``: fields may also have the names that ``GET /v1/agents`` serves.
    """
    definition, problems = None, []
    try:
        definition = AgentDefinition.model_validate(values, by_alias=as_served, by_name=True)
    except ValidationError as error:
        problems = describe_validation_problems(values, error)
    if definition is not None:
        problems = list(_find_completion_problems(definition))
    return definition, [*problems, *_find_ineffective_values(values, is_file=not as_served)]


def describe_validation_problems(values: Mapping[Any, Any], error: ValidationError) -> list[Problem]:
    """Return the problems that pydantic has found in ``values``, located by the author's field names."""
    return [Problem(_locate(values, detail["loc"]), _write_message(detail)) for detail in error.errors()]


def find_library_problems(definition: AgentDefinition, libraries: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each library of an agent that is not one of the project's ``libraries``."""
    for index, name in enumerate(definition.libraries):
        if name not in libraries:
            advice = suggest_name(name, sorted(libraries))
            yield Problem(("libraries", index), f"there is no library {name!r} ({advice})")


def find_sentence_problems(definition: AgentDefinition) -> Iterator[Problem]:
    """Yield a problem for each placeholder in an agent's sentences that nothing fills. Users would see it as it is."""
    for locale, texts in definition.sentences.items():
        for name, text in texts.items():
            for what in find_placeholder_problems(definition, name, text):
                yield Problem(("sentences", locale, name), what)


def find_reference_problems(definition: AgentDefinition, agents: Mapping[str, AgentDefinition]) -> Iterator[Problem]:
    """Yield the problems of the agents that an agent refers to; ``agents`` are all that it may know."""
    targets = [handoff.agent for handoff in definition.handoffs]
    yield from _find_unusable_references("sub_agents", ASK, definition.sub_agents, agents)
    yield from _find_unusable_references("handoffs", TRANSFER, targets, agents)
    for index, agent_id in enumerate(definition.background_agents):
        other = agents.get(agent_id)
        headers = other.remote.headers if other is not None and other.remote is not None else {}
        if any(isinstance(value, TokenExchange) for value in headers.values()):
            what = f"{agent_id!r} acts for the user by token_exchange, which cannot be done in the background"
            yield Problem(("background_agents", index), what)
    if definition.id in definition.sub_agents:
        index = definition.sub_agents.index(definition.id)
        yield Problem(("sub_agents", index), f"{definition.id!r} cannot ask itself")
    yield from _find_shared_triggers(targets, agents)


def find_model_problems(definition: AgentDefinition, offered: OfferedModels) -> Iterator[Problem]:
    """Yield a problem for each model of a tenant's agent that the deployment, which pays for it, does not offer."""
    choice = definition.model
    what = f"this deployment offers: {offered}; or leave it out"
    if choice.name is not None and choice.name not in offered:
        yield Problem(("model", "name"), what)
    for index, name in enumerate(choice.fallback):
        if name not in offered:
            yield Problem(("model", "fallback", index), what)


def find_tenant_problems(definition: AgentDefinition) -> Iterator[Problem]:
    """Yield the problems of an agent by the rules for agents that tenants make."""
    if definition.model.extra:
        yield Problem(
            ("model", "extra"), "fields of requests are for the agents that ship with the deployment: leave it out"
        )
    if definition.remote is not None:
        yield from _find_secret_headers(("remote", "headers"), definition.remote.headers)
    for field, entries, most in (
        ("tools", definition.tools, MAX_TOOLS),
        ("sub_agents", definition.sub_agents, MAX_REFERENCES),
        ("handoffs", definition.handoffs, MAX_REFERENCES),
    ):
        if len(entries) > most:
            yield Problem((field,), f"a tenant's agent has at most {most}")
    yield from _find_trigger_problems("triggers", definition.triggers)
    yield from _find_trigger_problems("triggers_in_session", definition.triggers_in_session)
    yield from _find_tool_problems(definition)
    for index, guardrail in enumerate(definition.guardrails):
        yield from _find_plain_http(("guardrails", index), guardrail)
        yield from _find_secret_headers(("guardrails", index, "headers"), guardrail.headers)
    makes_skills = definition.workflow is not None and definition.workflow.produces == "skill"
    if makes_skills and Permission.SKILL_CREATE not in definition.required_permissions:
        yield Problem(
            ("required_permissions",), f"an agent whose workflow makes skills requires {Permission.SKILL_CREATE.value}"
        )


def _find_trigger_problems(field: str, triggers: Sequence[str]) -> Iterator[Problem]:
    for index, trigger in enumerate(triggers):
        if measure_pattern(trigger) > MAX_PATTERN_SIZE:
            yield Problem((field, index), "the pattern is too large: write smaller numbers of repetitions")
    if sum(not is_phrase(trigger) for trigger in triggers) > MAX_PATTERNS:
        yield Problem((field,), f"a tenant's agent has at most {MAX_PATTERNS} patterns; phrases are not limited")


def _find_tool_problems(definition: AgentDefinition) -> Iterator[Problem]:
    for index, tool in enumerate(definition.tools):
        yield from _find_plain_http(("tools", index), tool)
        if isinstance(tool, PythonTool):
            yield Problem(("tools", index, "type"), "functions of the deployment are for the agents that ship with it")
            continue
        if isinstance(tool, OpenApiTool) and not tool.is_remote:
            yield Problem(("tools", index, "spec"), "must be a URL: files are for the agents that ship")
        yield from _find_secret_headers(("tools", index, "headers"), tool.headers)


def _find_plain_http(location: tuple[str | int, ...], tool: ToolDefinition | Guardrail) -> Iterator[Problem]:
    """Yield a problem for each address without TLS. The egress policy decides about loopback addresses."""
    for field in ("url", "base_url", "spec"):
        address = urlsplit(getattr(tool, field, None) or "")
        if address.scheme == "http" and address.hostname not in LOOPBACK_HOSTS:
            yield Problem((*location, field), "must be an https URL")


def _find_secret_headers(location: tuple[str | int, ...], headers: Mapping[str, object]) -> Iterator[Problem]:
    """Yield a problem for each header whose value is made with a secret."""
    for name, value in headers.items():
        if not isinstance(value, str):
            yield Problem((*location, name), _REFUSED_HEADER)


def _write_message(detail: ErrorDetails) -> str:
    kinds = ", ".join(TOOL_TYPES)
    match detail["type"]:
        case "extra_forbidden":
            return describe_unknown_field(detail["loc"][-1], list_field_names(AgentDefinition))
        case "union_tag_not_found":
            return f"its type is missing: {kinds}"
        case "union_tag_invalid":
            tag = str(detail["ctx"]["tag"])
            return f"there is no type {tag!r} ({suggest_name(tag, TOOL_TYPES)})"
        case "model_attributes_type" if detail["loc"][:1] == ("tools",) and len(detail["loc"]) == 2:
            return f"must be a mapping of fields with one of the types {kinds}"
    return in_plain_words(detail)


def _locate(values: Any, location: Sequence[str | int]) -> tuple[str | int, ...]:
    """Return the location of an error in the author's terms.

    The ``type`` of a tool (``mcp``, ``http``), which pydantic adds to the location, is left out. Fields have the names
    that the author has written.
    """
    steps: list[str | int] = []
    for part in location:
        if isinstance(values, Mapping):
            if part not in values and values.get("type") == part:
                continue
            if part not in values and isinstance(part, str) and to_camel(part) in values:
                part = to_camel(part)
            values = values.get(part)
        elif isinstance(values, Sequence) and not isinstance(values, str) and isinstance(part, int):
            values = values[part] if part < len(values) else None
        else:
            values = None
        steps.append(part)
    return tuple(steps)


def _find_ineffective_values(values: Mapping[Any, Any], *, is_file: bool) -> Iterator[Problem]:
    """Yield the problems of values that are valid in a definition but have no effect."""
    if is_file and "workflow" in values and values["workflow"] is None:
        yield Problem(("workflow",), "it is empty; say what the workflow is, or leave the field out")
    sentences = values.get("sentences")
    for locale, texts in sentences.items() if isinstance(sentences, dict) else ():
        for name in texts if isinstance(texts, dict) else ():
            if name not in SENTENCES:
                names = ", ".join(sorted(SENTENCES))
                yield Problem(("sentences", locale, name), f"there is no such sentence; there are {names}")


def _find_completion_problems(definition: AgentDefinition) -> Iterator[Problem]:
    """Yield the problems of a workflow's completion that can be found before its tool is loaded."""
    workflow = definition.workflow
    if workflow is None or workflow.on_complete is None:
        return
    completion, place = workflow.on_complete, ("workflow", "on_complete")
    by_name = {tool.name: tool for tool in definition.tools if not isinstance(tool, McpServer)}
    tool = by_name.get(completion.tool)
    if tool is None and len(by_name) == len(definition.tools):
        names = ", ".join(sorted(by_name)) or "none"
        yield Problem(place, f"{completion.tool!r} is none of the agent's tools ({names}): add it to tools")
    parameters = tool.parameters if isinstance(tool, HttpTool | PythonTool) else None
    for what in find_completion_problems(workflow, completion, parameters):
        yield Problem(place, what)


def _find_unusable_references(
    field: str, prefix: str, agent_ids: Sequence[str], known_ids: Collection[str]
) -> Iterator[Problem]:
    """Yield references to agents that do not exist or whose tools would share a name."""
    tools: dict[str, str] = {}
    for index, agent_id in enumerate(agent_ids):
        if agent_id not in known_ids:
            similar = find_similar_name(agent_id, known_ids)
            advice = f" (did you mean {similar}?)" if similar else ""
            yield Problem((field, index), f"there is no agent {agent_id!r}{advice}")
        other = tools.setdefault(make_tool_name(prefix, agent_id), agent_id)
        if other != agent_id:
            yield Problem((field, index), f"{other!r} and {agent_id!r} would have the same tool's name")


def _find_shared_triggers(targets: Sequence[str], agents: Mapping[str, AgentDefinition]) -> Iterator[Problem]:
    """Yield triggers that two targets of one agent share. Only the first target would get the message."""
    owners: dict[str, str] = {}
    for index, target_id in enumerate(targets):
        for trigger in agents[target_id].triggers if target_id in agents else ():
            owner = owners.setdefault(normalise_trigger(trigger), target_id)
            if owner != target_id:
                what = f"{target_id!r} has the trigger {trigger!r}, and so has {owner!r}, which would always be chosen"
                yield Problem(("handoffs", index), what)
