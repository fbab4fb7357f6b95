"""The table of the models that Amazon Bedrock serves by Converse.

The keys are names of foundation models without a version, such as ``anthropic.claude-sonnet-5``. ``further`` has the
facts that concern only this API:

- ``reasoning``: ``signed`` where reasoning is sent back only with its signature. Otherwise it is sent without one.
- ``thinking_off``: what turns thinking off: ``disabled``, ``between_tools``, or ``never``, where nothing does.
- ``display``: ``summarized`` where thinking is shown only if a request asks for it.
- ``efforts``: the levels of effort that the model takes, with commas.
- ``sampling``: ``one`` where temperature and top_p exclude each other.
- ``forced_calls``: ``yes`` where a request may demand a call.
- ``no_calls``: ``tool_choice`` where a request may forbid calls.
- ``streams_tools``: ``no`` where answers to requests with tools are not streamed.
- ``results``: ``json`` where tools' results are JSON.
- ``cache_after_results``: ``no`` where no cache point may follow a tool's result.

Sources: AWS's user guide, pydantic-ai-slim 2.68 (providers/bedrock, profiles/anthropic; tried against the service) and
strands-agents 1.62 (models/bedrock).
"""

from __future__ import annotations

from functools import partial

from baton.adapters.models.profiles.profile import (
    BEDROCK_HOST,
    NINE_CHARACTERS,
    SAMPLING,
    AnswerForm,
    Api,
    CacheHints,
    EffortForm,
    SystemPlace,
    make_rules,
)
from baton.domain.runs.provider_parts import Replay

HOST = BEDROCK_HOST
PDF = frozenset({"application/pdf"})
"""Converse takes Office files too, and reads their text. Baton's own extractor does that with less loss."""
NO_DOCUMENTS: frozenset[str] = frozenset()
IDS = r"[a-zA-Z0-9_.:-]{1,64}"

_rules = partial(make_rules, host=HOST)


ALL = _rules(
    "*",
    api=Api.CONVERSE,
    system=SystemPlace.HEAD,
    alternates=False,  # neighbours are joined as blocks
    user_first=True,
    user_after_tool=True,
    replay=Replay.NEVER,
    replayed_fields=(),
    required_field=None,
    calls_need_parts=False,
    call_ids=IDS,
    tool_names=r"[a-zA-Z0-9_-]{1,64}",
    answer_form=AnswerForm.PROMPT,
    effort=EffortForm.NONE,
    images=True,
    image_urls=False,
    max_images=20,
    max_image_bytes=3_750_000,
    documents=PDF,
    max_documents=5,
    max_document_bytes=4_500_000,
    cache=CacheHints.NONE,
    dropped=frozenset({"verbosity", "parallel_tool_calls"}),
)

# Claude 4.6 and later decide how long they think. Earlier models get a budget.
_ADAPTIVE = ("*claude-sonnet-4-6*", "*claude-opus-4-[6-9]*")
_NEWEST = ("*claude-sonnet-5*", "*claude-opus-5*", "*claude-haiku-5*", "*claude-fable-5*", "*claude-mythos-5*")
_WITHOUT_SAMPLING = ("*claude-opus-4-[7-9]*", *_NEWEST)
_UNFORCED = ("*claude-fable-5-[12]*", "*claude-mythos-5-[12]*", "*claude-opus-5-5*", "*claude-sonnet-5-5*")

CLAUDE = (
    *_rules(
        "*anthropic.claude*",
        "claude*",
        user_first=False,
        replay=Replay.TURN,
        default_max_output=4_096,  # older ones refuse more than the rest of their context
        effort=EffortForm.BUDGET,
        cache=CacheHints.POINTS,
        further={
            "reasoning": "signed",
            "thinking_off": "disabled",
            "sampling": "one",
            "forced_calls": "yes",
            "no_calls": "tool_choice",
        },
    ),
    *_rules("*claude-3-haiku*", "*claude-3-sonnet*", "*claude-3-opus*", cache=CacheHints.NONE),
    *_rules("*claude-3-haiku*", "*claude-3-sonnet*", "*claude-3-opus*", "*claude-3-5*", effort=EffortForm.NONE),
    *_rules("*claude-*-4-5*", default_max_output=64_000, answer_form=AnswerForm.SCHEMA),
    *_rules(
        *_ADAPTIVE,
        *_NEWEST,
        default_max_output=128_000,
        answer_form=AnswerForm.SCHEMA,
        effort=EffortForm.ADAPTIVE,
        further={"efforts": "low,medium,high,max"},
    ),
    *_rules(
        *_WITHOUT_SAMPLING, dropped=SAMPLING, further={"efforts": "low,medium,high,xhigh,max", "display": "summarized"}
    ),
    *_rules("*claude-fable-5*", answer_form=AnswerForm.PROMPT),
    *_rules("*claude-fable-5*", "*claude-mythos-5*", "*claude-opus-5-5*", further={"thinking_off": "never"}),
    *_rules("*claude-sonnet-5-5*", further={"thinking_off": "between_tools"}),
    *_rules(*_UNFORCED, further={"forced_calls": "no"}),
)

NOVA = (
    *_rules(
        "amazon.nova*",
        inlines_refs=True,
        cache=CacheHints.POINTS,
        further={"cache_after_results": "no", "forced_calls": "yes"},
    ),
    *_rules("amazon.nova-micro*", images=False, documents=NO_DOCUMENTS),
    *_rules(
        "amazon.nova-2*",
        cache=CacheHints.NONE,  # cache points cost its answers
        effort=EffortForm.NOVA,
        further={"efforts": "none,low,medium,high"},
    ),
)

# Models that take a tool's result only alone in its message.
_ALONE = ("meta.llama*", "mistral.*", "writer.*")
_WITH_IMAGES = (
    *("meta.llama3-2-11b*", "meta.llama3-2-90b*", "meta.llama4*"),
    *("mistral.pixtral*", "mistral.mistral-large-3*", "mistral.ministral-3*", "mistral.magistral-small*"),
    *("qwen.*-vl-*", "moonshot*kimi-k2.5*", "google.gemma-3*"),
)
_WITH_DOCUMENTS = ("meta.llama*", "mistral.pixtral*", "mistral.mistral-large*")
_OPEN = (*_ALONE, "qwen.*", "openai.gpt-oss*", "deepseek.*", "zai.*", "moonshot*", "minimax.*", "google.*", "nvidia.*")
_WITH_SCHEMA = (
    *("mistral.magistral-small*", "mistral.ministral-3*", "mistral.mistral-large-3*", "mistral.voxtral*"),
    *("qwen.qwen3*", "zai.*", "moonshot*", "minimax.minimax-m2*"),
    *("google.gemma-3-12b-it*", "google.gemma-3-27b-it*", "nvidia.nemotron-nano*"),
)

OPEN_MODELS = (
    *_rules(*_OPEN, images=False, documents=NO_DOCUMENTS),
    *_rules(*_WITH_IMAGES, images=True),
    *_rules(*_WITH_DOCUMENTS, documents=PDF),
    *_rules(*_WITH_SCHEMA, answer_form=AnswerForm.SCHEMA),
    *_rules(*_ALONE, user_after_tool=False),
    *_rules("meta.llama*", "writer.*", "deepseek.*", further={"streams_tools": "no"}),
    *_rules("mistral.*", call_ids=NINE_CHARACTERS, further={"results": "json", "forced_calls": "yes"}),
    *_rules("writer.*", dropped=frozenset({"result_status"})),
    # These models send their thinking, and get it back while they call tools.
    *_rules("openai.gpt-oss*", "zai.*", "moonshot*", "minimax.*", replay=Replay.TURN),
    *_rules("qwen.*", "zai.*", "moonshot*", user_first=False),
    *_rules("zai.*", "moonshot*", further={"forced_calls": "yes"}),
    *_rules("qwen.qwen3*", effort=EffortForm.REASONING_CONFIG, further={"efforts": "none,low,high"}),
    *_rules("qwen.qwen3-coder*", effort=EffortForm.NONE),
    *_rules(
        "openai.gpt-oss*", inlines_refs=True, effort=EffortForm.REASONING_EFFORT, further={"efforts": "low,medium,high"}
    ),
    *_rules(
        "deepseek.v3*",
        "zai.*",
        effort=EffortForm.REASONING_EFFORT,
        further={"efforts": "none,high"},  # they take other levels, but think only with "high"
    ),
    *_rules("zai.glm-5.3*", further={"efforts": "low,medium,high,xhigh,max"}),
)

CLOSED_MODELS = (
    *_rules(
        "openai.gpt-[5-9]*",
        dropped=SAMPLING,
        effort=EffortForm.REASONING,
        further={"efforts": "none,low,medium,high,xhigh"},
    ),
    *_rules("openai.gpt-6-astra*", "openai.gpt-6.1-sol*", further={"efforts": "low,medium,high,xhigh"}),
    *_rules(
        "xai.*",
        dropped=SAMPLING,
        effort=EffortForm.REASONING,
        documents=NO_DOCUMENTS,
        further={"efforts": "low,medium,high,xhigh", "forced_calls": "yes"},
    ),
)

BEDROCK = (*ALL, *CLAUDE, *NOVA, *OPEN_MODELS, *CLOSED_MODELS)
