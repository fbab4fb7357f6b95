"""The report on the abilities of a deployment's models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue


class ModelKind(StrEnum):
    """The uses of a model."""

    CHAT = "chat"
    EMBEDDING = "embedding"


class ModelUse(StrEnum):
    """The deployment's own uses of a model."""

    CHAT = "chat"
    """The model of agents that name none."""
    LIGHT = "light"
    """Titles, summaries and similar work."""
    EMBEDDING = "embedding"
    """Search by meaning."""


class Ability(StrEnum):
    """The abilities that are tried."""

    TEXT = "text"
    TOOL_CALL = "tool_call"
    PARALLEL_CALLS = "parallel_calls"
    STRUCTURED_ANSWER = "structured_answer"
    IMAGE = "image"
    EMBEDDING = "embedding"


NEEDED = frozenset({Ability.TEXT, Ability.TOOL_CALL, Ability.EMBEDDING})
"""Abilities without which agents do not work. Others are worth a remark."""


@dataclass(frozen=True, slots=True)
class ConfiguredModel:
    """A model that the deployment's settings or its agents name."""

    name: str
    kind: ModelKind
    uses: tuple[ModelUse, ...] = ()
    agents: tuple[str, ...] = ()
    """The agents that ask it, whether they name it or leave the choice to the deployment."""
    fallback_of: tuple[str, ...] = ()
    """The agents that ask it when their own model is not available."""


@dataclass(frozen=True, slots=True)
class AbilityCheck:
    """The outcome of one trial."""

    ability: Ability
    works: bool | None
    """None if it was not tried, because a trial before it has failed."""
    remark: str | None = None
    """A remark, also where it works."""
    error: str | None = None
    """The code of the error that ended the trial."""
    reason: str | None = None
    """The words of the model's endpoint."""
    advice: str | None = None
    """The change to make."""
    dropped: tuple[str, ...] = ()
    """The settings and files that the model did not get; see ``Finished.dropped``."""


@dataclass(frozen=True, slots=True)
class ModelReport:
    """A model's abilities, and the changes to make."""

    model: ConfiguredModel
    checks: tuple[AbilityCheck, ...]
    learned: Mapping[str, JsonValue] = field(default_factory=dict)
    """Facts that refusals have taught, as ``BATON_MODEL_PROFILES`` takes them."""
    advice: tuple[str, ...] = ()
    """The changes after which nothing is dropped or learned again."""

    @property
    def works(self) -> bool:
        """True if agents can work with the model."""
        return all(check.works for check in self.checks if check.ability in NEEDED)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Everything that the model did not get in a trial."""
        return tuple(sorted({name for check in self.checks for name in check.dropped}))
