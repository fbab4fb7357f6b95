"""Find the parts of a question that its model did not get, to report them with the answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ag_ui.core import ImagePart

from baton.adapters.models.profile import AnswerForm, ModelProfile
from baton.domain.message import Content
from baton.ports.chat_model import ModelSettings

READ_BY_MOST = ModelProfile().documents
"""Media types of documents that models usually read themselves. Others are extracted for every model."""


def left_out(
    settings: ModelSettings, contents: Iterable[Content], media_types: Collection[str], profile: ModelProfile
) -> frozenset[str]:
    """Return ``images``, ``documents`` and ``answer_schema``, as far as the profile keeps them from the model.

    ``media_types`` are those of the attachments that were read. A document counts if the model gets its text only, and
    a schema if the model finds it in the prompt only.
    """
    names: set[str] = set()
    if not profile.images and (
        any(each.startswith("image/") for each in media_types) or any(map(_has_image, contents))
    ):
        names.add("images")
    if (READ_BY_MOST - profile.documents) & set(media_types):
        names.add("documents")
    if settings.answer_schema is not None and profile.answer_form is not AnswerForm.SCHEMA:
        names.add("answer_schema")
    return frozenset(names)


def _has_image(content: Content) -> bool:
    return not isinstance(content, str) and any(isinstance(part, ImagePart) for part in content)
