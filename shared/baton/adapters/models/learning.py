"""Find the change of a request that an endpoint asks for by refusing it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from baton.adapters.models.failure import ProviderFailure
from baton.adapters.models.profile import AnswerForm, Api, ModelProfile, SystemPlace
from baton.domain.errors import ModelMisconfigured
from baton.domain.provider_parts import Replay

MAX_ADAPTATIONS = 8
"""Changes of one request. Each costs a refused request, and a model that refuses more is not worth asking."""

TOOLS_EFFORT = "effort_with_tools"
"""The further fact of a model that takes tools over Chat Completions only with this effort."""

_WORDS = ("unsupported", "not support", "unknown", "unrecognized", "unexpected", "not permitted", "extra", "invalid")
_SYSTEM_FIRST = re.compile(
    r"system (message|prompt|role).{0,40}(beginning|first|start|only one|once|multiple)|single system"
)
_NO_SYSTEM = re.compile(
    r"support system messages|system role (is )?not supported|does not support (the )?(role )?.?system|'system' is not"
)
_ALTERNATION = re.compile(
    r"(roles? must|must) alternate|alternate between|consecutive (user|assistant)|after role .user."
)
_USER_FIRST = re.compile(r"(conversation|first message|must).{0,40}start with a user|first message must.{0,20}user")
_SHORT_IDS = re.compile(r"tool call id.{0,80}length of 9|call_?id.{0,80}9 (characters|chars)")
NINE_CHARACTERS = r"[a-zA-Z0-9]{9}"
"""The ids of calls that Mistral's templates take."""
_MEDIA = re.compile(
    r"content (part )?type|image|vision|multi-?modal|file part|attachment|document|input_file|file_data|"
    r"content.{0,20}must be a string|expected a? ?str|unsupported content|media"
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
_IMAGES_ONLY = re.compile(r"image|vision")
_FILES_ONLY = re.compile(r"\bfile|document|input_file")
# Keywords of JSON Schema that endpoints refuse in the schemas of tools.
_KEYWORDS = frozenset(
    {
        "$schema",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "default",
        "examples",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "patternProperties",
        "propertyNames",
        "title",
        "uniqueItems",
    }
)


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The form in which a request is sent: by the model's profile, with or without the parts of earlier answers."""

    profile: ModelProfile
    sends_parts: bool = True
    """Whether opaque parts go back. They are left out for one request whose parts the endpoint does not accept."""
    refused_apis: frozenset[Api] = frozenset()
    """The APIs over which the endpoint has refused this request."""


@dataclass(frozen=True, slots=True)
class SentFeatures:
    """What a request holds that an endpoint may refuse."""

    fields: Collection[str] = ()
    """The names of its optional fields."""
    has_tools: bool = False
    has_media: bool = False
    has_parts: bool = False
    has_schema: bool = False
    """Whether the form of the answer was given."""


def adapted(form: RequestForm, failure: ProviderFailure, sent: SentFeatures) -> RequestForm | None:
    """Return the form to try next, or None if the failure is about something that cannot be left out."""
    if not failure.is_refusal and not failure.may_be_refusal:
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
    # Nothing is named. Attachments and opaque parts are what unknown models refuse most.
    profile = form.profile
    if sent.has_media and (profile.images or profile.documents):
        return replace(form, profile=replace(profile, images=False, documents=frozenset()))
    if sent.has_parts and form.sends_parts:
        return replace(form, sends_parts=False)
    return None


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
    if "max_completion_tokens" in words and profile.limit_field == "max_tokens" and "max_tokens" in sent.fields:
        return replace(form, profile=replace(profile, limit_field="max_completion_tokens"))
    if profile.limit_field == "max_completion_tokens" and _names(failure, "max_completion_tokens"):
        return replace(form, profile=replace(profile, limit_field="max_tokens"))
    if sent.has_schema and profile.answer_form is not AnswerForm.PROMPT and _is_about_schema(words):
        later = AnswerForm.OBJECT if profile.answer_form is AnswerForm.SCHEMA else AnswerForm.PROMPT
        if "json_object" in words:
            later = AnswerForm.PROMPT
        return replace(form, profile=replace(profile, answer_form=later))
    # The longest name first: ``parallel_tool_calls`` holds the words of others.
    for name in sorted(sent.fields, key=len, reverse=True):
        if name != "tools" and name not in profile.dropped and _names(failure, name):
            return replace(form, profile=replace(profile, dropped=profile.dropped | {name}))
    return None


def _by_roles(form: RequestForm, words: str) -> RequestForm | None:
    profile = form.profile
    if "role" not in words and "system" not in words and "alternat" not in words and "conversation" not in words:
        return None
    if _NO_SYSTEM.search(words) and profile.system is not SystemPlace.USER:
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
            word
            for word in _KEYWORDS
            if word not in profile.dropped_keywords and re.search(rf"(?<!\w){re.escape(word.lower())}(?!\w)", words)
        ]
        if found:
            return replace(form, profile=replace(profile, dropped_keywords=profile.dropped_keywords | set(found)))
    return None


def _by_media(form: RequestForm, words: str, sent: SentFeatures) -> RequestForm | None:
    profile = form.profile
    if not sent.has_media or not _MEDIA.search(words):
        return None
    names_images, names_files = bool(_IMAGES_ONLY.search(words)), bool(_FILES_ONLY.search(words))
    if names_files and not names_images and profile.documents:
        return replace(form, profile=replace(profile, documents=frozenset()))
    if names_images and not names_files and profile.images:
        return replace(form, profile=replace(profile, images=False))
    if profile.images or profile.documents:
        return replace(form, profile=replace(profile, images=False, documents=frozenset()))
    return None


def _is_about_schema(words: str) -> bool:
    return any(
        each in words for each in ("response_format", "json_schema", "json_object", "text.format", "outputconfig")
    )


def _names(failure: ProviderFailure, name: str) -> bool:
    """Return whether a refusal names a field: by ``param``, by its place, or in its text."""
    # ``reasoning_effort`` is ``reasoning.effort`` over Responses, and some servers write ``reasoningEffort``.
    written = re.escape(name.lower()).replace("_", "[._]?")
    param = failure.param.lower()
    if param and (re.fullmatch(rf"(.*\.)?{written}", param) or re.split(r"[.\[]", param)[0] == name):
        return True
    if param and "." not in param and "[" not in param and param in ("messages", "tools", "input"):
        return False
    if not re.search(rf"(?<![\w.]){written}(?!\w)", failure.text.lower()):
        return False
    # Words such as ``metadata`` are words of English too: outside quotes they name the field of a complaint only.
    quoted = re.search(rf"['\"`]{written}\W", failure.text.lower())
    return bool(quoted) or "_" in name or any(word in failure.words for word in _WORDS)
