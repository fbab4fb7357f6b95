"""The one table of the facts that refusals ask for, by the words that endpoints use.

A refusal that names a field of the request needs no row: ``adaptation`` reads it by structure. Rows are for facts
without a name in a request: the order of roles, the ids of calls, kinds of files. Each has facts of the profile and the
words that ask for them. Rows apply in order. A row whose facts are known already is passed over.

Sources: see ``profile_table`` and ``wordings``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from baton.adapters.models.failures.wordings import join_patterns
from baton.adapters.models.learning.request_form import SentFeatures
from baton.adapters.models.profiles.profile import NINE_CHARACTERS, SystemPlace


class Topic(StrEnum):
    """Places of a request that a refusal may be about."""

    MESSAGES = "messages"
    TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class RefusalRule:
    """Facts of a profile, and the words of refusals that ask for them."""

    words: re.Pattern[str]
    facts: Mapping[str, Any]
    condition: Mapping[str, Any] = field(default_factory=dict)
    """Facts that the profile must have already, because the words may also ask for these."""
    topic: Topic = Topic.MESSAGES
    is_met: Callable[[SentFeatures], bool] = lambda sent: True
    """Returns whether the request has the parts that the facts are about."""


_NO_SYSTEM = {"system": SystemPlace.USER, "alternates": True, "user_first": True}
_ALTERNATE = (
    r"(?:roles?|must) (?:must )?alternate",
    r"alternate between",
    r"consecutive (?:user|assistant|messages)",
    r"after role .user.",
    r"user and assistant in turn",
)
_SYSTEM_FIRST = (
    r"system (?:message|prompt|role)s?\b.{0,40}(?:beginning|first|start|only one|once|multiple)",
    r"single system (?:message|prompt|role)",
    r"only the first message.{0,30}system",
    r"role .?system.? after role",
    r"but got .?system",
)

RULES = (
    RefusalRule(
        join_patterns(
            r"support (?:the )?(?:role )?.?system\b(?!.{0,20}(?:schema|prompt cach))",
            r"system role (?:is )?not supported",
            r"'system' is not",
            r"developer instruction is not enabled",
        ),
        _NO_SYSTEM,
    ),
    # An endpoint with a separate field for the system's words may still take them as the first message.
    RefusalRule(
        join_patterns(r"unexpected role .{0,2}system(?!.{0,2} after)"), _NO_SYSTEM, {"system": SystemPlace.FIRST}
    ),
    RefusalRule(join_patterns(*_SYSTEM_FIRST), {"system": SystemPlace.FIRST}, {"system": SystemPlace.ANYWHERE}),
    RefusalRule(
        join_patterns(r"role .?user.? after role .?tool", r"tool result blocks cannot be provided in the same turn"),
        {"user_after_tool": False},
    ),
    RefusalRule(
        join_patterns(*_ALTERNATE, r"unexpected role"),
        {"alternates": True, "system": SystemPlace.FIRST},
        {"alternates": False, "system": SystemPlace.ANYWHERE},
    ),
    RefusalRule(join_patterns(*_ALTERNATE, r"unexpected role"), {"alternates": True}),
    RefusalRule(
        join_patterns(
            r"(?:conversation|first message|must).{0,40}start with a user", r"first message (?:must|to be).{0,20}user"
        ),
        {"user_first": True},
    ),
    # Mistral's template ignores calls and their results when it checks that roles alternate.
    RefusalRule(join_patterns(*_ALTERNATE), {"user_first": True, "user_after_tool": False}),
    RefusalRule(join_patterns(*_ALTERNATE, *_SYSTEM_FIRST), _NO_SYSTEM, {"system": SystemPlace.FIRST}),
    RefusalRule(
        join_patterns(r"tool call id.{0,80}length (?:of )?9", r"call_?id.{0,80}9 (?:characters|chars)"),
        {"call_ids": NINE_CHARACTERS},
        {"call_ids": None},
    ),
    RefusalRule(join_patterns(r"tools=|toolconfig|tools param"), {"tools_with_history": True}, topic=Topic.TOOLS),
    RefusalRule(
        join_patterns(r"tool use in streaming mode"),
        {"further": {"streams_tools": "no"}},
        topic=Topic.TOOLS,
        is_met=lambda sent: sent.has_tools,
    ),
    RefusalRule(
        join_patterns(r"invalid schema for function|strict"),
        {"dropped": frozenset({"strict"})},
        topic=Topic.TOOLS,
        is_met=lambda sent: "strict" in sent.fields,
    ),
    RefusalRule(
        join_patterns(r"\$ref|\$defs"), {"inlines_refs": True}, topic=Topic.TOOLS, is_met=lambda sent: sent.has_tools
    ),
)

LACKING = join_patterns(
    r"(?:passed|sent|given|echoed|returned|included|provided) back|must (?:be )?(?:return|includ|preserv|echo|replay)",
    r"(?:missing|lacks?|without).{0,30}(?:thinking|reasoning|thought|signature)",
    r"(?:thinking|reasoning|thought|signature)\w*\W.{0,40}(?:missing|required|must be|absent|not found|expected)",
)
"""The endpoint wants a part of earlier answers back."""
UNSIGNED = join_patterns(r"(?:missing|lacks?|without|requires?|must (?:have|contain|include)).{0,20}signature")
"""A call has no signature, as calls of other models."""
LOST_PARTS = join_patterns(
    r"signature",
    r"encrypted[_ ]content",
    r"reasoning content",
    r"required following item",
    r"required 'reasoning' item",
    r"items are not persisted",
    r"thinking",
)
"""Opaque parts of earlier answers are not accepted: a request is repeated without them."""

_KEYWORDS = """
$schema additionalProperties allOf anyOf const contains contentEncoding contentMediaType default dependentRequired
dependentSchemas deprecated else examples exclusiveMaximum exclusiveMinimum format if maxItems maxLength maxProperties
maximum minItems minLength minProperties minimum multipleOf not oneOf pattern patternProperties prefixItems
propertyNames readOnly then title unevaluatedItems unevaluatedProperties uniqueItems writeOnly
"""
KEYWORDS = frozenset(_KEYWORDS.split())
"""Keywords of JSON Schema that endpoints refuse in the schemas of tools."""
ENGLISH = frozenset({"contains", "default", "deprecated", "else", "examples", "if", "not", "then", "title"})
"""Keywords that are also words of English. They count only between quotation marks."""

VALUE_CODES = join_patterns(
    r"invalid_value", r"literal_error", r"\benum\b", r"(?:less|greater)_than", r"(?:above_max|below_min)imum?_value"
)
"""Codes by which an endpoint refuses a value and not its field."""
VALUES = join_patterns(
    r"supported values? (?:are|is|include)",
    r"(?:must be|expected|should be|valid|allowed|one of).{0,20}(?:one of|values|options|between|less|greater|at most)",
    r"too large|at most \d|too high|maximum|exceed|out of range|(?:less|greater) than|[<>≤≥]=? ?\d",
)
"""An endpoint refuses a value, and names the values that it takes."""
ONLY_DEFAULT = join_patterns(r"only the default", r"only \S*1 is (?:supported|allowed)", r"only \S+=1\b")
"""An endpoint takes only the default value of a field."""

LIMIT_TOO_LARGE = join_patterns(
    r"max_(?:completion_|output_)?tokens.{0,60}(?:too large|at most|exceed|maximum|less than|> \d)",
    r"at most \d+ completion tokens",
)
EFFORT_REFUSED = join_patterns(
    r"\b(?:thinking|reasoning)\b.{0,30}(?:support|enabled|allowed)", r"support.{0,30}\b(?:thinking|reasoning)\b"
)
ANSWER_FORM = join_patterns(
    r"response[_ ]format|json_schema|json_object|json mode|response mime type|text\.format|outputconfig"
    r"|structured output"
)
COMPLAINT = join_patterns("unsupported|not support|unknown|unrecognized|unexpected|not permitted|extra|invalid")
"""Outside quotation marks a word of English names a field only in a complaint about it."""
ABSENCE = join_patterns(
    r"missing|required|passed back|sent back|must (?:be|have|include|contain)|lacks?|without|expected"
)

MEDIA = join_patterns(
    r"content (?:part )?type|image|vision|multi-?modal|file part|attachment|document|input_file|file_data",
    r"content.{0,20}must be a string|expected a? ?str|unsupported content|media|\bpdf\b",
)
IMAGES_ONLY = join_patterns(r"image|vision")
FILES_ONLY = join_patterns(r"\bfile|document|input_file|\bpdf\b")
BAD_MEDIA = join_patterns(
    r"(?:could not|unable to) process|invalid[_ ](?:image|base64|file|pdf)",
    r"(?:image|pdf|file|document)\b.{0,40}(?:in|not )valid",
    r"(?:image|file|pdf|document|page).{0,60}(?:too (?:large|small|long|many)|exceed|corrupt|damaged)",
    r"(?:unsupported|following) (?:image )?(?:format|mime|media type)|unsupported image\b(?!_| input)",
    r"(?:error|failed|unable|cannot|timeout).{0,20}(?:download|fetch|decod|load|open)|maximum of \d+|at most [1-9]\d* ",
)
"""A file is at fault, or the number of files: the model takes others."""

# If a server does not have the requested API, its refusal names no model and no item of the request.
OTHER_ROUTE = join_patterns(r"(?:is not|isn.t) supported on this route")
NO_ROUTE = join_patterns(r"invalid url \(|unknown request url|no route matched|cannot post /")
NO_RESPONSES = join_patterns(r"v1/chat/completions|not (?:supported|available).{0,40}responses api")
ABOUT_CONTENT = join_patterns(r"\bmodel|\bitem\b|deployment")
NO_EFFORT = join_patterns(r"reasoning_effort.{0,20}['\"]none['\"]")
