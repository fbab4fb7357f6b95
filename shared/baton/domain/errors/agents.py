"""Errors of agents and of their procedures, documents and sources: unknown, invalid or not to be changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Self

from baton.domain.errors.base import BatonError, FieldProblem

MAX_PROBLEMS = 20
"""Problems of a definition that an error lists."""
MAX_PROBLEM = 500
"""Characters of the message of each problem."""


class UnknownAgent(BatonError, code="unknown_agent", status=404, title="Unknown agent"):
    """There is no agent with this id for conversations, or the caller may not see it."""

    detail = "There is no such agent. GET /v1/agents lists those you can talk to."

    def __init__(self, detail: str | None = None, *, permission: str | None = None, is_visible: bool = False) -> None:
        """``permission``: the caller lacks it. ``is_visible``: the caller may know the agent."""
        super().__init__(detail, permission=permission)
        self.is_visible = is_visible

    @property
    def audited_as(self) -> str:
        """The outcome for the audit. Hidden and unknown agents are both audited, so that they take the same time."""
        return "denied" if self.permission is not None else "not_found"


class UnknownAgentVersion(BatonError, code="unknown_agent_version", status=404, title="Unknown version"):
    """A tenant's agent has no such version, or the caller lacks a permission of that version."""

    detail = "This agent has no such version."


class InvalidAgent(BatonError, code="invalid_agent", status=422, title="The agent is not valid"):
    """The definition of an agent breaks a rule. The first ``MAX_PROBLEMS`` problems are listed."""

    detail = "The definition of the agent is not valid."

    def __init__(self, problems: Sequence[FieldProblem] | str | None = None) -> None:
        if problems is None or isinstance(problems, str):
            super().__init__(problems)
            return
        self._all_problems = tuple(problems)
        self.problems = tuple(
            replace(problem, message=problem.message[:MAX_PROBLEM]) for problem in self._all_problems[:MAX_PROBLEMS]
        )
        parts = [str(problem)[:MAX_PROBLEM].rstrip(".") for problem in self.problems]
        if len(problems) > len(self.problems):
            parts.append(f"and {len(problems) - len(self.problems)} more")
        super().__init__("; ".join(parts) + ".")

    def at_lines(self, line_of: Callable[[Sequence[str | int]], int]) -> Self:
        """Return the error with the line of each problem, for a definition that was sent as a text."""
        if not self.problems:
            return self
        listed, rest = self._all_problems[:MAX_PROBLEMS], self._all_problems[MAX_PROBLEMS:]
        return type(self)(
            [
                *(replace(problem, line=line_of(problem.place)) if problem.place else problem for problem in listed),
                *rest,
            ]
        )


class EvaluationRequired(BatonError, code="evaluation_required", status=409, title="An evaluation is required"):
    """A version of an agent needs an evaluation that passed before it is used by more new sessions."""

    detail = "This version needs an evaluation that passed before it is used by more new sessions."


class AgentIdTaken(BatonError, code="agent_id_taken", status=409, title="The agent ships with the deployment"):
    """The id belongs to an agent that ships with the deployment."""

    detail = "This id belongs to an agent that ships with the deployment, which cannot be changed here. Choose another."


class AgentInUse(BatonError, code="agent_in_use", status=409, title="The agent is in use"):
    """The agent cannot be deleted while others refer to it, or it has documents, sources or procedures."""

    detail = "Other agents hand over to it or ask it: change them first."


class AgentLimitReached(BatonError, code="agent_limit_reached", status=409, title="Too many agents"):
    """The tenant has reached the limit of its agents or of the total length of their definitions."""

    detail = "Delete agents that are not needed, or shorten their definitions."


class AgentVersionMismatch(BatonError, code="agent_version_mismatch", status=412, title="The agent has changed"):
    """Somebody else has changed the agent since the caller read it."""

    detail = "The agent has changed since you read it: read it again and repeat your change."


class UnknownProcedure(BatonError, code="unknown_procedure", status=404, title="Unknown procedure"):
    """There is no procedure with this id, or no such version of it."""

    detail = "There is no such procedure. GET /v1/agents/{id}/procedures lists those of an agent."


class ProcedureChanged(BatonError, code="procedure_changed", status=409, title="The procedure has changed"):
    """A decision on a version that was decided on meanwhile, or a change of one that is not the newest."""

    detail = "Somebody else has changed or decided on this version. Read the procedure again."


class ProcedureVersionMismatch(
    BatonError, code="procedure_version_mismatch", status=412, title="The procedure has changed"
):
    """Somebody else has changed a version of a procedure, or decided on it, since the caller read it."""

    detail = "The procedure has changed since you read it: read it again and repeat your change."


class ProcedureNameTaken(BatonError, code="procedure_name_taken", status=409, title="The name is taken"):
    """A skill cannot be shared under the name of an approved procedure unless the caller decides to replace that."""

    detail = "An approved procedure has this name."


class TooManyProcedures(BatonError, code="too_many_procedures", status=409, title="Too many procedures"):
    """An approval over the number of procedures that an agent, or a tenant's agents together, may have."""

    detail = "The limit of approved procedures is reached. Retire one first."


class DocumentUnreadable(BatonError, code="document_unreadable", status=422, title="The document cannot be read"):
    """No text can be extracted from a document. ``reason`` is a stable code, ``detail`` advice for the uploader."""

    detail = "No text can be extracted from this document. Save it again, or in another format, and upload that file."

    def __init__(self, detail: str | None = None, *, reason: str = "document_unreadable") -> None:
        super().__init__(detail)
        self.reason = reason


class UnknownDocument(BatonError, code="unknown_document", status=404, title="Unknown document"):
    """The agent has no document with this id, or it has been deleted."""

    detail = "This agent has no such document. GET /v1/agents/{agentId}/documents lists its documents."


class UnknownLibrary(BatonError, code="unknown_library", status=404, title="Unknown library"):
    """The agent does not list a library of this name."""

    detail = "This agent has no such library. GET /v1/agents/{agentId}/libraries lists its libraries."


class UnsupportedDocument(BatonError, code="unsupported_document", status=422, title="Unsupported type of document"):
    """A document of a type from which no text can be extracted."""

    detail = "Documents of this type cannot be read."


class DocumentTooLarge(BatonError, code="document_too_large", status=413, title="The document is too large"):
    """A document over 50 MB."""

    detail = "A document may have at most 50 MB (52,428,800 bytes)."


class DocumentBusy(BatonError, code="document_busy", status=409, title="The document is being changed"):
    """The document is being deleted, or other requests change it at the same time."""

    detail = "This document is being deleted or changed by another request. Please try again in a minute."


class DocumentOfSource(BatonError, code="document_of_source", status=409, title="The document belongs to a source"):
    """A change to a document that a source keeps up to date."""

    detail = "A source keeps this document up to date. Change the page that it was read from, or delete the source."


class UnknownSource(BatonError, code="unknown_source", status=404, title="Unknown source"):
    """The agent has no source with this id, or it has been deleted."""

    detail = "This agent has no such source. GET /v1/agents/{agentId}/sources lists its sources."


class SourceConflict(BatonError, code="source_conflict", status=409, title="The source exists already"):
    """A source under the id of another one, or of one that is being deleted."""

    detail = "Another source has this sourceId, or is being deleted. Choose another id, or none."


class SourceRefused(BatonError, code="source_refused", status=422, title="The source is not allowed"):
    """A source that this deployment does not allow: a host or a prefix that is not on its lists."""

    detail = "This deployment does not allow the addresses of this source."
