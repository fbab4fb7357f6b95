"""Redaction removes personal data, keeps the rest, and takes no longer than the text is long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.pii import InProcessPiiDetector
from baton.ports.tenants.privacy import PiiKind, PiiSpan
from baton.tenants.privacy.redaction import Redactor, merge_spans


def redact(*texts: str) -> list[str | None]:
    """Each text after one redactor has seen those before it."""

    async def one_after_another() -> list[str | None]:
        redactor = Redactor(InProcessPiiDetector())
        return [await redactor.redact(text) for text in texts]

    return asyncio.run(one_after_another())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ada@example.com", "email"),
        ("bob.o'neil+news@mail.example.co.uk", "email"),
        ("jürgen@müller.example", "email"),
        ("+41 44 668 18 00", "phone"),
        ("+14155552671", "phone"),
        ("(650) 253-0000", "phone"),
        ("044 668 18 00", "phone"),
        ("4111 1111 1111 1111", "card"),
        ("378282246310005", "card"),
        ("5555-5555-5555-4444", "card"),
        ("CH93 0076 2011 6238 5295 7", "iban"),
        ("DE89370400440532013000", "iban"),
        ("gb82 west 1234 5698 7654 32", "iban"),
        ("536-90-4399", "national id"),
        ("756.9217.0769.85", "national id"),
        ("54362315K", "national id"),
        ("390.533.447-05", "national id"),
    ],
)
def test_personal_data_becomes_a_placeholder_of_its_kind(text: str, kind: str) -> None:
    assert redact(f"Please note: {text}, and go on.") == [f"Please note: [{kind}], and go on."]


@pytest.mark.parametrize(
    "text",
    [
        "The order 4155552671 has shipped.",
        "Card-like, with a wrong check digit: 4111111111111112",
        "Order 1234567890123456",
        "On 2026-03-14 at 10:15:30, or 14.03.2026 18:00, or 3/14/2026",
        "2026-03-14T10:15:30.123Z to 2026-03-15",
        "Version 10.12.4567, 1.2.3-4 and v2026.11.22",
        "192.168.100.200 and 10.0.0.1:8080",
        "1,234,567.89 USD, 3.14159265358979, 12 * (3 + 4) = 84",
        "1700000000 and 1700000000000",
        "123e4567-e89b-12d3-a456-426614174000",
        "ISBN 978-3-16-148410-0",
        "user@localhost, @mention, a @ b, foo@",
        "GB82 WEST 1234 5698 7654 33",
        "555-01-0000",
    ],
)
def test_what_only_looks_like_personal_data_stays(text: str) -> None:
    assert redact(text) == [None]


def test_a_word_before_it_makes_a_row_of_digits_a_phone_number() -> None:
    assert redact("My phone: 6502530000", "Order 6502530000") == ["My phone: [phone]", None]


def test_different_values_of_a_kind_are_numbered_through_the_episode() -> None:
    assert redact("a@x.org wrote to b@x.org", "nothing", "B@X.org answered a@x.org and c@x.org") == [
        "[email] wrote to [email 2]",
        None,
        "[email 2] answered [email] and [email 3]",
    ]


def test_the_same_number_in_another_spelling_is_the_same() -> None:
    assert redact("+41 44 668 18 00 or +41446681800") == ["[phone] or [phone]"]


@dataclass
class Chosen:
    """A detector that finds what a test chooses."""

    spans: Sequence[PiiSpan]

    async def detect(self, text: str) -> Sequence[PiiSpan]:
        return self.spans


SPANS = st.lists(
    st.builds(PiiSpan, st.integers(-5, 40), st.integers(-5, 45), st.sampled_from(list(PiiKind))), max_size=8
)


@given(st.text(min_size=1, max_size=40), SPANS)
def test_nothing_that_was_detected_survives_and_nothing_else_is_lost(text: str, spans: list[PiiSpan]) -> None:
    result = merge_spans(spans, len(text))
    assert all(0 <= item.start < item.end <= len(text) for item in result)
    assert all(a.end <= b.start for a, b in pairwise(result))
    covered = {index for item in result for index in range(item.start, item.end)}
    expected = {index for span in spans for index in range(max(0, span.start), min(span.end, len(text)))}
    assert covered == expected
    redacted = asyncio.run(Redactor(Chosen(spans)).redact(text))
    ends = [0, *(item.end for item in result)]
    stored = [text[end:start] for end, start in zip(ends, [*(item.start for item in result), len(text)], strict=True)]
    assert (redacted is None) == (not result)
    if redacted is not None:
        rest = redacted
        for piece in stored:
            assert piece in rest
            rest = rest[rest.index(piece) + len(piece) :]


MIXED = st.lists(
    st.one_of(
        st.sampled_from(["ada@example.com", "+41 44 668 18 00", "4111111111111111", "DE89370400440532013000"]),
        st.text(alphabet="ab @.+-()0123456789\n", max_size=20),
    ),
    max_size=12,
)


@given(MIXED)
def test_a_detectors_spans_lie_in_the_text_and_well_known_values_do_not_survive(pieces: list[str]) -> None:
    text = " | ".join(pieces)
    spans = asyncio.run(InProcessPiiDetector().detect(text))
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    remaining = redact(text)[0] or text
    for value in ("ada@example.com", "+41 44 668 18 00", "4111111111111111", "DE89370400440532013000"):
        if value in pieces:
            assert f" | {value} | " not in f" | {remaining} | "


@pytest.mark.parametrize("flood", ["1 2 3 4 5 6 7 8 9 0 ", "1234567890", "a@", "1-", "CH93 ", "a@b.", "1 ", "+", "(1)"])
def test_a_message_of_nothing_but_candidates_is_read_to_its_end(flood: str) -> None:
    text = flood * (128 * 1024 // len(flood)) + " ada@example.com"
    assert (redact(text)[0] or "").endswith("[email]")


async def test_placeholders_are_numbered_in_the_order_of_the_texts_whichever_is_searched_first() -> None:
    class BackwardDetector(InProcessPiiDetector):
        """A detector that answers for a text only once it has answered for the next one."""

        def __init__(self, texts: Sequence[str]) -> None:
            super().__init__()
            self._next = dict(pairwise(texts))
            self._answered = {text: asyncio.Event() for text in texts}

        async def detect(self, text: str) -> Sequence[PiiSpan]:
            if text in self._next:
                await self._answered[self._next[text]].wait()
            if text in self._answered:
                self._answered[text].set()
            return await super().detect(text)

    texts = ["ada@example.com", "bob@example.com", "eve@example.com"]
    clean = await Redactor(BackwardDetector(texts)).redact_each([*texts, "nothing", texts[0]])
    assert clean == dict(zip(texts, ["[email]", "[email 2]", "[email 3]"], strict=True))
