"""Find the change of a request that an endpoint asks for by refusing it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from baton.adapters.models.content import MediaKind
from baton.adapters.models.failure import ProviderFailure
from baton.adapters.models.profile import NINE_CHARACTERS, AnswerForm, Api, ModelProfile, SystemPlace
from baton.domain.errors import ModelMisconfigured
from baton.domain.provider_parts import Replay

MAX_ADAPTATIONS = 8
"""Changes of one request. Each costs a refused request, and a model that refuses more is not worth asking."""

TOOLS_EFFORT = "effort_with_tools"
"""The further fact of a model that takes tools over Chat Completions only with this effort."""

_WORDS = ("unsupported", "not support", "unknown", "unrecognized", "unexpected", "not permitted", "extra", "invalid")
_SYSTEM_FIRST = re.compile(
    r"system (message|prompt|role)s?\b.{0,40}(beginning|first|start|only one|once|multiple)|single system"
    r"|only the first message.{0,30}system|role .?system.? after role|but got .?system"
)
_NO_SYSTEM = re.compile(
    r"support system messages|system role (is )?not supported|does not support (the )?(role )?.?system|'system' is not"
    r"|developer instruction is not enabled"
)
_TOP_LEVEL_SYSTEM = re.compile(r"unexpected role .{0,2}system(?!.{0,2} after)")
_ALTERNATION = re.compile(
    r"(roles? must|must) alternate|alternate between|consecutive (user|assistant|messages)|after role .user."
    r"|user and assistant in turn"
)
_USER_FIRST = re.compile(
    r"(conversation|first message|must).{0,40}start with a user|first message (must|to be).{0,20}user"
)
_SHORT_IDS = re.compile(r"tool call id.{0,80}length (of )?9|call_?id.{0,80}9 (characters|chars)")
_MEDIA = re.compile(
    r"content (part )?type|image|vision|multi-?modal|file part|attachment|document|input_file|file_data|"
    r"content.{0,20}must be a string|expected a? ?str|unsupported content|media|\bpdf\b"
)
# A server without the API that was asked names neither a model nor an item of the request.
_OTHER_ROUTE = re.compile(r"(is not|isn.t) supported on this route")
_NO_ROUTE = re.compile(r"invalid url \(|unknown request url|no route matched|cannot post /")
_NO_RESPONSES = re.compile(r"v1/chat/completions|not (supported|available).{0,40}responses api")
_ABOUT_CONTENT = re.compile(r"\bmodel|\bitem\b|deployment")
_NO_EFFORT = re.compile(r"reasoning_effort.{0,20}['\"]none['\"]")
_LOST_PARTS = (
    "signature",
    "encrypted_content",
    "encrypted content",
    "reasoning content",
    "required following item",
    "required 'reasoning' item",
    "items are not persisted",
    "thinking",
)
"""Words of refusals after which a request is repeated without opaque parts."""
_BAD_MEDIA = re.compile(
    r"(could not|unable to) process|invalid (image|base64|pdf)|(image|pdf|file|document)\b.{0,40}(in|not )valid"
    r"|invalid_(image|base64|file)"
    r"|(image|file|pdf|document|page).{0,60}(too (large|small|long|many)|exceed|corrupt|damaged)"
    r"|(unsupported|following) (image )?(format|mime|media type)|unsupported image\b(?!_| input)|following formats"
    r"|(error|failed|unable|cannot|timeout).{0,20}(download|fetch|decod|load|open)|maximum of \d+|at most [1-9]\d* "
)
"""A file is at fault, or the number of files: the model takes others."""
_EFFORT_REFUSED = re.compile(
    r"\b(thinking|reasoning)\b.{0,30}(support|enabled|allowed)|support.{0,30}\b(thinking|reasoning)\b"
)
_LIMIT_TOO_LARGE = re.compile(
    r"max_(completion_|output_)?tokens.{0,60}(too large|at most|exceed|maximum|less than|> \d)"
    r"|at most \d+ completion tokens"
)
_LIMIT_FIELDS = ("max_completion_tokens", "max_tokens")
_ABOUT_ROLES = ("role", "system", "alternat", "conversation", "developer", "first message", "in turn", "consecutive")
_PLACES = ("messages", "tools", "input", "contents")
"""Roots of places in a request that are not optional fields."""
_IN_SCHEMA = re.compile(r"schema for function|function_declarations|input_schema|tools[.\[]\d")
"""A refusal is about a schema, in which properties may have the names of fields."""
_IMAGES_ONLY = re.compile(r"image|vision")
_FILES_ONLY = re.compile(r"\bfile|document|input_file|\bpdf\b")
# Keywords of JSON Schema that endpoints refuse in the schemas of tools.
_KEYWORDS = frozenset(
    {
        "$schema",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "contains",
        "contentEncoding",
        "contentMediaType",
        "default",
        "dependentRequired",
        "dependentSchemas",
        "deprecated",
        "else",
        "examples",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "if",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "patternProperties",
        "prefixItems",
        "propertyNames",
        "readOnly",
        "then",
        "title",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
        "writeOnly",
    }
)
_ENGLISH = frozenset({"contains", "default", "deprecated", "else", "examples", "if", "not", "then", "title"})
"""Keywords that are words of sentences too, so that they count between quotation marks only."""


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The form in which a request is sent: by the model's profile, with or without the parts of earlier answers."""

    profile: ModelProfile
    sends_parts: bool = True
    """True if opaque parts go back. They are left out for one request whose parts the endpoint does not accept."""
    refused_apis: frozenset[Api] = frozenset()
    """The APIs over which the endpoint has refused this request."""
    refused_limits: frozenset[str] = frozenset()
    """The fields with the most tokens of an answer that the endpoint has refused."""
    passing: frozenset[str] = frozenset()
    """Facts of the profile that hold for this request only, because a file of it was at fault and not its kind."""

    def lasting(self, since: ModelProfile) -> ModelProfile:
        """Return the profile for later requests. What passes is as in ``since``, by which the request began."""
        return replace(self.profile, **{name: getattr(since, name) for name in self.passing})


@dataclass(frozen=True, slots=True)
class SentFeatures:
    """The optional parts of a request, which an endpoint may refuse."""

    fields: Collection[str] = ()
    """The names of its optional fields."""
    has_tools: bool = False
    has_media: bool = False
    media_kinds: Collection[MediaKind] = tuple(MediaKind)
    """The kinds that its media may have."""
    has_parts: bool = False
    has_schema: bool = False
    """True if the agent declares an answer schema."""


def adapted(form: RequestForm, failure: ProviderFailure, sent: SentFeatures) -> RequestForm | None:
    """Return the form to try next, or None if the failure is about something that cannot be left out."""
    if failure.status == 413 and sent.has_media:
        return _without_media(form, sent, passes=True)
    if not failure.is_refusal and not failure.may_be_refusal:
        return None
    if failure.status in (401, 403) and isinstance(failure.error, ModelMisconfigured):
        return None
    words = failure.words
    changed = (
        _by_api(form, failure)
        or _by_parts(form, words, sent)
        or _by_field(form, failure, sent)
        or _by_roles(form, words)
        or _by_tools(form, failure, sent)
        or _by_media(form, words, sent)
    )
    if changed is not None or isinstance(failure.error, ModelMisconfigured) or not failure.is_refusal:
        return changed
    # Nothing is named. Opaque parts and attachments are what unknown models refuse most. Only the latter is learned.
    if sent.has_parts and form.sends_parts:
        return replace(form, sends_parts=False)
    return _without_media(form, sent, passes=bool(_BAD_MEDIA.search(words))) if sent.has_media else None


def _by_api(form: RequestForm, failure: ProviderFailure) -> RequestForm | None:
    profile, words = form.profile, failure.words
    if profile.api is Api.CHAT and ("v1/responses" in words or _OTHER_ROUTE.search(words)):
        if Api.RESPONSES not in form.refused_apis:
            return _over(form, Api.RESPONSES)
        if _NO_EFFORT.search(words) and TOOLS_EFFORT not in profile.further:
            # A gateway without Responses, in front of a model that thinks and calls tools over Responses only.
            return replace(form, profile=replace(profile, further={**profile.further, TOOLS_EFFORT: "none"}))
    if profile.api is Api.RESPONSES and Api.RESPONSES not in form.refused_apis:
        is_missing = failure.status in (404, 405) and not _ABOUT_CONTENT.search(words)
        if is_missing or any(each.search(words) for each in (_OTHER_ROUTE, _NO_ROUTE, _NO_RESPONSES)):
            return _over(form, Api.CHAT)
    return None


def _over(form: RequestForm, api: Api) -> RequestForm:
    refused = form.refused_apis | {form.profile.api}
    return replace(form, profile=replace(form.profile, api=api), refused_apis=refused)


def _by_parts(form: RequestForm, words: str, sent: SentFeatures) -> RequestForm | None:
    profile = form.profile
    if "must be passed back" in words or "reasoning_content is missing" in words:
        if profile.required_field is None:
            fields = tuple(dict.fromkeys((*profile.replayed_fields, "reasoning_content")))
            changed = replace(profile, replay=Replay.ALWAYS, replayed_fields=fields, required_field="reasoning_content")
            return replace(form, profile=changed)
        return None
    if "missing a thought_signature" in words or "missing thought_signature" in words:
        return replace(form, profile=replace(profile, calls_need_parts=True)) if not profile.calls_need_parts else None
    unsupported = any(word in words for word in _WORDS)
    if unsupported and "reasoning" in words and sent.has_parts and "reasoning_effort" not in words:
        names = [name for name in profile.replayed_fields if name in words]
        if names and "signature" not in words:
            left = tuple(name for name in profile.replayed_fields if name not in names)
            changed = replace(profile, replayed_fields=left, required_field=None)
            return replace(form, profile=changed)
    if sent.has_parts and form.sends_parts and any(each in words for each in _LOST_PARTS):
        return replace(form, sends_parts=False)
    return None


def _by_field(form: RequestForm, failure: ProviderFailure, sent: SentFeatures) -> RequestForm | None:
    profile, words = form.profile, failure.words
    limits = [name for name in _LIMIT_FIELDS if name in sent.fields and name not in profile.dropped]
    if limits and _LIMIT_TOO_LARGE.search(words):
        return replace(form, profile=replace(profile, dropped=profile.dropped | set(limits)))
    if "max_completion_tokens" in words and profile.limit_field in limits:
        other = next(name for name in _LIMIT_FIELDS if name != profile.limit_field)
        is_named = profile.limit_field == "max_tokens" or _names(failure, "max_completion_tokens")
        if is_named and other not in form.refused_limits:
            refused = form.refused_limits | {profile.limit_field}
            return replace(form, profile=replace(profile, limit_field=other), refused_limits=refused)
    if sent.has_schema and profile.answer_form is not AnswerForm.PROMPT and _is_about_schema(words):
        later = AnswerForm.OBJECT if profile.answer_form is AnswerForm.SCHEMA else AnswerForm.PROMPT
        if "json_object" in words:
            later = AnswerForm.PROMPT
        return replace(form, profile=replace(profile, answer_form=later))
    names = [name for name in sent.fields if name != "tools" and name not in profile.dropped and _names(failure, name)]
    if not names and "reasoning_effort" in sent.fields and "reasoning_effort" not in profile.dropped:
        names = ["reasoning_effort"] if _EFFORT_REFUSED.search(words) else []
    if names:
        # Further fields may be named as the cause or as the remedy. The longest name holds the words of others.
        first = min(names, key=lambda name: (_place_of(failure, name), -len(name)))
        return replace(form, profile=replace(profile, dropped=profile.dropped | {first}))
    return None


def _by_roles(form: RequestForm, words: str) -> RequestForm | None:
    profile = form.profile
    if not any(word in words for word in _ABOUT_ROLES):
        return None
    if _NO_SYSTEM.search(words) and profile.system is not SystemPlace.USER:
        return replace(form, profile=replace(profile, system=SystemPlace.USER, alternates=True, user_first=True))
    if _TOP_LEVEL_SYSTEM.search(words) and profile.system is SystemPlace.FIRST:
        return replace(form, profile=replace(profile, system=SystemPlace.USER, alternates=True, user_first=True))
    if _SYSTEM_FIRST.search(words) and profile.system is SystemPlace.ANYWHERE:
        return replace(form, profile=replace(profile, system=SystemPlace.FIRST))
    if profile.user_after_tool and re.search(
        r"role .?user.? after role .?tool|tool result blocks cannot be provided in the same turn", words
    ):
        return replace(form, profile=replace(profile, user_after_tool=False))
    if (_ALTERNATION.search(words) or "unexpected role" in words) and not profile.alternates:
        system = SystemPlace.FIRST if profile.system is SystemPlace.ANYWHERE else profile.system
        return replace(form, profile=replace(profile, alternates=True, system=system))
    if _USER_FIRST.search(words) and not profile.user_first:
        return replace(form, profile=replace(profile, user_first=True))
    if _ALTERNATION.search(words) and (profile.user_after_tool or not profile.user_first):
        # Mistral's template counts neither calls nor their results.
        return replace(form, profile=replace(profile, user_first=True, user_after_tool=False))
    if (_ALTERNATION.search(words) or _SYSTEM_FIRST.search(words)) and profile.system is SystemPlace.FIRST:
        return replace(form, profile=replace(profile, system=SystemPlace.USER, alternates=True, user_first=True))
    return None


def _by_tools(form: RequestForm, failure: ProviderFailure, sent: SentFeatures) -> RequestForm | None:
    profile, words = form.profile, failure.words
    if profile.call_ids is None and _SHORT_IDS.search(words):
        return replace(form, profile=replace(profile, call_ids=NINE_CHARACTERS))
    if not profile.tools_with_history and ("tools=" in words or "toolconfig" in words or "tools param" in words):
        return replace(form, profile=replace(profile, tools_with_history=True))
    if not sent.has_tools:
        return None
    if "tool use in streaming mode" in words:
        if profile.further.get("streams_tools") == "no":
            return None
        return replace(form, profile=replace(profile, further={**profile.further, "streams_tools": "no"}))
    if "strict" in sent.fields and ("invalid schema for function" in words or "strict" in words):
        return replace(form, profile=replace(profile, dropped=profile.dropped | {"strict"}))
    if "$ref" in words or "$defs" in words:
        return replace(form, profile=replace(profile, inlines_refs=True)) if not profile.inlines_refs else None
    about_schema = "schema" in words or "unknown name" in words or "parameters" in words
    if about_schema:
        found = [
            word for word in _KEYWORDS if word not in profile.dropped_keywords and re.search(_keyword(word), words)
        ]
        if found:
            return replace(form, profile=replace(profile, dropped_keywords=profile.dropped_keywords | set(found)))
    return None


def _keyword(word: str) -> str:
    written = re.escape(word.lower())
    return rf"['\"`]{written}\\?['\"`]" if word in _ENGLISH else rf"(?<!\w){written}(?!\w)"


def _by_media(form: RequestForm, words: str, sent: SentFeatures) -> RequestForm | None:
    if not sent.has_media or not _MEDIA.search(words):
        return None
    names_images, names_files = bool(_IMAGES_ONLY.search(words)), bool(_FILES_ONLY.search(words))
    kinds = set(sent.media_kinds)
    if names_images and not names_files:
        kinds &= {MediaKind.IMAGE}
    if names_files and not names_images:
        kinds &= {MediaKind.DOCUMENT}
    passes = _BAD_MEDIA.search(words) is not None
    return _without_media(form, replace(sent, media_kinds=kinds), passes=passes) or _without_media(
        form, sent, passes=passes
    )


def _without_media(form: RequestForm, sent: SentFeatures, *, passes: bool = False) -> RequestForm | None:
    """Return the form without the kinds of media that were sent; None if it has none. It ``passes`` if only the files
    of this request are at fault."""
    profile, facts = form.profile, dict[str, object]()
    if MediaKind.IMAGE in sent.media_kinds and profile.images:
        facts["images"] = False
    if MediaKind.DOCUMENT in sent.media_kinds and profile.documents:
        facts["documents"] = frozenset()
    if not facts:
        return None
    without = replace(profile, **facts)  # type: ignore[arg-type]  # names and values of two fields
    return replace(
        form, profile=without, passing=form.passing | facts.keys() if passes else form.passing - facts.keys()
    )


def _is_about_schema(words: str) -> bool:
    return any(
        each in words
        for each in (
            *("response_format", "response format", "json_schema", "json_object", "json mode", "response mime type"),
            *("text.format", "outputconfig", "structured output"),
        )
    )


def _names(failure: ProviderFailure, name: str) -> bool:
    """Return whether a refusal names a field: by ``param``, by its place, or in its text."""
    written = _write(name)
    param = failure.param.lower()
    root = re.split(r"[.\[]", param)[0]
    if param and root not in _PLACES and (re.fullmatch(rf"(.*\.)?{written}", param) or root == name):
        return True
    if root in _PLACES or _IN_SCHEMA.search(failure.text.lower()):
        return False
    if not re.search(rf"(?<![\w.]){written}(?!\w)", failure.text.lower()):
        return False
    # Words such as ``metadata`` are words of English too: outside quotes they name the field of a complaint only.
    quoted = re.search(rf"['\"`]{written}\W", failure.text.lower())
    return bool(quoted) or "_" in name or any(word in failure.words for word in _WORDS)


def _place_of(failure: ProviderFailure, name: str) -> int:
    """Return where a refusal names a field, -1 for its ``param``."""
    if re.search(rf"(^|\.){_write(name)}($|[.\[])", failure.param.lower()):
        return -1
    found = re.search(rf"(?<![\w.]){_write(name)}(?!\w)", failure.text.lower())
    return found.start() if found is not None else len(failure.text)


def _write(name: str) -> str:
    """Return how refusals write a field: ``reasoning_effort`` is ``reasoning.effort`` or ``reasoningEffort`` too."""
    return re.escape(name.lower()).replace("_", "[._]?")
