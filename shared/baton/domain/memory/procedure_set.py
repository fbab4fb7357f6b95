"""The approved procedures that an agent may follow, indexed by their triggers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from baton.concurrency.tasks import check_cancelled
from baton.domain.handoffs.triggers import (
    GAP,
    MAX_PATTERN_SIZE,
    MAX_TEXT,
    Specificity,
    is_phrase,
    make_loosest_pattern,
    matches,
    measure_specificity,
    normalise,
    split_into_sentences,
    split_phrase,
)
from baton.domain.memory.private_skill import IN_USE
from baton.domain.memory.procedure import Procedure, ProcedureScope, ProcedureStatus
from baton.domain.patterns import compile_pattern

CHUNK = 32
"""Patterns that are searched for together. Larger chunks are faster until one of them matches."""
CHUNK_MEMORY = 8 << 20
"""Bytes of the compiled patterns of a chunk."""
INDEX_WORK = 400_000_000
"""The most instructions of all patterns times searched characters of a message. This much work takes a second where re2
runs out of states. For 200 patterns of 100 instructions, all of the longest message is searched."""

_Places = Mapping[str, Sequence[int]]
"""The positions of a message's words, numbered so that words of two sentences are too far apart for a phrase."""


class TriggerIndex:
    """An index of triggers that were validated before.

    A phrase is tried only if its first word is in the message, and only at the positions of its words. Patterns are
    first searched in chunks, without regard to word borders; ``triggers.matches`` then checks each candidate.
    """

    def __init__(self, triggers: Iterable[str]) -> None:
        self._phrases: defaultdict[str, list[tuple[str, Sequence[str]]]] = defaultdict(list)
        patterns: list[str] = []
        for trigger in dict.fromkeys(triggers):
            if is_phrase(trigger):
                words = split_phrase(trigger)
                self._phrases[words[0]].append((trigger, words))
            else:
                patterns.append(trigger)
        self._chunks = [_Chunk(patterns[start : start + CHUNK]) for start in range(0, len(patterns), CHUNK)]
        self.searched = min(MAX_TEXT, INDEX_WORK // max(1, sum(chunk.size for chunk in self._chunks)))
        """Characters of a message that are searched for patterns."""

    def find(self, text: str) -> dict[str, Specificity]:
        """Return the triggers that a message matches, each with its specificity for the message."""
        places = _find_positions(text[:MAX_TEXT])
        triggers = [
            trigger for word in places for trigger, words in self._phrases.get(word, ()) if _are_in_order(words, places)
        ]
        beginning = text[: self.searched]
        plain = normalise(beginning)
        for chunk in self._chunks:
            check_cancelled()
            triggers += [trigger for trigger in chunk.find_candidates(plain) if matches(trigger, beginning)]
        return {trigger: measure_specificity(trigger, beginning) for trigger in triggers}


class _Chunk:
    """Patterns that are first searched for together."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._together = _compile(patterns)
        self.size = self._together.programsize if self._together is not None else MAX_PATTERN_SIZE * len(patterns)
        self._alone: list[Any] | None = None
        """The patterns one by one, which are compiled when a message first matches the chunk."""

    def find_candidates(self, plain: str) -> list[str]:
        """Return the patterns that a message may match. Patterns that re2 could not compile here are included."""
        if self._together is not None and self._together.search(plain) is None:
            return []
        if self._alone is None:
            self._alone = [_compile([pattern]) for pattern in self._patterns]
        return [
            pattern
            for pattern, alone in zip(self._patterns, self._alone, strict=True)
            if alone is None or alone.search(plain) is not None
        ]


def _compile(patterns: Sequence[str]) -> Any:
    """Return the patterns compiled as one, or None if the result is too large or re2 cannot join them."""
    try:
        loose = "|".join(f"(?:{make_loosest_pattern(pattern)})" for pattern in patterns)
        return compile_pattern(loose, ignores_case=True, max_memory=CHUNK_MEMORY)
    except ValueError:
        return None


def _find_positions(text: str) -> _Places:
    """Return the positions of each word. A gap separates sentences, so that no phrase spans two of them."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    index = 0
    for sentence in split_into_sentences(text):
        for word in sentence:
            places[word].append(index)
            index += 1
        index += GAP + 1
    return places


def _are_in_order(words: Sequence[str], places: _Places) -> bool:
    """Return whether the words occur in order, with at most ``GAP`` others between two of them."""
    ends = set(places[words[0]])
    for word in words[1:]:
        ends = {index for index in places.get(word, ()) if any(index - step in ends for step in range(1, GAP + 2))}
        if not ends:
            return False
    return True


@dataclass(frozen=True, slots=True)
class TriggeredProcedure:
    """A procedure that a message asks for, and its most specific trigger."""

    procedure: Procedure
    trigger: str
    specificity: Specificity


class ProcedureSet:
    """The approved procedures and private skills among the given ones. All others are left out."""

    def __init__(self, procedures: Iterable[Procedure] = ()) -> None:
        self.procedures = tuple(procedure for procedure in procedures if _is_followed(procedure))
        self._skills: ProcedureSet | None = None
        self._by_trigger: defaultdict[str, list[int]] = defaultdict(list)
        for index, procedure in enumerate(self.procedures):
            for trigger in procedure.draft.triggers:
                self._by_trigger[trigger].append(index)
        self._index = TriggerIndex(self._by_trigger)

    def with_skills(self, skills: Iterable[Procedure]) -> ProcedureSet:
        """Return a set that has a user's private skills too. It shares the index of this one."""
        own = ProcedureSet(skill for skill in skills if skill.scope is ProcedureScope.USER)
        if not own.procedures:
            return self
        combined = copy(self)
        combined.procedures = (*self.procedures, *own.procedures)
        combined._skills = own
        return combined

    @property
    def triggers(self) -> int:
        """The number of different triggers that a message is compared with."""
        return len(self._by_trigger) + (self._skills.triggers if self._skills is not None else 0)

    def find_triggered(self, text: str) -> list[TriggeredProcedure]:
        """Return the procedures that a message asks for, the one to follow first.

        Approved procedures come before private skills. Within each group, they are sorted by the most specific
        trigger, the scope (the agent's before the tenant's), the latest approval, and the id.
        """
        best: dict[int, tuple[Specificity, str]] = {}
        for trigger, trigger_specificity in self._index.find(text).items():
            match = (trigger_specificity, trigger)
            for index in self._by_trigger[trigger]:
                best[index] = max(best.get(index, match), match)
        procedures = [
            TriggeredProcedure(self.procedures[index], trigger, specificity)
            for index, (specificity, trigger) in best.items()
        ]
        skills = self._skills.find_triggered(text) if self._skills is not None else []
        return [*sorted(procedures, key=_make_sort_key), *skills]


def _is_followed(procedure: Procedure) -> bool:
    if procedure.scope is ProcedureScope.USER:
        return procedure.status in IN_USE
    return procedure.status is ProcedureStatus.APPROVED


def _make_sort_key(triggered_procedure: TriggeredProcedure) -> tuple[object, ...]:
    words, characters = triggered_procedure.specificity
    procedure = triggered_procedure.procedure
    approved_at = (procedure.decided_at or procedure.created_at).timestamp()
    return -words, -characters, procedure.scope is ProcedureScope.TENANT, -approved_at, procedure.id
