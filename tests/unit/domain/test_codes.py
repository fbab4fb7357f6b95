"""Codes in a query, which are searched as phrases."""

from __future__ import annotations

import pytest

from baton.domain.text import MAX_CODES, find_codes


@pytest.mark.parametrize(
    ("query", "codes"),
    [
        ("What is the lead time of PN-173?", ["pn-173"]),
        ("ISO 9001:2015, and ISO/IEC 27001:2022.", ["9001:2015", "27001:2022"]),
        ("What is new in v2.3.1?", ["v2.3.1"]),
        ("1,250.75 or 1.250,75 euros", ["1,250.75", "1.250,75"]),
        ("on 2026-03-14 at 10:30", ["2026-03-14", "10:30"]),
        ("F-12/B", ["f-12/b"]),
        ("PN-173, pn-173", ["pn-173"]),
        ("B137 and § 12a", []),
        ("a well-known e-mail, isn't it", []),
        ('5"x3', ['5"x3']),
        ("PN-173" * 20, []),
        ("", []),
    ],
)
def test_a_code_has_a_digit_and_several_parts(query: str, codes: list[str]) -> None:
    assert find_codes(query) == codes


def test_the_number_of_codes_is_bounded() -> None:
    assert len(find_codes(" ".join(f"PN-{number}" for number in range(1_000)))) == MAX_CODES


def test_a_long_text_takes_time_in_proportion_to_its_length() -> None:
    assert find_codes("a" * 1_000_000 + "-" * 1_000_000) == []
