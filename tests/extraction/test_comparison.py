"""The comparison in the reader's README: what it says of this reader is so."""

from __future__ import annotations

import pytest

from baton_documents import DocumentRefused, read
from extraction.comparison.cases import CASES, RIGHT, Case

OTHER_FORMATS = {"mail.eml", "handbook.rtf", "handbook.odt"}


@pytest.mark.parametrize("case", [case for case in CASES if case.name not in OTHER_FORMATS], ids=lambda case: case.name)
def test_a_file_of_the_comparison_is_read_right(case: Case) -> None:
    assert case.find_outcome(read(case.body, case.name).text) == RIGHT


@pytest.mark.parametrize("case", [case for case in CASES if case.name in OTHER_FORMATS], ids=lambda case: case.name)
def test_a_format_that_others_read_is_refused(case: Case) -> None:
    with pytest.raises(DocumentRefused):
        read(case.body, case.name)
