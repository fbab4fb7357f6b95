"""The errors that callers get, one class a condition.

``code`` is stable and the same in RFC 9457 problem details and in AG-UI ``RUN_ERROR`` events; ``status`` is the HTTP
status; ``retryable`` says whether the same request may succeed later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

MAX_TOLD = 20
"""Problems of a definition that an error tells."""
MAX_PROBLEM = 500
"""Characters of each."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one field of what was sent."""

    field: str
    """Names of fields and places in lists, joined by full stops; empty: the whole."""
    message: str
    line: int | None = None
    """Of a text that was sent, from 1."""
    place: tuple[str | int, ...] = ()
    """The parts of ``field``."""

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line is not None and not self.field else self.field
        return f"{where}: {self.message}" if where else self.message


class BatonError(Exception):
    """Base of every error that callers get. ``detail`` says what the caller can do."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = True
    title: ClassVar[str] = "Something went wrong on our side"
    detail: str = "The request could not be completed. Please try again."
    problems: Sequence[FieldProblem] = ()
    """What is wrong with which fields, where the error is about more than one."""

    def __init__(self, detail: str | None = None, *, permission: str | None = None, action: str | None = None) -> None:
        """``permission`` is the missing one and ``action`` the refused action, for the audit."""
        if detail is not None:
            self.detail = detail
        self.permission = permission
        self.action = action
        super().__init__(self.detail)


class InternalError(BatonError):
    """A fault of Baton itself; the cause is in the log under the request id."""


# The request


class InvalidRequest(BatonError):
    """The request does not have the shape that the protocol requires."""

    code, status, retryable = "invalid_request", 422, False
    title = "The request is not valid"
    detail = "The request does not have the expected shape."


class MalformedJson(BatonError):
    """The body or frame is not a JSON object."""

    code, status, retryable = "malformed_json", 400, False
    title = "The request is not JSON"
    detail = "Send one JSON object, encoded as UTF-8."


class UnknownAction(BatonError):
    """A WebSocket frame names an action that does not exist."""

    code, status, retryable = "unknown_action", 400, False
    title = "Unknown action"
    detail = "This action does not exist."


class MessageTooLarge(BatonError):
    """A frame over 28 KB, or a body over 1 MiB."""

    code, status, retryable = "message_too_large", 413, False
    title = "The message is too large"
    detail = "Send at most 28 KB over WebSocket and 1 MiB over HTTP, or upload the content as a file."


class UnsupportedPart(BatonError):
    """A content part that Baton does not accept (audio, video, a foreign file handle)."""

    code, status, retryable = "unsupported_part", 422, False
    title = "Unsupported content part"
    detail = "Text, image and document parts are accepted; audio and video are not."


class InvalidSequence(BatonError):
    """A resume after a sequence number that the thread has not reached."""

    code, status, retryable = "invalid_sequence", 422, False
    title = "The sequence number is not valid"
    detail = "`after` lies beyond the last event of this conversation. Resume with after=0."


class NotFound(BatonError):
    """A path or object that does not exist, where saying so reveals nothing."""

    code, status, retryable = "not_found", 404, False
    title = "Not found"
    detail = "There is nothing at this address."


class MethodNotAllowed(BatonError):
    """The path exists, the method does not."""

    code, status, retryable = "method_not_allowed", 405, False
    title = "Method not allowed"
    detail = "This address does not take that method."


# The caller


class Unauthorized(BatonError):
    """No token, or an invalid one."""

    code, status, retryable = "unauthorized", 401, False
    title = "Not signed in"
    detail = "Send a valid bearer token."


class TokenExpired(Unauthorized):
    """A valid token that has expired."""

    code = "token_expired"
    title = "The token has expired"
    detail = "Get a new token and connect again."


class Forbidden(BatonError):
    """A permission is missing."""

    code, status, retryable = "forbidden", 403, False
    title = "Not permitted"
    detail = "You do not have the permission this needs."


class OriginRefused(BatonError):
    """A web page of an origin that is not allowed has sent the request. It guards MCP against rebound host names."""

    code, status, retryable = "origin_refused", 403, False
    title = "Web page not permitted"
    detail = "Pages of this origin may not call this address. The operator allows origins in BATON_ALLOWED_ORIGINS."


class UnknownAgent(BatonError):
    """There is no agent with this id for conversations, or the caller may not see it."""

    code, status, retryable = "unknown_agent", 404, False
    title = "Unknown agent"
    detail = "There is no such agent. GET /v1/agents lists those you can talk to."


class UnknownAgentVersion(BatonError):
    """A tenant's agent has no such version, or the caller lacks a permission of that version."""

    code, status, retryable = "unknown_agent_version", 404, False
    title = "Unknown version"
    detail = "This agent has no such version."


class InvalidAgent(BatonError):
    """The definition of an agent breaks a rule. The first ``MAX_TOLD`` problems are told."""

    code, status, retryable = "invalid_agent", 422, False
    title = "The agent is not valid"
    detail = "The definition of the agent is not valid."

    def __init__(self, problems: Sequence[FieldProblem] | str | None = None) -> None:
        if problems is None or isinstance(problems, str):
            super().__init__(problems)
            return
        self._found = tuple(problems)
        self.problems = tuple(replace(each, message=each.message[:MAX_PROBLEM]) for each in self._found[:MAX_TOLD])
        parts = [str(each)[:MAX_PROBLEM].rstrip(".") for each in self.problems]
        if len(problems) > len(self.problems):
            parts.append(f"and {len(problems) - len(self.problems)} more")
        super().__init__("; ".join(parts) + ".")

    def at_lines(self, line_of: Callable[[Sequence[str | int]], int]) -> Self:
        """Return the error with the line of each problem, for a definition that was sent as a text."""
        if not self.problems:
            return self
        told, rest = self._found[:MAX_TOLD], self._found[MAX_TOLD:]
        return type(self)([*(replace(each, line=line_of(each.place)) if each.place else each for each in told), *rest])


class AgentIdTaken(BatonError):
    """The id belongs to an agent that ships with the deployment."""

    code, status, retryable = "agent_id_taken", 409, False
    title = "The agent ships with the deployment"
    detail = "This id belongs to an agent that ships with the deployment, which cannot be changed here. Choose another."


class AgentInUse(BatonError):
    """The agent cannot be deleted while others refer to it, or it has documents, sources or procedures."""

    code, status, retryable = "agent_in_use", 409, False
    title = "The agent is in use"
    detail = "Other agents hand over to it or ask it: change them first."


class AgentLimitReached(BatonError):
    """The tenant has as many agents, or as long definitions, as it may have."""

    code, status, retryable = "agent_limit_reached", 409, False
    title = "Too many agents"
    detail = "Delete agents that are not needed, or shorten their definitions."


class LimitReached(BatonError):
    """The tenant has as much of something as its limits allow."""

    code, status, retryable = "limit_reached", 409, False
    title = "A limit is reached"
    detail = "A limit of your organisation is reached. Its administrators can raise it."


class LimitsChanged(BatonError):
    """The tenant's limits are not what the caller takes them to be: somebody else has changed them."""

    code, status, retryable = "limits_changed", 412, False
    title = "The limits have changed"
    detail = "The limits have changed since you read them: read them again and repeat your change."


class AgentVersionMismatch(BatonError):
    """The agent is not what the caller takes it to be: somebody else has changed it."""

    code, status, retryable = "agent_version_mismatch", 412, False
    title = "The agent has changed"
    detail = "The agent has changed since you read it: read it again and repeat your change."


class ThreadUnavailable(BatonError):
    """The thread is another tenant's, another user's or, for reads, unknown. The caller cannot tell which."""

    code, status, retryable = "thread_unavailable", 404, False
    title = "Conversation not available"
    detail = "This conversation is not available to you. Please start a new one."

    def __init__(self, detail: str | None = None, *, is_unused: bool = False) -> None:
        """``is_unused``: no tenant has such a thread. It is for the audit; the caller never learns it."""
        super().__init__(detail)
        self.is_unused = is_unused

    @property
    def audited_as(self) -> str:
        """The outcome in the audit. A request for an unused id is no attempt at another user's thread."""
        return "not_found" if self.is_unused else "denied"


# The state of the conversation


class MessageIdConflict(BatonError):
    """The message id was used before with other content."""

    code, status, retryable = "message_id_conflict", 409, False
    title = "The message id is taken"
    detail = "This messageId was used before with other content. Give every message its own id."


class AgentMismatch(BatonError):
    """A later message names another main agent than the thread's."""

    code, status, retryable = "agent_mismatch", 409, False
    title = "The conversation belongs to another agent"
    detail = "Leave agentId out, or start a new conversation with the other agent."


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


class TooManyProcedures(BatonError):
    """An approval over the number of procedures that an agent, or a tenant's agents together, may have."""

    code, status, retryable = "too_many_procedures", 409, False
    title = "Too many procedures"
    detail = "There are as many approved procedures as there may be. Retire one first."


class InterruptUnavailable(BatonError):
    """An answer to an interrupt that is not open: unknown, cancelled by a message, or already answered."""

    code, status, retryable = "interrupt_unavailable", 409, False
    title = "Nothing waits for this answer"
    detail = "There is no open interrupt with this id. The conversation may have gone on without it."


class ToolNameTaken(BatonError):
    """A client's tool with the name of one of the agent's own tools."""

    code, status, retryable = "tool_name_taken", 409, False
    title = "The agent has a tool of this name"
    detail = "A tool that the client offers has the name of one of the agent's own. Offer it under another name."


class NotInHandoff(BatonError):
    """An exit while the main agent is active."""

    code, status, retryable = "not_in_handoff", 409, False
    title = "No specialist to leave"
    detail = "This conversation is with its main agent already; there is nothing to leave."


class HandoffInProgress(BatonError):
    """A request to continue a workflow while a specialist is active."""

    code, status, retryable = "handoff_in_progress", 409, False
    title = "Another session is in progress"
    detail = "The conversation is with a specialist. Finish that first, or leave it with exit."


class ImportConflict(BatonError):
    """An import under the id of a conversation that exists, and was not imported with the same messages."""

    code, status, retryable = "import_conflict", 409, False
    title = "The conversation exists already"
    detail = "A conversation with this sessionId exists, with other messages. Import under another sessionId."


class ThreadLed(BatonError):
    """A message to a fork that a handoff has created."""

    code, status, retryable = "thread_led_by_parent", 409, False
    title = "This conversation is led by another one"
    detail = "It goes on by what is said in its parent (parentThreadId). Write there; this one can be read."


class NotAFork(BatonError):
    """A conversation to merge that was not branched from another one."""

    code, status, retryable = "not_a_fork", 409, False
    title = "Not a fork"
    detail = "This conversation was not branched from another one, so there is none to merge it into."


class NothingToMerge(BatonError):
    """A fork to merge in which no agent has said anything."""

    code, status, retryable = "nothing_to_merge", 409, False
    title = "Nothing to merge"
    detail = "Nothing has been answered in this fork yet. Send it a message first."


class ApprovalsWaiting(BatonError):
    """A merge into a conversation that waits for answers to its interrupts."""

    code, status, retryable = "approvals_waiting", 409, False
    title = "Approvals are waiting"
    detail = "The parent conversation waits for answers to its interrupts. Answer them first, then merge again."


class BranchUnavailable(BatonError):
    """A branch that is to begin at a message that the thread does not have, or to be selected and does not exist."""

    code, status, retryable = "branch_unavailable", 404, False
    title = "No such branch"
    detail = "This conversation has no such branch or user message. GET /v1/threads/{id}/branches lists its branches."


class TooManyBranches(BatonError):
    """A thread with as many branches as its item holds."""

    code, status, retryable = "too_many_branches", 409, False
    title = "Too many branches"
    detail = "This conversation has as many branches as one can have. It can go on; fork it to try more alternatives."


class BranchCrossesHandoff(BatonError):
    """A branch from a point at which a specialist was active whose work there cannot be taken up again."""

    code, status, retryable = "branch_crosses_handoff", 409, False
    title = "A handoff is in between"
    detail = (
        "A specialist was active at this point of the conversation, and its work has gone on since. Begin at a message"
        " from before the handoff."
    )


class RunInProgress(BatonError):
    """A branch that is to be selected while the thread is answering."""

    code, status, retryable = "run_in_progress", 409, False
    title = "An answer is in progress"
    detail = "This conversation is answering a message. Wait for the answer, or cancel it, then select the branch."


class RerunUnavailable(BatonError):
    """A turn that a dry run cannot answer again. ``detail`` says why."""

    code, status, retryable = "rerun_unavailable", 409, False
    title = "This turn cannot be run again"
    detail = "A dry run answers turns that began with a message and have ended."


class ModelNotOffered(BatonError):
    """A dry run asks for a model that the deployment does not use."""

    code, status, retryable = "model_not_offered", 422, False
    title = "This model is not offered"
    detail = "Name a model of the settings or of an agent's definition."


class WorkflowUnavailable(BatonError):
    """A request to continue a workflow that does not exist, is finished or has expired."""

    code, status, retryable = "workflow_unavailable", 409, False
    title = "The workflow cannot be continued"
    detail = "There is no unfinished workflow with this id. GET /v1/workflows lists those you can continue."


class ThreadBusy(BatonError):
    """Another turn of the thread was running until this one stopped waiting."""

    code, status, retryable = "thread_busy", 503, True
    title = "The conversation is busy"
    detail = "Another message is still being answered. Send this one again, with the same messageId."


class Interrupted(BatonError):
    """A run was ended after its workers failed repeatedly."""

    code, status, retryable = "interrupted", 502, True
    title = "The answer was interrupted"
    detail = "The answer could not be completed. Please send the message again under a new messageId."


class TurnTimeout(BatonError):
    """The turn exceeded its time limit. The answer so far is kept."""

    code, status, retryable = "turn_timeout", 504, True
    title = "The answer took too long"
    detail = "The answer took too long and was stopped. Please ask again, perhaps for less at once."


class LeaseLost(BatonError):
    """Another worker has taken the thread over. This one must stop and send nothing more."""

    code, status, retryable = "lease_lost", 503, True
    title = "The conversation was taken over"
    detail = "Another worker continues this run. Resume the conversation to follow it."


class RateLimited(BatonError):
    """More requests than the deployment's API Gateway accepts. It sends this answer itself, with Retry-After."""

    code, status, retryable = "rate_limited", 429, True
    title = "Too many requests"
    detail = "Please try again in a moment."


# Dependencies


class StoreUnavailable(BatonError):
    """The table, bucket or queue did not answer or throttled, and all retries failed."""

    code, status, retryable = "store_unavailable", 503, True
    title = "Storage is not available"
    detail = "Please try again in a moment, with the same messageId."


class SearchUnavailable(BatonError):
    """The search engine does not answer, or refuses."""

    code, status = "search_unavailable", 503
    title = "Search is not available"
    detail = "Search does not answer at the moment. Please try again."


class WrongDimension(SearchUnavailable):
    """A vector has another length than the index was made for: the embedding model was changed without a reindex."""

    code = "wrong_dimension"
    retryable = False
    detail = "The embedding model does not fit the search index. An operator has to reindex."


class DocumentUnreadable(BatonError):
    """No text can be extracted from a document. ``reason`` is a stable code, ``detail`` what the uploader can do."""

    code, status, retryable = "document_unreadable", 422, False
    title = "The document cannot be read"
    detail = "No text can be extracted from this document. Save it anew, or in another format, and upload it again."

    def __init__(self, detail: str | None = None, *, reason: str = code) -> None:
        super().__init__(detail)
        self.reason = reason


class UnknownDocument(BatonError):
    """The agent has no document with this id, or it has been deleted."""

    code, status, retryable = "unknown_document", 404, False
    title = "Unknown document"
    detail = "This agent has no such document. GET /v1/agents/{agentId}/documents lists its documents."


class UnsupportedDocument(BatonError):
    """A document of a type that no text is extracted from."""

    code, status, retryable = "unsupported_document", 422, False
    title = "Unsupported type of document"
    detail = "Documents of this type cannot be read."


class DocumentTooLarge(BatonError):
    """A document over 50 MB."""

    code, status, retryable = "document_too_large", 413, False
    title = "The document is too large"
    detail = "A document may have at most 50 MB (52,428,800 bytes)."


class DocumentBusy(BatonError):
    """The document is being deleted, or other requests change it at the same time."""

    code, status, retryable = "document_busy", 409, False
    title = "The document is being changed"
    detail = "This document is being deleted or changed by another request. Please try again in a minute."


class DocumentOfSource(BatonError):
    """A change to a document that a source keeps up to date."""

    code, status, retryable = "document_of_source", 409, False
    title = "The document belongs to a source"
    detail = "A source keeps this document up to date. Change the page that it was read from, or delete the source."


class UnknownSource(BatonError):
    """The agent has no source with this id, or it has been deleted."""

    code, status, retryable = "unknown_source", 404, False
    title = "Unknown source"
    detail = "This agent has no such source. GET /v1/agents/{agentId}/sources lists its sources."


class SourceConflict(BatonError):
    """A source under the id of another one, or of one that is being deleted."""

    code, status, retryable = "source_conflict", 409, False
    title = "The source exists already"
    detail = "Another source has this sourceId, or is being deleted. Choose another id, or none."


class SourceRefused(BatonError):
    """A source that this deployment does not allow: a host or a prefix that is not on its lists."""

    code, status, retryable = "source_refused", 422, False
    title = "The source is not allowed"
    detail = "This deployment does not allow the addresses of this source."


class EmbedderUnavailable(BatonError):
    """The embedding model does not answer, or answers with something that is no embedding."""

    code, status = "embedder_unavailable", 503
    title = "The embedding model is not available"
    detail = "The embedding model does not answer at the moment. Please try again."


class PiiDetectorUnavailable(BatonError):
    """The detector of personal data does not answer, or refuses."""

    code, status, retryable = "pii_detector_unavailable", 503, True
    title = "The detector of personal data is not available"
    detail = "Personal data cannot be recognised at the moment. Please try again."


class ModelError(BatonError):
    """The model gave no answer. ``POST /v1/messages`` returns each of these errors as a 502 problem."""

    code, status, retryable = "model_error", 502, True
    title = "The model failed"
    detail = "The model could not answer. Please try again."


class ModelRateLimited(ModelError):
    """HTTP 429 from the model after all retries."""

    code = "model_rate_limited"
    detail = "The model is receiving too many requests. Please try again in a moment."


class ModelTimeout(ModelError):
    """No answer, or no more of it, within the model's timeout."""

    code = "model_timeout"
    detail = "The model took too long to answer. Please try again."


class ModelUnavailable(ModelError):
    """No connection, or a 5xx, after all retries."""

    code = "model_unavailable"
    detail = "The model cannot be reached at the moment. Please try again."


class ModelRefused(ModelError):
    """A 4xx other than 429: wrong key, unknown model, an invalid request."""

    code, retryable = "model_refused", False
    detail = "The model did not accept the request. Ask the operator to check the model's name, address and key."


class AgentUnavailable(ModelError):
    """A remote specialist did not answer a message."""

    code = "agent_unavailable"
    title = "The agent did not answer"
    detail = "The agent cannot be reached at the moment. Please try again, or leave it with exit."


class ContentFiltered(ModelError):
    """The model's content filter stopped the question or the answer."""

    code, retryable = "content_filtered", False
    detail = "The model's content filter stopped this answer. Please put the question differently."


def error_classes() -> list[type[BatonError]]:
    """Return every error class, for the reference page and for mapping a stored ``code`` back."""
    found: list[type[BatonError]] = []
    queue: list[type[BatonError]] = [BatonError]
    while queue:
        cls = queue.pop()
        found.append(cls)
        queue.extend(cls.__subclasses__())
    return sorted(found, key=lambda c: c.code)


def error_from_code(code: str, detail: str | None = None) -> BatonError:
    """Return the error of a stored outcome. An unknown code becomes an ``InternalError``."""
    for cls in error_classes():
        if cls.code == code and cls is not BatonError:
            return cls(detail)
    return InternalError(detail)
