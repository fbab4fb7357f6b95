"""The one table of known endpoints and model families. ``known_profiles`` looks a model up in it.

Rules apply in order, each on top of those before it: endpoints first, then families, then families at one endpoint.
A host is a pattern of the endpoint's host and port, ``bedrock`` for Bedrock's Converse; a model is a pattern of its
normalised name (``known_profiles.normalise_name``). The facts are fields of ``ModelProfile``; ``dropped`` and
``dropped_keywords`` add to what earlier rules drop.

Sources: type documentation of openai 3.57, pydantic-ai-slim 2.68 (profiles that were tried against the endpoints),
the providers' documentation, and bug reports of other projects, named where they are the only source.
"""

from __future__ import annotations

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
    make_rules,
)
from baton.domain.runs.provider_parts import Replay

THINKING_TOKENS = 4_000
"""Room for the thinking of models that count it as a part of their answer. Without it, short answers are empty."""
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
OF_GOOGLE: dict[str, Any] = {"dropped_keywords": frozenset(_KEYWORDS.split()), "inlines_refs": True}

OPEN_TEMPLATE: dict[str, Any] = {"system": SystemPlace.FIRST, "alternates": True, "documents": frozenset()}
"""Facts of the chat templates of most open models."""
USER_FIRST: dict[str, Any] = {**OPEN_TEMPLATE, "user_first": True, "breaks_special_tokens": True}


ENDPOINTS = (
    *(
        ProfileRule(host, "*", {"cache": CacheHints.KEY, "call_ids": CALL_IDS, "further": {OBFUSCATION: "optional"}})
        for host in (*OPENAI_HOSTS, *AZURE_HOSTS)
    ),
    # Over Chat Completions Azure takes no ``file`` parts (pydantic-ai providers/azure).
    *make_rules("*", host="*.openai.azure.com", documents=frozenset(), limit_field="max_completion_tokens"),
    *make_rules("*", host="generativelanguage.googleapis.com", tool_names=r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", **OF_GOOGLE),
    *make_rules("*", host="*aiplatform.googleapis.com", **OF_GOOGLE),
    *make_rules(
        "*",
        host="api.mistral.ai",
        dropped=frozenset({"metadata", "stream_options", "prompt_cache_key", "verbosity"}),
        call_ids=NINE_CHARACTERS,
        replay=Replay.NEVER,
    ),
    *make_rules("*", host="api.x.ai", api=Api.RESPONSES, cache=CacheHints.KEY),
    *make_rules("*", host="api.anthropic.com", dropped=frozenset({"response_format"}), system=SystemPlace.FIRST),
    *make_rules(
        "*", host="*:11434", dropped=frozenset({"tool_choice"}), documents=frozenset(), ends_without_reason=True
    ),
    # LM Studio knows no ``json_object``, but schemas; nothing local reads PDF files.
    *make_rules("*", host="*:1234", documents=frozenset()),
)

FAMILIES = (
    # OpenAI: reasoning models, which need Responses for tools at OpenAI's own host.
    *make_rules(
        *OPENAI_REASONING, *OPENAI_AT_BEDROCK, limit_field="max_completion_tokens", thinking_tokens=THINKING_TOKENS
    ),
    # gpt-5.1 to gpt-5.4 do not think unless a request asks for it. Those for ChatGPT never do.
    *make_rules("gpt-5", "gpt-5-*", "gpt-5.[5-9]*", "gpt-6*", "o1*", "o3*", "o4*", dropped=SAMPLING),
    *make_rules("openai.gpt-5.[5-9]*", "openai.gpt-6*", dropped=SAMPLING),
    *make_rules("gpt-4*", "gpt-3.5*", "gpt-5*-chat-latest", dropped=NO_REASONING),
    *make_rules("o[134]*", dropped=frozenset({"parallel_tool_calls"})),
    *make_rules("gpt-oss*", inlines_refs=True),
    *make_rules("*gemini-[3-9]*", calls_need_parts=True),
    # DeepSeek's thinking models want their thinking back with every message of a conversation with tools.
    *make_rules(
        "*deepseek*",
        replay=Replay.ALWAYS,
        replayed_fields=LATE_REASONING,
        answer_form=AnswerForm.OBJECT,
        documents=frozenset(),
        inlines_refs=True,
    ),
    *make_rules("*deepseek-r*", dropped=SAMPLING),
    # The chat templates of open models.
    *make_rules(
        "*qwen*", **OPEN_TEMPLATE, replayed_fields=LATE_REASONING, inlines_refs=True, breaks_special_tokens=True
    ),
    *make_rules("*gemma*", **USER_FIRST),
    # The templates of Gemma 1 and 2 know no system role.
    *make_rules("*gemma-[127]*", "*gemma[12]*", system=SystemPlace.USER),
    *make_rules("*llama*", "*phi-*", "*granite*", **USER_FIRST, inlines_refs=True),
    *make_rules(
        *("*mistral*", "*magistral*", "*ministral*", "*devstral*", "*codestral*"),
        **OPEN_TEMPLATE,
        user_first=True,
        user_after_tool=False,
        call_ids=NINE_CHARACTERS,
    ),
    *make_rules(
        *("*minimax*", "*kimi*", "*glm-*"), replayed_fields=LATE_REASONING, inlines_refs=True, documents=frozenset()
    ),
    # Since Claude 4.7 Anthropic's models choose how they sample.
    *make_rules("*claude-[a-z]*[a-z]-[5-9]*", "*claude-[a-z]*-4-[789]*", dropped=SAMPLING),
)

FAMILIES_AT_ENDPOINTS = (
    *(rule for host in OPENAI_HOSTS for rule in make_rules(*OPENAI_REASONING, host=host, api=Api.RESPONSES)),
    *(rule for host in BEDROCK_HOSTS for rule in make_rules(*OPENAI_AT_BEDROCK, host=host, api=Api.RESPONSES)),
    # A deployment at Azure may have any name. Models with these names take tools over Responses only.
    *(rule for host in AZURE_HOSTS for rule in make_rules("gpt-5.[5-9]*", "gpt-6*", host=host, api=Api.RESPONSES)),
    # Only some of these take an effort of thinking. The others refuse it, and that is learned.
    *make_rules("grok-[4-9]*", host="api.x.ai", thinking_tokens=THINKING_TOKENS),
    *make_rules("*", host="api.groq.com", replay=Replay.NEVER, replayed_fields=()),
    *make_rules("*", host="api.cerebras.ai", replay=Replay.NEVER, replayed_fields=()),
    *make_rules(
        "*",
        host="api.deepseek.com",
        required_field="reasoning_content",
        replayed_fields=("reasoning_content",),
        replay=Replay.ALWAYS,
    ),
    *make_rules("*", host="api.mistral.ai", system=SystemPlace.FIRST, user_after_tool=False),
    *make_rules(
        "*",
        host="openrouter.ai",
        replay=Replay.TURN,  # not longer: Claude binds its thinking to a prompt that the next turn assembles again
        replayed_fields=("reasoning_details",),
        call_ids=None,
        system=SystemPlace.ANYWHERE,
        alternates=False,
        user_after_tool=True,
    ),
)

TABLE: tuple[ProfileRule, ...] = (*ENDPOINTS, *FAMILIES, *FAMILIES_AT_ENDPOINTS, *BEDROCK)
