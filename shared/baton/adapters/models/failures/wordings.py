"""The words by which endpoints name the cause of a failure, as expressions over text in lower case.

Sources: exception mappings of litellm 1.110, error models of pydantic-ai-slim 2.68, the providers' documentation, and
bug reports of other projects.
"""

from __future__ import annotations

import re


def join_patterns(*expressions: str) -> re.Pattern[str]:
    """Return a pattern that matches where any of the expressions does."""
    return re.compile("|".join(f"(?:{expression})" for expression in expressions))


FILTERED = join_patterns(
    r"content_filter|contentfilter",
    r"content_?policy_?violation",
    r"responsible ?ai",
    r"violating our usage policy",
    r"violates? (the )?(usage guidelines|content polic|our content polic)",
    r"content (filtering|management) policy",
    r"prohibited_content",
    r"data_?inspection_?failed|inappropriate content",
    r"bio_policy|cyber_policy|misalignment_policy_violation",
    r"content exists risk",  # DeepSeek
    r"considered high risk",  # Moonshot
    r"(in|out)put new_sensitive",  # MiniMax
    r"limited access to this content for safety",
    r"our safety system|moderation_blocked|safety_check_type",
)
"""The provider's filter has stopped the question or the answer."""

OVERFLOW = join_patterns(
    r"context_length_exceeded|exceed_context_size_error|contextwindowexceeded|tokens_limit_reached",
    r"max(imum)? (context|prompt|model) length",
    r"(exceeds?|exceeded|than) (the|this|its) (model.?s )?(maximum )?(context|model) (length|window|size)",
    r"reduce the length of",
    r"prompt (is )?too long|prompt exceeds max length|prompt token count of|exceeded model token limit",
    r"exceed context limit",
    r"input is too long|input length exceeds|range of input length|input tokens exceed|input token count",
    r"exceeds the available context size|context size has been exceeded",
    r"exceeds the maximum number of tokens allowed|tokens in the prompt cannot exceed",
    r"too many total text bytes",
    r"context length is only",
    r"context the overflows|context overflow|reached context length",
    r"context window",
    r"current length is.*while limit is",  # Mistral, Cerebras
    r"`inputs` (tokens \+|must have less than)",  # Text Generation Inference
    # A limit of tokens per minute below the size of this one request, which no waiting helps (Groq, OpenAI).
    r"request too large for",
    r"request body too large for .* model",
)
"""The request is longer than the model's context."""

NO_OVERFLOW = join_patterns(r"string too long")
"""A single field is too long, whatever else is said."""

NO_CREDIT = join_patterns(
    r"insufficient[ _](quota|credits?|balance|funds)",
    r"credit balance",
    r"doesn.t have any credits|all available credits|requires more credits",
    r"spending limit",
    r"billing_hard_limit|billing hard limit|billing_not_active",
    r"budget_?\s?(has been )?exceeded",
    r"exceeded_current_quota",
)
"""The account has no credit, or its quota is used up."""

QUOTA_SPENT = join_patterns(
    r"exceeded your current quota.{0,40}billing", r"openai(?:exception|error)?\W.{0,20}exceeded your current quota"
)
"""OpenAI's sentence, which gateways pass on without its code. Google says the same of limits a minute, with a wait."""
A_MINUTE = join_patterns(r"per ?minute|perminute")
DAILY = join_patterns(r"per ?day", r"daily (limit|quota)")
"""A limit that a wait of seconds does not end."""

UNKNOWN_MODEL = join_patterns(
    r"model_?not_?found|modelnotfound|invalid_model|model_decommissioned|deploymentnotfound",
    r"model identifier is invalid|on-demand throughput",
    r"(model|deployment)\b.{0,120}(does not exist|not exist|has been decommissioned|was not found|is not found)",
    r"(no such|unknown|invalid|unsupported) model( name)?( passed| id)?\b(?! (field|input|parameter|output|response))",
    r"not a valid model",
    r"no endpoints found for",
)
"""The endpoint has no such model."""

BAD_KEY = join_patterns(
    r"invalid_api_key|api_key_invalid|authentication_error",
    r"(incorrect|invalid|wrong) (x-)?api[- ]key",
    r"api key (not valid|is invalid)",
)
"""The endpoint does not accept the key."""

UNROUTED = join_patterns(r"no endpoints found (that|matching)", r"no allowed providers")
"""A gateway knows the model, but no provider of it takes this request (OpenRouter, with status 404)."""

RATE_LIMITED = join_patterns("rate_limit", "throttl", "quota", "too_many_requests", "resource_exhausted")
TIMED_OUT = join_patterns("timeout", "timed out", "timed_out")
REFUSED = join_patterns("invalid_request", "invalid_argument", "permission", "not_found", "validation", "bad_?request")
ABOUT_REQUEST = join_patterns(
    "not support", "unsupported", "must ", "template", "unexpected role", "only the default", "mmproj"
)
"""A server error is about the form of the request (llama.cpp, vLLM)."""
OVERLOADED = join_patterns("overloaded", "unavailable", "try again", "capacity", "temporar", "loading")
"""A server error is an outage, whatever else is said."""
FLAGGED = join_patterns("moderation", "flagged")

WAIT = re.compile(
    r'"?retrydelay"?: ?"?(?P<delay>\d+(?:\.\d+)?)s'
    r"|(?:try again|retry) in (?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m)?(?P<seconds>\d+(?:\.\d+)?)(?P<unit>ms|s)"
)
"""The seconds to wait: Google's ``RetryInfo``, and the sentence of OpenAI and Groq."""
