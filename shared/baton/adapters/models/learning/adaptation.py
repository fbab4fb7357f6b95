"""Find the change of a request that an endpoint asks for by refusing it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from baton.adapters.models.attachments.content import MediaKind
from baton.adapters.models.failures.failure import ProviderFailure
from baton.adapters.models.learning import rules
from baton.adapters.models.learning.refusal import RefusalText, RequestWords
from baton.adapters.models.learning.request_form import TOOLS_EFFORT, RequestForm, SentFeatures
from baton.adapters.models.learning.rules import RULES, Topic
from baton.adapters.models.profiles.profile import AnswerForm, Api, ModelProfile
from baton.domain.errors import ModelMisconfigured
from baton.domain.runs.provider_parts import Replay
from baton.ports.agents.chat_model import ModelSettings

MAX_ADAPTATIONS = 8
"""The maximum number of changes of one request. Each costs a refused request."""
_LIMITS = ("max_completion_tokens", "max_tokens")
_THINKING = ("reasoning_content",)
"""Fields that some endpoints want in every earlier answer, even if no answer had them."""
_SETTINGS = dict.fromkeys((*_LIMITS, "max_output_tokens"), "max_output_tokens")
"""The setting behind each field that has another name."""

Change = RequestForm | None
_Step = Callable[[RequestForm, RefusalText, SentFeatures, ModelSettings | None], Change]


def adapt_form(
    form: RequestForm, failure: ProviderFailure, sent: SentFeatures, settings: ModelSettings | None = None
) -> Change:
    """Return the form to try next, or None if the failure is about something that cannot be left out.

    ``settings`` are the agent's settings; the endpoint may refuse one of their values. If only words that the refusal
    quotes from the ``sent`` request ask for a change, the change holds for this request only and is not learned.
    """
    if failure.status == 413 and sent.has_media:
        return _without_media(form, sent.media_kinds, is_temporary=True)
    if not failure.is_refusal and not failure.may_be_refusal:
        return None
    if failure.status in (401, 403) and isinstance(failure.error, ModelMisconfigured):
        return None
    was_guess, form = form.before_guess is not None, form.before_guess or form
    refusal, whole = (RefusalText.of(failure, words) for words in (RequestWords.of(sent.body), RequestWords()))
    changed = _find_change(form, refusal, sent, settings)
    if changed is None and refusal != whole:
        changed = _limit_to_request(form, _find_change(form, whole, sent, settings))
    if changed is not None or isinstance(failure.error, ModelMisconfigured) or not failure.is_refusal:
        return changed
    # The refusal names nothing. The endpoint may lack a field that it has sent in its answers. Unknown models mostly
    # refuse opaque parts and attachments. Parts are left out of this request only.
    withheld = [name for name in sent.withheld if name not in form.refused_parts]
    guess = _with_replayed(form, sent, withheld) if withheld else None
    if guess is not None:
        return replace(guess, before_guess=replace(form, refused_parts=form.refused_parts.union(withheld)))
    if sent.has_parts and form.sends_parts and not was_guess:
        return replace(form, sends_parts=False)
    is_file_at_fault = bool(rules.BAD_MEDIA.search(refusal.words))
    return _without_media(form, sent.media_kinds, is_temporary=is_file_at_fault) if sent.has_media else None


def _find_change(form: RequestForm, refusal: RefusalText, sent: SentFeatures, settings: ModelSettings | None) -> Change:
    """Return the first change that the refusal asks for; None if it asks for none."""
    steps: Sequence[_Step] = (_adapt_api, _adapt_parts, _adapt_field, _apply_rule, _drop_media)
    marked = [name for name in sent.fields if refusal.marks(name)]
    if marked:  # a field that ``param`` names is at fault, whatever else the text is about
        steps = (_adapt_api, _adapt_field)
        sent = replace(sent, fields=marked, has_schema=sent.has_schema and "response_format" in marked)
    elif refusal.topic is not None:
        steps = (_adapt_api, _adapt_parts, _apply_rule, _drop_media)
    changes = (step(form, refusal, sent, settings) for step in steps)
    return next((change for change in changes if change is not None), None)


def _limit_to_request(form: RequestForm, changed: Change) -> Change:
    """Return the changed form with its new facts limited to this request."""
    if changed is None:
        return None
    names = (field.name for field in fields(ModelProfile))
    new = {name for name in names if getattr(form.profile, name) != getattr(changed.profile, name)}
    return replace(changed, temporary_facts=changed.temporary_facts | new)


def _adapt_api(form: RequestForm, refusal: RefusalText, sent: SentFeatures, settings: ModelSettings | None) -> Change:
    """Return the form for the other API, if the refusal says that this API is not served; None otherwise.

    If both are refused, the effort of thinking with tools may be changed instead.
    """
    profile, words = form.profile, refusal.words
    if profile.api is Api.CHAT and ("v1/responses" in words or rules.OTHER_ROUTE.search(words)):
        if Api.RESPONSES not in form.refused_apis:
            return _switch_api(form, Api.RESPONSES)
        if rules.NO_EFFORT.search(words):
            # The gateway has no Responses API, and the model behind it thinks and calls tools only over that API.
            return form.with_facts(further={TOOLS_EFFORT: profile.further.get(TOOLS_EFFORT, "none")})
    if profile.api is Api.RESPONSES and Api.RESPONSES not in form.refused_apis:
        is_missing = refusal.status in (404, 405) and not rules.ABOUT_CONTENT.search(words)
        if is_missing or any(
            pattern.search(words) for pattern in (rules.OTHER_ROUTE, rules.NO_ROUTE, rules.NO_RESPONSES)
        ):
            return _switch_api(form, Api.CHAT)
    return None


def _switch_api(form: RequestForm, api: Api) -> RequestForm:
    """Return the form for ``api``. The present API counts as refused."""
    refused = form.refused_apis | {form.profile.api}
    return replace(form, profile=replace(form.profile, api=api), refused_apis=refused)


def _adapt_parts(form: RequestForm, refusal: RefusalText, sent: SentFeatures, settings: ModelSettings | None) -> Change:
    """Return the form that sends fields of earlier answers back, or no longer sends the fields that are refused.

    Return None if the refusal is about something else.
    """
    profile, words = form.profile, refusal.words
    if not refusal.is_about(Topic.MESSAGES):
        return None
    replayable = (*profile.replayed_fields, *sent.withheld, *_THINKING)
    named = [
        name for name in replayable if any(map(refusal.refers_to, _list_member_names(name, sent.withheld.get(name))))
    ]
    refused = [name for name in named if name in profile.replayed_fields and sent.has_parts]
    if refused and rules.COMPLAINT.search(words) and "signature" not in words:
        remaining = tuple(name for name in profile.replayed_fields if name not in refused)
        changed = replace(profile, replayed_fields=remaining, required_field=None)
        return replace(form, profile=changed, refused_parts=form.refused_parts.union(refused))
    is_lacking = rules.ABSENCE.search(words) is not None
    lacking = [name for name in named if is_lacking or (name in sent.withheld and name not in refused)]
    if not lacking and rules.LACKING.search(words) and not any(map(refusal.names, sent.fields)):
        lacking = list(sent.withheld)
    lacking = [name for name in lacking if name not in form.refused_parts]
    if lacking and (changed_form := _with_replayed(form, sent, lacking)) is not None:
        return changed_form
    if rules.UNSIGNED.search(words) and not profile.calls_need_parts:
        return form.with_facts(calls_need_parts=True)
    if sent.has_parts and form.sends_parts and rules.LOST_PARTS.search(words):
        return replace(form, sends_parts=False)
    return None


def _list_member_names(name: str, value: Any) -> Iterator[str]:
    """Yield the name of a field, and the names of its members at any depth."""
    yield name
    members = value.items() if isinstance(value, Mapping) else ()
    for member, inner in members:
        yield from _list_member_names(str(member), inner)


def _with_replayed(form: RequestForm, sent: SentFeatures, names: Sequence[str]) -> Change:
    """Return the form that sends these fields with every earlier answer; None if the present form does.

    The first of them that is a text is sent empty with answers that had none.
    """
    texts = [name for name in names if isinstance(sent.withheld.get(name, ""), str)]
    return form.with_facts(
        replay=Replay.ALWAYS,
        replayed_fields=tuple(dict.fromkeys((*form.profile.replayed_fields, *names))),
        required_field=form.profile.required_field or next(iter(texts), None),
    )


def _adapt_field(form: RequestForm, refusal: RefusalText, sent: SentFeatures, settings: ModelSettings | None) -> Change:
    """Return the form without a field that the refusal names, or with another form of it; None if it names none."""
    profile, words = form.profile, refusal.words
    limits = [name for name in _LIMITS if name in sent.fields and name not in profile.dropped]
    if limits and rules.LIMIT_TOO_LARGE.search(words):
        return _leave_out(form, refusal, limits, settings)
    if "max_completion_tokens" in words and profile.limit_field in limits:
        other = next(name for name in _LIMITS if name != profile.limit_field)
        is_named = profile.limit_field == "max_tokens" or refusal.names("max_completion_tokens")
        if is_named and other not in form.refused_limits:
            refused = form.refused_limits | {profile.limit_field}
            return replace(form, profile=replace(profile, limit_field=other), refused_limits=refused)
    if sent.has_schema and profile.answer_form is not AnswerForm.PROMPT and rules.ANSWER_FORM.search(words):
        is_object = profile.answer_form is AnswerForm.OBJECT or "json_object" in words
        return form.with_facts(answer_form=AnswerForm.PROMPT if is_object else AnswerForm.OBJECT)
    candidates = [name for name in sent.fields if name != "tools" and name not in profile.dropped]
    names = [name for name in candidates if refusal.names(name)]
    if not names and "reasoning_effort" in candidates and rules.EFFORT_REFUSED.search(words):
        names = ["reasoning_effort"]
    if names:
        # The first name is that of the refused field. Later names may be a cause or a remedy. If several names begin at
        # the same position, the longest is meant.
        return _leave_out(
            form, refusal, [min(names, key=lambda name: (refusal.find_position(name), -len(name)))], settings
        )
    return None


def _leave_out(form: RequestForm, refusal: RefusalText, names: Sequence[str], settings: ModelSettings | None) -> Change:
    """Return the form without the named fields, or without their present values if the endpoint takes other values.

    Return None if the form leaves these out already.
    """
    is_value = rules.VALUE_CODES.search(refusal.code) or rules.VALUES.search(refusal.text)
    chosen = {name: getattr(settings, name, None) for name in (_SETTINGS.get(name, name) for name in names)}
    values = {(name, repr(value)) for name, value in chosen.items() if value is not None}
    if is_value and values and not rules.ONLY_DEFAULT.search(refusal.text):
        return form.with_facts(refused_values=values)
    return form.with_facts(dropped=set(names))


def _apply_rule(form: RequestForm, refusal: RefusalText, sent: SentFeatures, settings: ModelSettings | None) -> Change:
    """Return the form changed by the first rule that fits the refusal, or without the schema keywords it names.

    Return None if neither applies.
    """
    for rule in RULES:
        meets_condition = all(getattr(form.profile, name) == value for name, value in rule.condition.items())
        if not meets_condition or not rule.is_met(sent) or not refusal.is_about(rule.topic):
            continue
        if rule.words.search(refusal.words) and (changed := form.with_facts(**rule.facts)):
            return changed
    return _drop_keywords(form, refusal) if sent.has_tools else None


def _drop_keywords(form: RequestForm, refusal: RefusalText) -> Change:
    """Return the form that leaves the keywords which the refusal names out of tools' schemas; None without any."""
    if not refusal.is_about(Topic.TOOLS) or not re.search(r"schema|unknown name|parameters", refusal.words):
        return None
    new = rules.KEYWORDS - form.profile.dropped_keywords
    refused = {word for word in new if re.search(_make_keyword_pattern(word), refusal.words)}
    return form.with_facts(dropped_keywords=refused)


def _make_keyword_pattern(word: str) -> str:
    """Return the pattern of a keyword in a refusal. A word of English must be in quotation marks."""
    written = re.escape(word.lower())
    return rf"['\"`]{written}\\?['\"`]" if word in rules.ENGLISH else rf"(?<!\w){written}(?!\w)"


def _drop_media(form: RequestForm, refusal: RefusalText, sent: SentFeatures, settings: ModelSettings | None) -> Change:
    """Return the form without attachments of the kind that the refusal names, or of all kinds.

    Return None if the refusal is about something else.
    """
    words = refusal.words
    if not sent.has_media or not refusal.is_about(Topic.MESSAGES) or not rules.MEDIA.search(words):
        return None
    names_images, names_files = bool(rules.IMAGES_ONLY.search(words)), bool(rules.FILES_ONLY.search(words))
    kinds = set(sent.media_kinds)
    if names_images != names_files:
        kinds &= {MediaKind.IMAGE if names_images else MediaKind.DOCUMENT}
    is_file_at_fault = rules.BAD_MEDIA.search(words) is not None
    # The named kind may not be in the request, or be left out already: then the other kind is at fault.
    changed = _without_media(form, kinds, is_temporary=is_file_at_fault)
    return changed or _without_media(form, sent.media_kinds, is_temporary=is_file_at_fault)


def _without_media(form: RequestForm, kinds: Collection[MediaKind], *, is_temporary: bool) -> Change:
    """Return the form without these kinds of media; None if the form sends none of them already.

    If ``is_temporary``, the change holds for this request only.
    """
    facts: dict[str, Any] = {}
    if MediaKind.IMAGE in kinds and form.profile.images:
        facts["images"] = False
    if MediaKind.DOCUMENT in kinds and form.profile.documents:
        facts["documents"] = frozenset()
    changed = form.with_facts(**facts)
    if changed is None:
        return None
    temporary = form.temporary_facts
    return replace(changed, temporary_facts=temporary | facts.keys() if is_temporary else temporary - facts.keys())
