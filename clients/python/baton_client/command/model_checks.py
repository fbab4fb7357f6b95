"""``baton doctor --models``: what the deployment's models can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton_client.asynchronous.resources.models import CHECK_SECONDS
from baton_client.command.connection import Json
from baton_client.command.session import Session
from baton_client.errors import BatonError, NotFoundError, PermissionDeniedError
from baton_client.model_tables import format_report, is_usable

NEEDS = "Checks of models need the permission tenant:manage: ask for a token with it."
OLDER = "The server does not check models: it is older than this command."


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """The result of a check of one model."""

    name: str
    report: Json | None
    """The server's report; None if the check failed."""
    problem: str | None = None
    """The reason for a missing report."""

    @property
    def is_usable(self) -> bool:
        """True if the deployment can work with the model."""
        return self.report is not None and is_usable(self.report)

    @property
    def lines(self) -> list[str]:
        """The lines for a terminal."""
        return [f"{self.name}: not checked. {self.problem}"] if self.report is None else format_report(self.report)

    def to_json(self) -> Json:
        """Return the result as JSON, for programs."""
        return {"name": self.name, "ok": self.is_usable, "problem": self.problem, "report": self.report}


async def list_models(session: Session) -> list[Json]:
    """Return the models that can be checked. Raises ``BatonError``."""
    return list((await session.connection.get("/v1/models"))["items"])


def explain_missing_models(problem: BatonError) -> str | None:
    """Return what the user can do if the models cannot be listed; None if nothing is known."""
    if isinstance(problem, PermissionDeniedError):
        return NEEDS
    return OLDER if isinstance(problem, NotFoundError) else None


async def check_model(session: Session, model: Mapping[str, Any]) -> ModelCheck:
    """Check one model. A check that is refused or breaks off is a problem of its result, and stops no other check."""
    name = str(model["name"])
    session.output.note(f"Checking {name} ...")
    try:
        report = await session.connection.send(
            "POST", "/v1/models/check", {"model": name}, is_repeatable=False, read_seconds=CHECK_SECONDS
        )
    except BatonError as problem:
        return ModelCheck(name, None, str(problem))
    return ModelCheck(name, report)
