"""Requests to Converse and ConverseStream, with fields that ask for thinking in the words of the model's family."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from baton.adapters.models.bedrock.messages import ConverseMessages
from baton.adapters.models.learning.request_form import SentFeatures
from baton.adapters.models.profiles.profile import AnswerForm, EffortForm, ModelProfile
from baton.adapters.models.question import PreparedQuestion
from baton.adapters.models.tool_schemas import NAMED_SCHEMAS, STRICT_NAME, ModelTools, normalise_schema
from baton.ports.agents.chat_model import ModelSettings

MAX_METADATA_PAIRS = 16
MAX_METADATA = 256
"""The maximum length of a name and of a value, in characters. AWS refuses requests that exceed one of both limits."""
OWN_FIELDS = frozenset({"performanceConfig", "promptVariables", "serviceTier", "additionalModelResponseFieldPaths"})
"""Fields of a request that an agent's settings may set. Other fields in settings are passed on to the model."""
KEPT_FIELDS = frozenset(
    {"guardrailConfig", "inferenceConfig", "messages", "modelId", "outputConfig", "requestMetadata", "system"}
    | {"toolConfig"}
)
"""Fields that no setting of an agent replaces."""
_KEYWORDS = """
$schema $id $comment minimum maximum exclusiveMinimum exclusiveMaximum multipleOf maxItems minItems contains uniqueItems
patternProperties propertyNames
"""
REFUSED_KEYWORDS = frozenset(_KEYWORDS.split())
"""Keywords that are refused under a strict schema. The answer is checked against the whole schema afterwards."""
_LOOKS_AROUND = re.compile(r"\(\?[=!<]|\\[0-9]|\(\?P=")
_UNKNOWN = re.compile(r"[^a-zA-Z0-9\s:_@$#=/+,.-]")


@dataclass(frozen=True, slots=True)
class BedrockGuardrail:
    """A guardrail that judges the questions and answers of all requests."""

    identifier: str
    """Its id or ARN."""
    version: str
    """A number or ``DRAFT``."""


@dataclass(frozen=True, slots=True)
class ConverseRequest:
    """A request, its optional parts, and the settings that it leaves out."""

    body: dict[str, Any]
    sent: SentFeatures
    dropped: tuple[str, ...]
    """Settings of the agent that the model does not take."""
    streams: bool
    """Whether the answer is streamed. Some models do not stream answers to requests with tools."""


@dataclass(slots=True)
class _Draft:
    """The sources of a request's parts. Functions that make a part add the settings that they drop to ``dropped``."""

    settings: ModelSettings
    profile: ModelProfile
    tools: ModelTools
    thinking: Thinking
    max_output: int | None
    dropped: set[str]
    """Settings that are not sent."""


def make_converse_request(
    question: PreparedQuestion, *, guardrail: BedrockGuardrail | None, sends_metadata: bool
) -> ConverseRequest:
    """Return the request for the messages and tools, in the form of the model's profile."""
    settings, profile, tools = question.settings, question.profile, question.tools
    draft = _make_draft(settings, tools, profile)
    prompts = ConverseMessages(question.messages, tools, profile)
    inference = _make_inference_config(draft)
    tool_config, fields = _make_tool_config(draft), _make_model_fields(draft)
    streams = not (tools.tools and profile.further.get("streams_tools") == "no")
    schema = settings.answer_schema if profile.answer_form is AnswerForm.SCHEMA else None
    body: dict[str, Any] = {
        **{name: value for name, value in settings.extra.items() if name in OWN_FIELDS},
        "messages": prompts.messages,
        "system": prompts.system,
        "inferenceConfig": inference,
        "toolConfig": tool_config,
        "additionalModelRequestFields": fields,
        "outputConfig": _make_output_config(schema) if schema is not None else None,
        "requestMetadata": make_request_metadata(settings.metadata) if sends_metadata else None,
        "guardrailConfig": _make_guardrail_config(guardrail, streams=streams),
    }
    body = {name: value for name, value in body.items() if value}
    names = _list_feature_names(draft, inference, tool_config, has_points=prompts.has_cache_points)
    sent = replace(question.make_features(*names), body=body)
    return ConverseRequest(body, sent, tuple(sorted(draft.dropped)), streams)


def make_request_metadata(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata of invocation logs within AWS's limits of number, length and characters.

    Values that are not text become JSON. Characters that AWS refuses become ``_``, and long values are cut. Pairs with
    a long or empty name are left out.
    """
    texts = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in values.items()
    }
    fitting = [(name, value) for name, value in texts.items() if 0 < len(name) <= MAX_METADATA]
    return {
        _UNKNOWN.sub("_", name): _UNKNOWN.sub("_", value)[:MAX_METADATA] for name, value in fitting[:MAX_METADATA_PAIRS]
    }


def _make_draft(settings: ModelSettings, tools: ModelTools, profile: ModelProfile) -> _Draft:
    """Return the draft with its thinking and its limit of output tokens."""
    default = profile.default_max_output
    max_tokens = None if "max_output_tokens" in profile.dropped else settings.max_output_tokens
    thinking = make_thinking(settings, profile, max_tokens)
    draft = _Draft(settings, profile, tools, thinking or Thinking(), max_tokens, set())
    if max_tokens is None and settings.max_output_tokens is not None:
        draft.dropped.add("max_output_tokens")
    if thinking is None:
        draft.dropped.add("reasoning_effort")
    if max_tokens is None and default is not None:
        # Bedrock's default for Anthropic's models is less than they can write, and thinking counts against it.
        draft.max_output = max(default, draft.thinking.budget + ROOM_FOR_ANSWER) if draft.thinking.budget else default
    return draft


def _make_inference_config(draft: _Draft) -> dict[str, Any]:
    """Return ``inferenceConfig``. A model that thinks with a budget takes no sampling. The temperature is 1 at most."""
    settings, profile = draft.settings, draft.profile
    temperature, top_p = settings.temperature, settings.top_p
    if temperature is not None and ("temperature" in profile.dropped or draft.thinking.budget):
        temperature = None
        draft.dropped.add("temperature")
    if top_p is not None and (
        "top_p" in profile.dropped
        or draft.thinking.budget
        or (profile.further.get("sampling") == "one" and temperature is not None)
    ):
        top_p = None
        draft.dropped.add("top_p")
    inference = {
        "maxTokens": draft.max_output,
        "temperature": None if temperature is None else min(1.0, temperature),
        "topP": top_p,
    }
    return {name: value for name, value in inference.items() if value is not None}


def _make_tool_config(draft: _Draft) -> dict[str, Any] | None:
    """Return ``toolConfig`` with the tools, and with a demand for a call if the model takes it; None without tools."""
    if not draft.tools.tools:
        return None
    config: dict[str, Any] = {
        "tools": [
            {
                "toolSpec": {
                    "name": tool.name,
                    "description": tool.description or tool.name,  # an empty one is refused
                    "inputSchema": {"json": tool.parameters},
                }
            }
            for tool in draft.tools.tools
        ]
    }
    choice = draft.settings.tool_choice
    if choice in (None, "auto", "none"):
        return config
    may_force = draft.profile.further.get("forced_calls") == "yes" and "tool_choice" not in draft.profile.dropped
    if not may_force or draft.thinking.budget:  # a model that thinks refuses a forced call
        draft.dropped.add("tool_choice")
        return config
    single_tool = {"tool": {"name": draft.tools.name_outside(choice or "")}}
    return {**config, "toolChoice": {"any": {}} if choice == "required" else single_tool}


def _make_model_fields(draft: _Draft) -> dict[str, Any]:
    """Return the fields that the service passes on to the model: those for thinking, and the agent's own."""
    settings, profile = draft.settings, draft.profile
    for name in ("verbosity", "parallel_tool_calls"):
        if getattr(settings, name) is not None:
            draft.dropped.add(name)
    fields = dict(draft.thinking.fields)
    for name, value in settings.extra.items():
        if name in KEPT_FIELDS or name in profile.dropped:
            draft.dropped.add(name)
        elif name == "additionalModelRequestFields" and isinstance(value, Mapping):
            fields |= value
        elif name not in OWN_FIELDS:
            fields[name] = value
    forbids = settings.tool_choice == "none" and bool(draft.tools.tools)
    if forbids and profile.further.get("no_calls") == "tool_choice" and "tool_choice" not in profile.dropped:
        fields["tool_choice"] = {"type": "none"}
    return fields


def _make_guardrail_config(guardrail: BedrockGuardrail | None, *, streams: bool) -> dict[str, str] | None:
    if guardrail is None:
        return None
    config = {"guardrailIdentifier": guardrail.identifier, "guardrailVersion": guardrail.version}
    # In this mode the guardrail judges a text before the service sends it.
    return {**config, "streamProcessingMode": "sync"} if streams else config


def _list_feature_names(
    draft: _Draft, inference: Mapping[str, Any], tool_config: Mapping[str, Any] | None, *, has_points: bool
) -> tuple[str, ...]:
    """Return the profiles' names for the optional fields of the request."""
    held = {
        "cache_point": has_points,
        "max_output_tokens": "maxTokens" in inference,
        "metadata": bool(draft.settings.metadata),
        "reasoning_effort": bool(draft.thinking.fields),
        "result_status": True,
        "temperature": "temperature" in inference,
        "tool_choice": "toolChoice" in (tool_config or {}) or draft.settings.tool_choice == "none",
        "top_p": "topP" in inference,
    }
    return (*(name for name, is_held in held.items() if is_held), *draft.settings.extra)


def _make_output_config(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``outputConfig`` for a JSON Schema, without the keywords that the service refuses."""
    strict = _make_strict(normalise_schema(schema, REFUSED_KEYWORDS))
    text = json.dumps(strict, ensure_ascii=False, separators=(",", ":"))
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"name": STRICT_NAME, "schema": text}}}}


def _make_strict(schema: Any) -> Any:
    """Return the schema with closed objects, and without patterns that contain look-arounds or back references."""
    if isinstance(schema, list):
        return [_make_strict(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    strict: dict[str, Any] = {}
    for key, value in schema.items():
        if key in NAMED_SCHEMAS and isinstance(value, dict):
            strict[key] = {name: _make_strict(member) for name, member in value.items()}
        else:
            strict[key] = value if key in ("enum", "const", "default") else _make_strict(value)
    if strict.get("type") == "object" or isinstance(strict.get("properties"), dict):
        strict["additionalProperties"] = False
    if isinstance(strict.get("pattern"), str) and _LOOKS_AROUND.search(strict["pattern"]):
        del strict["pattern"]
    return strict


LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 10_000, "high": 16_384, "xhigh": 32_768, "max": 32_768}
"""Tokens of thinking by effort, for models that take a number. The minimum is 1,024."""
ROOM_FOR_ANSWER = 4_096
"""Tokens for an answer besides the budget of thinking, which counts against the answer's limit."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """The request's fields for thinking."""

    fields: dict[str, Any] = field(default_factory=dict)
    """Fields of ``additionalModelRequestFields``."""
    budget: int = 0
    """Tokens of thinking, for models that take a number. Such a request takes neither sampling nor forced calls."""


def make_thinking(settings: ModelSettings, profile: ModelProfile, max_output: int | None) -> Thinking | None:
    """Return the fields that ask for the agent's effort of thinking; None if the model does not take this effort.

    ``max_output`` is the agent's limit of the answer's tokens, of which a budget of thinking is at most half.
    """
    asked_effort = settings.reasoning_effort
    if "reasoning_effort" in profile.dropped or profile.effort is EffortForm.NONE:
        return None if asked_effort else Thinking()
    if profile.effort is EffortForm.ADAPTIVE:
        return _make_adaptive_thinking(asked_effort, profile, shows=settings.shows_reasoning)
    if profile.effort is EffortForm.BUDGET:
        return _make_budgeted_thinking(asked_effort or ("low" if settings.shows_reasoning else None), max_output)
    if asked_effort is None:
        return Thinking()
    effort = _find_nearest_effort(asked_effort, profile)
    if profile.effort is EffortForm.REASONING:
        return Thinking({"reasoning": {"effort": effort}})
    if profile.effort is EffortForm.REASONING_CONFIG:
        return Thinking({"reasoning_config": effort})
    if profile.effort is EffortForm.NOVA:
        enabled = {"type": "enabled", "maxReasoningEffort": effort}
        return Thinking({"reasoningConfig": {"type": "disabled"} if effort == "none" else enabled})
    return Thinking({"reasoning_effort": effort})


def _make_adaptive_thinking(effort: str | None, profile: ModelProfile, *, shows: bool) -> Thinking:
    """Return the fields for a model that decides how long it thinks. With ``shows``, its thinking is shown."""
    off = profile.further.get("thinking_off", "disabled")
    if effort == "none" and off != "never":
        return Thinking({"thinking": {"type": off}})
    if effort is None and not shows:
        return Thinking()
    thinking: dict[str, Any] = {"type": "adaptive"}
    if shows and "display" in profile.further:
        thinking["display"] = profile.further["display"]
    if effort is None:
        return Thinking({"thinking": thinking})
    return Thinking({"thinking": thinking, "output_config": {"effort": _find_nearest_effort(effort, profile)}})


def _make_budgeted_thinking(effort: str | None, max_output: int | None) -> Thinking | None:
    """Return the fields with a budget of thinking; None if half of ``max_output`` is less than the minimum budget."""
    if effort in (None, "none"):
        return Thinking()
    budget = BUDGETS.get(effort or "", BUDGETS["medium"])
    if max_output is not None:
        budget = min(budget, max_output // 2)
    if budget < BUDGETS["minimal"]:
        return None
    return Thinking({"thinking": {"type": "enabled", "budget_tokens": budget}}, budget)


def _find_nearest_effort(effort: str, profile: ModelProfile) -> str:
    """Return the model's level that is nearest to ``effort``, the higher level if two are equally near.

    Return ``effort`` itself if it is no known level, or if the model's levels are not known.
    """
    efforts = profile.further.get("efforts", "").split(",")
    if effort in efforts or effort not in LEVELS or efforts == [""]:
        return effort
    rank = LEVELS.index(effort)
    levels = [level for level in efforts if level in LEVELS and (level != "none" or effort == "none")]
    return min(levels, key=lambda level: (abs(LEVELS.index(level) - rank), -LEVELS.index(level)))
