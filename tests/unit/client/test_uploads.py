"""Types that files' names imply."""

from __future__ import annotations

import mimetypes

import pytest

from baton_client.uploads import guess_content_type
from baton_documents.formats import MEDIA_TYPES
from baton_documents.media_types import type_by_name

DOCUMENTS = ["pdf", "docx", "pptx", "xlsx", "html", "htm", "xhtml", "md", "markdown", "txt", "csv"]


@pytest.mark.parametrize("ending", [*DOCUMENTS, *map(str.upper, DOCUMENTS)])
def test_documents_have_the_servers_types_also_where_the_system_knows_none(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mimetypes, "guess_type", mimetypes.MimeTypes(()).guess_type)
    assert guess_content_type(f"page.{ending}") == type_by_name(f"page.{ending}")
    assert type_by_name(f"page.{ending}") in MEDIA_TYPES


def test_a_name_may_imply_nothing() -> None:
    assert guess_content_type("page.unknown") is None
    assert guess_content_type("page") is None
