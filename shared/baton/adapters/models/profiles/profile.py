"""The profile of a model at an endpoint: the requests that it takes, their form, and the operators' declarations."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from baton.domain.runs.provider_parts import Replay

BEDROCK_HOST = "bedrock"
"""The host by which rules name Converse of Amazon Bedrock."""
SAMPLING = frozenset({"temperature", "top_p"})
"""Settings that most reasoning models refuse."""
NINE_CHARACTERS = r"[a-zA-Z0-9]{9}"
"""The ids of calls that Mistral's models take."""
ADDED = ("dropped", "dropped_keywords", "refused_values")
"""Facts whose values accumulate: a later rule adds to what earlier ones name."""
OBFUSCATION = "obfuscation"
"""The further fact of endpoints that pad the events of a Responses stream unless asked not to: ``optional``."""


class Api(StrEnum):
    """The APIs that adapters speak."""

    CHAT = "chat"
    """OpenAI's Chat Completions."""
    RESPONSES = "responses"
    """OpenAI's Responses."""
    CONVERSE = "converse"
    """ConverseStream of Amazon Bedrock."""


class SystemPlace(StrEnum):
    """The places of system messages in a request."""

    ANYWHERE = "anywhere"
    HEAD = "head"
    """Several, before all other messages. Later notes are sent as text of the user."""
    FIRST = "first"
    """One, before all other messages. Later notes are sent as text of the user."""
    USER = "user"
    """Nowhere: the text precedes the first message of the user."""


class CacheHints(StrEnum):
    """The marks for prompt caches in a request."""

    NONE = "none"
    KEY = "key"
    """``prompt_cache_key``: requests of one conversation and agent go to the same cache (OpenAI, Mistral)."""
    BREAKPOINTS = "breakpoints"
    """``cache_control`` on content parts (Anthropic's models behind a gateway)."""
    POINTS = "points"
    """``cachePoint`` blocks (Amazon Bedrock)."""


def read_hints(setting: str) -> CacheHints | None:
    """Return the hints that an operator has chosen; None for ``auto``, which leaves the choice to the model's profile.

    Raises ``ValueError`` for an unknown ``setting``.
    """
    return None if setting == "auto" else CacheHints(setting)


class AnswerForm(StrEnum):
    """The way to ask for a structured answer."""

    SCHEMA = "schema"
    """The API's own JSON Schema, in strict form."""
    OBJECT = "object"
    """The API promises JSON only, so the schema is in the prompt too."""
    PROMPT = "prompt"
    """The schema is in the prompt only."""


class EffortForm(StrEnum):
    """The way to ask for an effort of thinking."""

    NONE = "none"
    REASONING_EFFORT = "reasoning_effort"
    """A field of that name."""
    REASONING = "reasoning"
    """``reasoning: {effort}``."""
    ADAPTIVE = "adaptive"
    """Anthropic's adaptive thinking with ``output_config: {effort}``."""
    BUDGET = "budget"
    """Anthropic's thinking with a budget of tokens."""
    REASONING_CONFIG = "reasoning_config"
    """Qwen's field of that name on Bedrock."""
    NOVA = "nova"
    """``reasoningConfig`` of Amazon's models."""


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """The requests that a model takes. The defaults fit an unknown endpoint of Chat Completions."""

    family: str | None = None
    """The name of the known model behind a name that does not show it, such as the name of a deployment."""
    api: Api = Api.CHAT
    dropped: frozenset[str] = frozenset()
    """Settings and optional fields that are not sent, by the names of ``ModelSettings`` or of the request."""
    refused_values: frozenset[tuple[str, str]] = frozenset()
    """Values of settings that are not sent, although other values are. Learned, never declared."""
    limit_field: str = "max_tokens"
    """The field of Chat Completions with the limit of an answer's tokens."""
    thinking_tokens: int = 0
    """Tokens that are added to an answer's limit, because the model's thinking counts against it."""
    default_max_output: int | None = None
    """The limit of an answer's tokens if the agent sets none; None leaves it to the endpoint."""
    system: SystemPlace = SystemPlace.ANYWHERE
    alternates: bool = False
    """Whether messages of the user and of the assistant must alternate."""
    user_first: bool = False
    """Whether the first message besides the system's must be the user's."""
    user_after_tool: bool = True
    """Whether a message of the user may follow a tool's result directly."""
    tools_with_history: bool = True
    """Whether tools must be declared as long as the history has calls, even in the last round.

    Without any tool to declare, the calls of the history are written as text."""
    replay: Replay = Replay.TURN
    """Conditions for sending parts of an answer back. Unknown fields of calls are always sent back."""
    replayed_fields: tuple[str, ...] = ("reasoning_details", "thinking_blocks", "extra_content")
    """Fields of a message of Chat Completions that are sent back."""
    required_field: str | None = None
    """The replayed field that every message of the assistant must have, empty if there is nothing to send."""
    calls_need_parts: bool = False
    """Whether a call without its signature is refused. Such calls are sent as text."""
    call_ids: str | None = None
    """A regular expression that the ids of calls must match in full. Others are replaced on the way out."""
    max_tools: int = 128
    tool_names: str = r"[a-zA-Z0-9_-]{1,64}"
    """A regular expression that the names of tools must match in full."""
    dropped_keywords: frozenset[str] = frozenset({"$schema", "$id", "$comment"})
    """Keywords that are left out of the schemas of tools."""
    inlines_refs: bool = False
    """Whether ``$ref`` must be replaced by what it refers to."""
    answer_form: AnswerForm = AnswerForm.SCHEMA
    effort: EffortForm = EffortForm.REASONING_EFFORT
    images: bool = True
    image_urls: bool = True
    """Whether the provider fetches images by their address."""
    max_images: int | None = None
    """Images of one message; None has no limit."""
    max_image_bytes: int | None = None
    documents: frozenset[str] = frozenset({"application/pdf"})
    """Media types of documents that the model reads itself. The text of others is extracted."""
    max_documents: int | None = None
    """Documents of one message that the model reads itself; None has no limit. The text of others is extracted."""
    max_document_bytes: int | None = None
    breaks_special_tokens: bool = False
    """Whether special tokens of chat templates in the text of users and tools would become turns."""
    ends_without_reason: bool = False
    """Whether an answer may end without a reason to stop. Otherwise such an answer counts as broken off."""
    thinks_first: bool = False
    """Whether answers begin with thinking that only a closing tag ends. Learned, never declared."""
    context_tokens: int | None = None
    """The length of the model's context in its own tokens, if it is short enough to matter."""
    cache: CacheHints = CacheHints.NONE
    max_cache_marks: int = 4
    token_ratio: float = 1.0
    """Tokens of the model's own vocabulary for each token of ``o200k_base``, by which Baton counts."""
    further: dict[str, str] = field(default_factory=dict)
    """Facts that only one adapter reads."""


def with_facts(profile: ModelProfile, facts: Mapping[str, Any]) -> ModelProfile:
    """Return the profile with ``facts``. Those of ``ADDED`` and ``further`` are added to the profile's."""
    added: dict[str, Any] = {name: frozenset(facts[name]) | getattr(profile, name) for name in ADDED if name in facts}
    if "further" in facts:
        added["further"] = {**profile.further, **facts["further"]}
    return replace(profile, **{**facts, **added})


@dataclass(frozen=True, slots=True)
class ProfileRule:
    """Facts of the models that two patterns match."""

    host: str
    model: str
    facts: Mapping[str, Any]


def make_rules(*models: str, host: str = "*", **facts: Any) -> tuple[ProfileRule, ...]:
    """Return a rule with the same facts for each pattern of models."""
    return tuple(ProfileRule(host, model, facts) for model in models)


SETTING = "modelProfiles"
UNDECLARED = frozenset({"refused_values", "thinks_first"})
"""Facts that only answers and refusals show, so they cannot be declared."""
_EXPRESSIONS = frozenset({"call_ids", "tool_names"})
"""Facts that are regular expressions."""


def read_profile_overrides(written: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the facts by pattern and field, as ``ModelProfile`` has them.

    ``written`` is the setting's JSON: patterns of models to facts, by names in camel case or as in ``ModelProfile``.
    Raises ``ValueError`` that names the setting and the place of an unknown fact or a wrong value.
    """
    types = get_type_hints(ModelProfile)
    names = {field.name: field.name for field in fields(ModelProfile) if field.name not in UNDECLARED}
    names |= {to_camel(name): name for name in names}
    return {pattern: _read_facts(pattern, facts, names, types) for pattern, facts in written.items()}


def _read_facts(pattern: str, written: Any, names: Mapping[str, str], types: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(written, Mapping):
        raise ValueError(f"{SETTING}: {pattern}: must be an object with facts about these models")
    facts: dict[str, Any] = {}
    for name, value in written.items():
        setting = f"{SETTING}: {pattern}.{name}"
        field = names.get(name)
        if field is None:
            known_facts = ", ".join(sorted({to_camel(field_name) for field_name in names.values()}))
            raise ValueError(f"{setting}: there is no such fact; there are {known_facts}")
        if field in facts:
            raise ValueError(f"{setting}: is given twice")
        try:
            facts[field] = _check_value(field, value, types[field])
        except ValueError as error:
            raise ValueError(f"{setting}: {error}") from None
    return facts


def _check_value(field: str, value: Any, kind: Any) -> Any:
    try:
        checked = TypeAdapter(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"]) from None
    if isinstance(checked, int) and not isinstance(checked, bool) and checked < 1:
        raise ValueError("must be 1 or more")
    if isinstance(checked, float) and not (math.isfinite(checked) and checked > 0):
        raise ValueError("must be a finite number above 0")
    if field in _EXPRESSIONS and checked is not None:
        try:
            re.compile(checked)
        except re.error as error:
            raise ValueError(f"is no regular expression: {error}") from None
    return checked
