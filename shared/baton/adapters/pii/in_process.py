"""Personal data that has a form, found in this process: e-mail addresses, phone, card and account numbers, ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from baton.adapters.pii.contacts import DEFAULT_REGIONS, emails, phone_numbers
from baton.adapters.pii.numbers import account_numbers, card_numbers, national_ids
from baton.concurrency.tasks import off_loop
from baton.ports.tenants.privacy import PiiSpan

_WORK = 64
"""The work for a text with personal data, relative to a common text, for ``off_loop``."""


class InProcessPiiDetector:
    """``PiiDetector`` by patterns whose finds are validated: check digits, numbering plans, issuers' ranges.

    It finds nothing that has no form, such as names and street addresses.
    """

    def __init__(self, regions: Sequence[str] = DEFAULT_REGIONS) -> None:
        """``regions``: ISO countries whose phone numbers are known without their country code."""
        self._regions = tuple(regions)

    async def detect(self, text: str) -> Sequence[PiiSpan]:
        return await off_loop(len(text) * _WORK, self._find, text)

    def _find(self, text: str) -> list[PiiSpan]:
        return list(self._spans(text))

    def _spans(self, text: str) -> Iterator[PiiSpan]:
        yield from emails(text)
        if any(character.isdigit() for character in text):
            yield from card_numbers(text)
            yield from account_numbers(text)
            yield from national_ids(text)
            yield from phone_numbers(text, self._regions)
