"""The rules of families of models on Amazon Bedrock, as the stand-in plays them."""

from __future__ import annotations

import re
from dataclasses import dataclass

PROFILES = ("us", "eu", "apac", "jp", "au", "ca", "in", "us-gov", "global")
"""Prefixes of inference profiles."""
IMAGE_AND_DOCUMENT = frozenset({"text", "json", "image", "document"})
IMAGE = frozenset({"text", "json", "image"})
NO_MEDIA = frozenset({"text", "json"})
CLAUDE_KEYS = frozenset({"thinking", "output_config", "tool_choice", "anthropic_beta"})


@dataclass(frozen=True, slots=True)
class Family:
    """The facts of one family."""

    name: str
    pattern: str
    """A regular expression that its plain model ids match."""
    needs_profile: bool = True
    """True if the plain id is refused."""
    begins_with_user: bool = True
    prefill: bool = True
    """True if the last message may be the assistant's."""
    sampling: str = "all"
    """``all``, ``one`` of temperature and topP, or ``none``."""
    reasoning: str = "refused"
    """In the history: ``refused``, ``plain``, ``signed``, or ``bound`` to everything before it."""
    thinks: str = "never"
    """``never``, ``asked``, or ``always``."""
    keys: frozenset[str] = frozenset()
    """Fields that ``additionalModelRequestFields`` may have."""
    thinking_types: frozenset[str] = frozenset()
    forced_choice: bool = True
    cache: str = "none"
    """``none``, ``all``, or ``nova``: not in tools and not behind a tool's result."""
    ttls: frozenset[str] = frozenset({"5m"})
    results_alone: bool = False
    """True if a message with tool results may have nothing else."""
    result_content: frozenset[str] = NO_MEDIA
    media: frozenset[str] = frozenset({"image", "document"})
    streams_tools: bool = True
    """True if ConverseStream takes tools. Converse does."""
    structured: bool = True
    system: bool = True
    context: int = 200_000
    overflow: str = "The model returned the following errors: prompt is too long: {tokens} tokens > {limit} maximum"


FAMILIES = (
    Family(
        "claude-5.5",
        r"anthropic\.claude-(fable|mythos|opus|sonnet|haiku)-(5-[1-9])",
        begins_with_user=False,
        prefill=False,
        sampling="none",
        reasoning="bound",
        thinks="always",
        keys=CLAUDE_KEYS,
        thinking_types=frozenset({"adaptive", "between_tools"}),
        forced_choice=False,
        cache="all",
        ttls=frozenset({"5m", "1h"}),
        result_content=IMAGE_AND_DOCUMENT,
        context=1_000_000,
    ),
    Family(
        "claude-4.7",
        r"anthropic\.claude-(opus-4-[789]|sonnet-5|opus-5|haiku-5)",
        begins_with_user=False,
        prefill=False,
        sampling="none",
        reasoning="signed",
        thinks="asked",
        keys=CLAUDE_KEYS,
        thinking_types=frozenset({"adaptive", "disabled"}),
        cache="all",
        ttls=frozenset({"5m", "1h"}),
        result_content=IMAGE_AND_DOCUMENT,
    ),
    Family(
        "claude-4.5",
        r"anthropic\.claude-(opus|sonnet|haiku)-4",
        begins_with_user=False,
        sampling="one",
        reasoning="signed",
        thinks="asked",
        keys=CLAUDE_KEYS | {"top_k"},
        thinking_types=frozenset({"adaptive", "enabled", "disabled"}),
        cache="all",
        ttls=frozenset({"5m", "1h"}),
        result_content=IMAGE_AND_DOCUMENT,
    ),
    Family(
        "nova",
        r"amazon\.nova-(micro|lite|pro|premier|2)",
        needs_profile=False,
        keys=frozenset({"inferenceConfig", "reasoningConfig"}),
        cache="nova",
        result_content=IMAGE,
        structured=False,
        context=300_000,
        overflow="Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try"
        " again.",
    ),
    Family(
        "llama",
        r"meta\.llama",
        streams_tools=False,
        results_alone=True,
        result_content=IMAGE_AND_DOCUMENT,
        structured=False,
        context=128_000,
        overflow="This model's maximum context length is {limit} tokens. Please reduce the length of the prompt",
    ),
    Family(
        "mistral",
        r"mistral\.",
        needs_profile=False,
        results_alone=True,
        context=128_000,
        overflow="This model's maximum context length is {limit} tokens. Please reduce the length of the prompt",
    ),
    Family(
        "gpt-oss",
        r"openai\.gpt-oss",
        needs_profile=False,
        reasoning="plain",
        thinks="asked",
        keys=frozenset({"reasoning_effort"}),
        media=frozenset(),
        context=128_000,
        overflow="Input is too long for requested model.",
    ),
    Family(
        "gpt",
        r"openai\.gpt-",
        sampling="none",
        keys=frozenset({"reasoning", "text"}),
        context=400_000,
        overflow="Input is too long for requested model.",
    ),
    Family(
        "qwen",
        r"qwen\.",
        needs_profile=False,
        begins_with_user=False,
        keys=frozenset({"reasoning_config"}),
        media=frozenset(),
        overflow="Input is too long for requested model.",
    ),
    Family(
        "deepseek",
        r"deepseek\.",
        needs_profile=False,
        reasoning="plain",
        thinks="asked",
        keys=frozenset({"reasoning_effort"}),
        media=frozenset(),
        overflow="Input is too long for requested model.",
    ),
    Family(
        "titan-text",
        r"amazon\.titan-text",
        needs_profile=False,
        media=frozenset(),
        structured=False,
        system=False,
        context=8_000,
        overflow="Too many input tokens. Max input tokens: {limit}, request input token count: {tokens}",
    ),
)


def plain_id(model_id: str, aliases: dict[str, str]) -> tuple[str, bool]:
    """Return the model of an id, a profile or an ARN, and whether it is reached through a profile.

    ``aliases`` gives the models of application inference profiles, whose ARNs hide them.
    """
    name = model_id.rpartition("/")[2] if model_id.startswith("arn:") else model_id
    if name in aliases:
        return aliases[name], True
    prefix, _, rest = name.partition(".")
    return (rest, True) if prefix in PROFILES else (name, ":provisioned-model/" in model_id)


def family_of(model: str) -> Family | None:
    """Return the family of a plain model id."""
    return next((family for family in FAMILIES if re.match(family.pattern, model)), None)
