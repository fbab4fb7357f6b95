"""Personal data found by Amazon Comprehend, which knows names and addresses too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from botocore.exceptions import BotoCoreError, ClientError

from baton.adapters.aws import call
from baton.domain.errors import PiiDetectorUnavailable, StoreUnavailable
from baton.domain.pii import PiiKind, PiiSpan
from baton.ports.privacy import PiiDetector

if TYPE_CHECKING:
    from mypy_boto3_comprehend import ComprehendClient

MAX_BYTES = 90_000
"""Bytes of a request's text in UTF-8. The service takes 100 KB."""
MIN_SCORE = 0.8
OVERLAP = 200
"""Characters that two requests of a longer text share, so that nothing is lost between them."""
_KINDS = {
    "EMAIL": PiiKind.EMAIL,
    "PHONE": PiiKind.PHONE,
    "CREDIT_DEBIT_NUMBER": PiiKind.CARD,
    "INTERNATIONAL_BANK_ACCOUNT_NUMBER": PiiKind.IBAN,
    "NAME": PiiKind.NAME,
    "ADDRESS": PiiKind.ADDRESS,
    "PASSWORD": PiiKind.SECRET,
    "PIN": PiiKind.SECRET,
    "AWS_ACCESS_KEY": PiiKind.SECRET,
    "AWS_SECRET_KEY": PiiKind.SECRET,
    "CREDIT_DEBIT_CVV": PiiKind.SECRET,
    "SSN": PiiKind.NATIONAL_ID,
    "PASSPORT_NUMBER": PiiKind.NATIONAL_ID,
    "DRIVER_ID": PiiKind.NATIONAL_ID,
    "UK_NATIONAL_INSURANCE_NUMBER": PiiKind.NATIONAL_ID,
    "UK_UNIQUE_TAXPAYER_REFERENCE_NUMBER": PiiKind.NATIONAL_ID,
    "CA_SOCIAL_INSURANCE_NUMBER": PiiKind.NATIONAL_ID,
    "CA_HEALTH_NUMBER": PiiKind.NATIONAL_ID,
    "IN_AADHAAR": PiiKind.NATIONAL_ID,
    "IN_PERMANENT_ACCOUNT_NUMBER": PiiKind.NATIONAL_ID,
    "US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER": PiiKind.NATIONAL_ID,
}
_NOT_PERSONAL = frozenset({"DATE_TIME", "AGE", "URL"})
"""What conversations need to stay understandable, and what identifies nobody by itself."""


class ComprehendPiiDetector:
    """``PiiDetector`` by Amazon Comprehend, together with ``others``, such as the detector in this process."""

    def __init__(self, client: ComprehendClient, others: PiiDetector, *, language: Literal["en", "es"] = "en") -> None:
        self._client = client
        self._others = others
        self._language = language

    async def detect(self, text: str) -> Sequence[PiiSpan]:
        found = list(await self._others.detect(text))
        for start, piece in _pieces(text):
            try:
                answer = await call(self._client.detect_pii_entities, Text=piece, LanguageCode=self._language)
            except (ClientError, BotoCoreError, StoreUnavailable) as error:
                raise PiiDetectorUnavailable from error
            for entity in answer["Entities"]:
                if entity["Score"] < MIN_SCORE or entity["Type"] in _NOT_PERSONAL:
                    continue
                kind = _KINDS.get(entity["Type"], PiiKind.OTHER)
                found.append(PiiSpan(start + entity["BeginOffset"], start + entity["EndOffset"], kind))
        return found


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text in pieces that a request takes, with their positions. Empty pieces are left out."""
    size = MAX_BYTES // 4  # a character has at most four bytes
    for start in range(0, len(text), size - OVERLAP):
        piece = text[start : start + size]
        if piece.strip():
            yield start, piece
        if start + size >= len(text):
            return
