"""The one table of known endpoints and model families. ``profiles`` looks a model up in it.

Rules apply in order, each on top of those before it: endpoints first, then families, then families at one endpoint.
A host is a pattern of the endpoint's host and port, ``bedrock`` for Bedrock's Converse; a model is a pattern of its
normalised name (``profiles.normalised``). The facts are fields of ``ModelProfile``; ``dropped`` and
``dropped_keywords`` add to what earlier rules drop.

Sources: type documentation of openai 3.57, pydantic-ai-slim 2.68 (profiles that were tried against the endpoints),
the providers' documentation, and bug reports of other projects, named where they are the only source.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton.adapters.models.profiles.bedrock_profiles import BEDROCK
from baton.adapters.models.profiles.profile import (
    NINE_CHARACTERS,
    OBFUSCATION,
    SAMPLING,
    AnswerForm,
    Api,
    CacheHints,
    ProfileRule,
    SystemPlace,
)
from baton.domain.runs.provider_parts import Replay

THINKING_TOKENS = 4_000
"""Room for the thinking of models that count it as a part of their answer: otherwise short answers come back empty."""
NO_REASONING = frozenset({"include", "reasoning_effort", "reasoning_summary"})
"""Fields that models refuse if they do not think."""
LATE_REASONING = ("reasoning_content", "reasoning")
"""Fields in which servers of open models send thinking. vLLM takes ``reasoning`` back from 0.16 on."""
OPENAI_HOSTS = ("api.openai.com", "*.api.openai.com")
AZURE_HOSTS = ("*.openai.azure.com", "*.services.ai.azure.com")
BEDROCK_HOSTS = ("bedrock-runtime*.amazonaws.com*", "bedrock-mantle.*.api.aws")
"""Amazon Bedrock's endpoints with OpenAI's APIs. Converse is the host ``bedrock``."""
OPENAI_REASONING = ("gpt-5*", "gpt-6*", "o1*", "o3*", "o4*")
CALL_IDS = r"[a-zA-Z0-9_-]{1,40}"
"""Ids of calls that OpenAI's APIs take. Responses take 64 characters."""
# Bedrock puts the maker's name before a dot.
OPENAI_AT_BEDROCK = ("openai.gpt-5*", "openai.gpt-6*")
# Google's API knows a part of JSON Schema only and refuses other keywords by name.
_KEYWORDS = """
$schema additionalProperties const propertyNames patternProperties unevaluatedProperties exclusiveMinimum
exclusiveMaximum dependentRequired dependentSchemas if then else not contains examples deprecated readOnly writeOnly
contentEncoding contentMediaType
"""
GOOGLE_KEYWORDS = frozenset(_KEYWORDS.split())

OPEN_TEMPLATE = {"system": SystemPlace.FIRST, "alternates": True, "documents": frozenset()}
"""Facts of the chat templates of most open models."""
USER_FIRST = {**OPEN_TEMPLATE, "user_first": True, "breaks_special_tokens": True}


def _rules(*families: str, **facts: Any) -> Iterator[ProfileRule]:
    """Yield a rule for each family of models, at any endpoint."""
    return (ProfileRule("*", family, facts) for family in families)


ENDPOINTS = (
    *(
        ProfileRule(host, "*", {"cache": CacheHints.KEY, "call_ids": CALL_IDS, "further": {OBFUSCATION: "optional"}})
        for host in (*OPENAI_HOSTS, *AZURE_HOSTS)
    ),
    # Over Chat Completions Azure takes no ``file`` parts (pydantic-ai providers/azure).
    ProfileRule("*.openai.azure.com", "*", {"documents": frozenset(), "limit_field": "max_completion_tokens"}),
    ProfileRule(
        "generativelanguage.googleapis.com",
        "*",
        {"dropped_keywords": GOOGLE_KEYWORDS, "inlines_refs": True, "tool_names": r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}"},
    ),
    ProfileRule("*aiplatform.googleapis.com", "*", {"dropped_keywords": GOOGLE_KEYWORDS, "inlines_refs": True}),
    ProfileRule(
        "api.mistral.ai",
        "*",
        {
            "dropped": frozenset({"metadata", "stream_options", "prompt_cache_key", "verbosity"}),
            "call_ids": NINE_CHARACTERS,
            "replay": Replay.NEVER,
        },
    ),
    ProfileRule("api.x.ai", "*", {"api": Api.RESPONSES, "cache": CacheHints.KEY}),
    ProfileRule("api.anthropic.com", "*", {"dropped": frozenset({"response_format"}), "system": SystemPlace.FIRST}),
    ProfileRule(
        "*:11434", "*", {"dropped": frozenset({"tool_choice"}), "documents": frozenset(), "ends_without_reason": True}
    ),
    # LM Studio knows no ``json_object``, but schemas; nothing local reads PDF files.
    ProfileRule("*:1234", "*", {"documents": frozenset()}),
)

FAMILIES = (
    # OpenAI: reasoning models, which need Responses for tools at OpenAI's own host.
    *_rules(
        *OPENAI_REASONING, *OPENAI_AT_BEDROCK, limit_field="max_completion_tokens", thinking_tokens=THINKING_TOKENS
    ),
    # gpt-5.1 to gpt-5.4 do not think unless a request asks for it. Those for ChatGPT never do.
    *_rules("gpt-5", "gpt-5-*", "gpt-5.[5-9]*", "gpt-6*", "o1*", "o3*", "o4*", dropped=SAMPLING),
    *_rules("openai.gpt-5.[5-9]*", "openai.gpt-6*", dropped=SAMPLING),
    *_rules("gpt-4*", "gpt-3.5*", "gpt-5*-chat-latest", dropped=NO_REASONING),
    *_rules("o[134]*", dropped=frozenset({"parallel_tool_calls"})),
    *_rules("gpt-oss*", inlines_refs=True),
    *_rules("*gemini-[3-9]*", calls_need_parts=True),
    # DeepSeek's thinking models want their thinking back with every message of a conversation with tools.
    *_rules(
        "*deepseek*",
        replay=Replay.ALWAYS,
        replayed_fields=LATE_REASONING,
        answer_form=AnswerForm.OBJECT,
        documents=frozenset(),
        inlines_refs=True,
    ),
    *_rules("*deepseek-r*", dropped=SAMPLING),
    # The chat templates of open models.
    *_rules("*qwen*", **OPEN_TEMPLATE, replayed_fields=LATE_REASONING, inlines_refs=True, breaks_special_tokens=True),
    *_rules("*gemma*", **USER_FIRST),
    # The templates of Gemma 1 and 2 know no system role.
    *_rules("*gemma-[127]*", "*gemma[12]*", system=SystemPlace.USER),
    *_rules("*llama*", "*phi-*", "*granite*", **USER_FIRST, inlines_refs=True),
    *_rules(
        *("*mistral*", "*magistral*", "*ministral*", "*devstral*", "*codestral*"),
        **OPEN_TEMPLATE,
        user_first=True,
        user_after_tool=False,
        call_ids=NINE_CHARACTERS,
    ),
    *_rules(
        *("*minimax*", "*kimi*", "*glm-*"), replayed_fields=LATE_REASONING, inlines_refs=True, documents=frozenset()
    ),
    # Since Claude 4.7 Anthropic's models choose how they sample.
    *_rules("*claude-[a-z]*[a-z]-[5-9]*", "*claude-[a-z]*-4-[789]*", dropped=SAMPLING),
)

FAMILIES_AT_ENDPOINTS = (
    *(ProfileRule(host, family, {"api": Api.RESPONSES}) for host in OPENAI_HOSTS for family in OPENAI_REASONING),
    *(ProfileRule(host, family, {"api": Api.RESPONSES}) for host in BEDROCK_HOSTS for family in OPENAI_AT_BEDROCK),
    # A deployment at Azure may have any name. Models with these names take tools over Responses only.
    *(
        ProfileRule(host, family, {"api": Api.RESPONSES})
        for host in AZURE_HOSTS
        for family in ("gpt-5.[5-9]*", "gpt-6*")
    ),
    # Only some of these take an effort of thinking. The others refuse it, and that is learned.
    ProfileRule("api.x.ai", "grok-[4-9]*", {"thinking_tokens": THINKING_TOKENS}),
    ProfileRule("api.groq.com", "*", {"replay": Replay.NEVER, "replayed_fields": ()}),
    ProfileRule("api.cerebras.ai", "*", {"replay": Replay.NEVER, "replayed_fields": ()}),
    ProfileRule(
        "api.deepseek.com",
        "*",
        {"required_field": "reasoning_content", "replayed_fields": ("reasoning_content",), "replay": Replay.ALWAYS},
    ),
    ProfileRule("api.mistral.ai", "*", {"system": SystemPlace.FIRST, "user_after_tool": False}),
    ProfileRule(
        "openrouter.ai",
        "*",
        {
            # Within a turn only: Claude binds its thinking to a prompt that the next turn assembles again.
            "replay": Replay.TURN,
            "replayed_fields": ("reasoning_details",),
            "call_ids": None,
            "system": SystemPlace.ANYWHERE,
            "alternates": False,
            "user_after_tool": True,
        },
    ),
)

TABLE: tuple[ProfileRule, ...] = (*ENDPOINTS, *FAMILIES, *FAMILIES_AT_ENDPOINTS, *BEDROCK)
