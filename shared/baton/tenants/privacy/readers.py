"""Redaction for readers of another user's thread: without ``pii:read`` they see no personal data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from pydantic import BaseModel

from baton.domain.tenants.identity import Permission, Scope
from baton.ports.tenants.privacy import PiiDetector
from baton.tenants.privacy.redaction import Redactor

T = TypeVar("T")

SHORTEST = 6
"""Characters of the shortest text that is checked. No personal data that is detected is shorter."""
ID_FORM = re.compile(r"[A-Za-z0-9_.:#-]{1,200}")
"""The form of an id. In JSON of tools, a member with the name of an id may hold anything."""
OWN_NAMES = frozenset({"userId", "user_id"})
"""Ids of users are shown as they are, also where they are addresses."""
NAMES_WITHOUT_TEXT = frozenset({"action", "code", "cursor", "id", "ids", "kind", "outcome", "role", "status", "type"})
"""Members that hold values made by Baton, not texts of users or agents."""

SHORTEST_NUMBER = 7
"""Digits of the shortest number that is checked. No personal data that is detected is shorter."""
MAX_DIGITS = 40
"""Digits of the longest number that is checked."""
OWN_NUMBERS = frozenset({"timestamp", "seq"})
"""Members of events that hold Baton's own numbers. A detector may be a service that costs money for each text."""

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]")
_PHONE = re.compile(r"\b(?:phone|call|tel|mobile|cell|fax|whatsapp|telefon|handy|rufnummer)", re.IGNORECASE)

IsText = Callable[[str], bool]
"""True if a member of this name may hold a text of a user or an agent."""


def sees_all(scope: Scope, owner_id: str) -> bool:
    """Return whether the caller may see the personal data in texts of this user."""
    return scope.user_id == owner_id or scope.has(Permission.PII_READ)


def may_hold_text(name: str) -> bool:
    """Return whether a member of this name, in either spelling, may hold a text of a user or an agent."""
    return name not in NAMES_WITHOUT_TEXT and not name.endswith(("_id", "_ids", "Id", "Ids", "Cursor", "_cursor"))


@dataclass(frozen=True, slots=True)
class Readers:
    """Answers to readers, with placeholders for personal data that a reader may not see."""

    detector: PiiDetector

    async def redact_for(self, scope: Scope, owner_id: str, shape: T) -> T:
        """Return ``shape`` as the caller may see it: the same if it is their own, or if they hold ``pii:read``."""
        return shape if sees_all(scope, owner_id) else await self.redact(shape)

    async def redact_each_for(self, scope: Scope, shapes: Sequence[T], owner_of: Callable[[T], str]) -> list[T]:
        """Return shapes of several owners as the caller may see them, in their order."""
        others = [shape for shape in shapes if not sees_all(scope, owner_of(shape))]
        redacted = iter(await self.redact(others))
        return [shape if sees_all(scope, owner_of(shape)) else next(redacted) for shape in shapes]

    async def redact(self, shape: T) -> T:
        """Return JSON values, models or dataclasses with placeholders for personal data. Raises as the detector does.

        The content of files is left out, because personal data in pictures is not recognised.
        """
        return await replace_texts(shape, Redactor(self.detector), may_hold_text)


async def replace_texts(shape: T, redactor: Redactor, is_text: IsText) -> T:
    """Return ``shape`` with its texts redacted: those in members for whose names ``is_text`` returns True."""
    clean = await redactor.redact_each(text for text in _list_texts(shape, is_text) if len(text) >= SHORTEST)
    redacted: T = _replace_texts(shape, clean, is_text)
    return redacted


def _list_texts(value: Any, is_text: IsText) -> Iterator[str]:
    """Yield the texts in a value, in its members' names too, and texts of its numbers."""
    if isinstance(value, str):
        if not isinstance(value, Enum):
            yield value
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _list_texts(member, is_text)
    else:
        for name, member in _list_members(value).items():
            if is_text(name) or _is_foreign(value, name, member):
                yield from _list_texts(member, is_text)
            if isinstance(value, dict):
                for number in member if isinstance(member, (list, tuple)) else (member,):
                    yield from _list_number_texts(name, number)
                if not ID_FORM.fullmatch(name):
                    yield name


def _replace_texts(value: Any, clean: Mapping[str, str], is_text: IsText) -> Any:
    if isinstance(value, str):
        return value if isinstance(value, Enum) else clean.get(value, value)
    if isinstance(value, (list, tuple)):
        return type(value)(_replace_texts(member, clean, is_text) for member in value)
    members = _list_members(value)
    new = {
        name: _replace_texts(member, clean, is_text)
        for name, member in members.items()
        if is_text(name) or _is_foreign(value, name, member)
    }
    if members.get("type") == "data" and isinstance(members.get("value"), str):
        new["value"] = ""  # the content of a file
    if isinstance(value, dict):
        new = {name: _redact_numbers(name, new.get(name, member), clean) for name, member in value.items()}
    changed = {name: member for name, member in new.items() if member is not members[name]}
    if not changed and not (isinstance(value, dict) and clean.keys() & value.keys()):
        return value
    if isinstance(value, dict):
        return {clean.get(name, name): member for name, member in {**value, **changed}.items()}
    if isinstance(value, BaseModel):
        return value.model_copy(update=changed)
    return replace(value, **changed)


def _redact_numbers(name: str, member: Any, clean: Mapping[str, str]) -> Any:
    if isinstance(member, (list, tuple)):
        numbers = type(member)(_redact_number(name, number, clean) for number in member)
        return numbers if numbers != member else member
    return _redact_number(name, member, clean)


def _is_foreign(value: Any, name: str, member: Any) -> bool:
    """Return whether a member with the name of one of Baton's ids holds something else, as JSON of tools may."""
    return (
        isinstance(value, dict)
        and name not in OWN_NAMES
        and not (isinstance(member, str) and ID_FORM.fullmatch(member))
    )


def _list_members(value: Any) -> Mapping[str, Any]:
    """Return the members of an object by their names; nothing for numbers, times and the like."""
    if isinstance(value, dict):
        return value
    if isinstance(value, BaseModel):
        return {**value.__dict__, **(value.__pydantic_extra__ or {})}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return {}


def _list_number_texts(name: str, value: Any) -> Sequence[str]:
    """Return texts in which a detector can recognise the number ``value`` of a member; none for a short number.

    The member's name comes first: a row of digits alone is seldom recognised. A number with the name of a telephone
    number is also written as an international one, whose ``+`` numbers of JSON cannot have.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or name in OWN_NUMBERS:
        return ()
    if not abs(value) < 10**MAX_DIGITS:
        return ()
    whole = isinstance(value, int) or value.is_integer()
    digits = str(abs(int(value))) if whole else repr(abs(value))
    if not SHORTEST_NUMBER <= sum(digit.isdigit() for digit in digits) <= MAX_DIGITS:
        return ()
    words = _WORDS.sub(" ", name)
    plain = f"{words}: {digits}"
    return (plain, f"{words}: +{digits}") if _PHONE.search(words) else (plain,)


def _redact_number(name: str, value: Any, clean: Mapping[str, str]) -> Any:
    """Return the number, or its placeholder if one of its texts is in ``clean``, which has the redacted texts."""
    for text in _list_number_texts(name, value):
        if text in clean:
            redacted = clean[text].rpartition(": ")[2]
            # Without a placeholder in it, the personal data is in the member's name.
            return redacted if "[" in redacted else value
    return value
