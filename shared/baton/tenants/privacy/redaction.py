"""Replacement of personal data by placeholders that show its kind and distinguish one value from another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from baton.concurrency.tasks import gather_all
from baton.domain.text import normalise_text
from baton.ports.tenants.privacy import PiiDetector, PiiKind, PiiSpan

_CASELESS: Final = frozenset({PiiKind.EMAIL, PiiKind.IBAN, PiiKind.NATIONAL_ID})
_COMPACT: Final = frozenset({PiiKind.PHONE, PiiKind.CARD, PiiKind.IBAN, PiiKind.NATIONAL_ID})
"""Kinds whose spaces and punctuation mean nothing."""
AT_ONCE: Final = 8
"""Texts that are searched at the same time, because a detector may be a service."""


class Redactor:
    """The placeholders for personal data in texts that are read together, such as those of an episode.

    The same value becomes the same placeholder in all of them: the first e-mail address ``[email]``, the next one
    ``[email 2]``. Placeholders depend on the order of the texts, so they must come in the same order every time.
    """

    def __init__(self, detector: PiiDetector) -> None:
        self._detector = detector
        self._numbers: dict[PiiKind, dict[str, int]] = {}

    async def redact(self, text: str) -> str | None:
        """Return the text with placeholders; None if it contains no personal data. Raises as the detector does."""
        return self._replace_spans(text, await self._detector.detect(text)) if text else None

    async def redact_each(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the texts that contain personal data, each with its placeholders. Raises as the detector does.

        ``AT_ONCE`` texts are searched at the same time, but placeholders are numbered in the order of the texts.
        """
        distinct = [text for text in dict.fromkeys(texts) if text]
        clean: dict[str, str] = {}
        for start in range(0, len(distinct), AT_ONCE):
            batch = distinct[start : start + AT_ONCE]
            detections = await gather_all(*(self._detector.detect(text) for text in batch))
            for text, spans in zip(batch, detections, strict=True):
                if (new := self._replace_spans(text, spans)) is not None:
                    clean[text] = new
        return clean

    def _replace_spans(self, text: str, pii_spans: Iterable[PiiSpan]) -> str | None:
        spans = merge_spans(pii_spans, len(text))
        if not spans:
            return None
        pieces: list[str] = []
        end = 0
        for span in spans:
            pieces += (text[end : span.start], self._make_placeholder(span.kind, text[span.start : span.end]))
            end = span.end
        return "".join((*pieces, text[end:]))

    def _make_placeholder(self, kind: PiiKind, value: str) -> str:
        numbers = self._numbers.setdefault(kind, {})
        number = numbers.setdefault(_normalise(kind, value), len(numbers) + 1)
        return f"[{kind.value}]" if number == 1 else f"[{kind.value} {number}]"


def merge_spans(spans: Iterable[PiiSpan], length: int) -> Sequence[PiiSpan]:
    """Return the spans in order and without overlaps. Overlapping ones become one, of the longest one's kind."""
    pii_spans: list[PiiSpan] = []
    longest = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.kind)):
        start, end = max(0, span.start), min(span.end, length)
        if start >= end:
            continue
        if pii_spans and start < pii_spans[-1].end:
            last = pii_spans[-1]
            kind = span.kind if end - start > longest else last.kind
            longest = max(longest, end - start)
            pii_spans[-1] = PiiSpan(last.start, max(last.end, end), kind)
        else:
            pii_spans.append(PiiSpan(start, end, span.kind))
            longest = end - start
    return pii_spans


def _normalise(kind: PiiKind, value: str) -> str:
    """Return the value without differences of spelling."""
    value = normalise_text("NFKC", value).strip()
    if kind in _COMPACT:
        value = "".join(character for character in value if character.isalnum())
    return value.casefold() if kind in _CASELESS else value
