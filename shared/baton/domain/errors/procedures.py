"""Procedures that do not exist or cannot be changed."""

from __future__ import annotations

from baton.domain.errors.base import BatonError


class UnknownProcedure(BatonError):
    """There is no procedure with this id, or no such version of it."""

    code, status, retryable = "unknown_procedure", 404, False
    title = "Unknown procedure"
    detail = "There is no such procedure. GET /v1/agents/{id}/procedures lists those of an agent."


class ProcedureChanged(BatonError):
    """A decision on a version that was decided on meanwhile, or a change of one that is not the newest."""

    code, status, retryable = "procedure_changed", 409, False
    title = "The procedure has changed"
    detail = "Somebody else has changed or decided on this version. Read the procedure again."


class ProcedureVersionMismatch(BatonError):
    """The version of a procedure is not what the caller takes it to be: somebody else has changed or decided on it."""

    code, status, retryable = "procedure_version_mismatch", 412, False
    title = "The procedure has changed"
    detail = "The procedure has changed since you read it: read it again and repeat your change."


class ProcedureNameTaken(BatonError):
    """A skill cannot be shared under the name of an approved procedure unless the caller decides to replace that."""

    code, status, retryable = "procedure_name_taken", 409, False
    title = "The name is taken"
    detail = "An approved procedure has this name."


class TooManyProcedures(BatonError):
    """An approval over the number of procedures that an agent, or a tenant's agents together, may have."""

    code, status, retryable = "too_many_procedures", 409, False
    title = "Too many procedures"
    detail = "There are as many approved procedures as there may be. Retire one first."
