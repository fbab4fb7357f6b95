"""Baton's extension of A2A: the conversation, user and run of a message, and handoffs of the conversation.

An A2A message's ``metadata`` holds these values under the extension's URI, as A2A asks of extensions, and again as
plain keys for agents that do not read extensions:

- ``thread_id``, ``tenant_id``, ``user_id``, ``parent_task_id``: with every message; ``time_zone`` if it is known.
- ``handoff``: with the message that hands a conversation over (``domain.handoffs.handoff.HandoffRequest.as_a2a``).

An agent hands the conversation back with ``{"return": {"summary": "...", "outcome": "completed"}}`` in the metadata of
its last message, of the status that ends its answer, or of its task: under the URI, or as a plain key.

An agent of Baton names the documents that an answer uses in the metadata of the answer's artifact: ``sources`` are the
documents that the text cites, with the numbers of the citations, and ``consulted`` are the documents that the agent
has read but does not cite.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
from google.protobuf.struct_pb2 import Struct  # type: ignore[import-untyped]

from baton.domain.documents.numbered_passages import CONSULTED, DOCUMENT_SOURCE, drop_citation
from baton.domain.handoffs.handoff import MAX_SUMMARY
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.domain.web_url import is_web_url
from baton.ports.agents.agent_client import AgentReport, AgentTask

MAX_OUTCOME = 200
"""The length to which the outcome in an agent's report is cut, in characters."""
MAX_NUMBER = 1_000_000
"""The exclusive upper bound of page and passage numbers. Other numbers are ignored."""
_TEXT_FIELDS = ("id", "title", "section", "chunk", "excerpt")


def make_conversation_metadata(task: AgentTask) -> dict[str, Any]:
    """Return the metadata of the message for ``task``. Keys are in snake case, as in all metadata of A2A."""
    conversation: dict[str, Any] = {
        "thread_id": task.thread_id,
        "tenant_id": task.scope.tenant_id,
        "user_id": task.scope.user_id,
        "parent_task_id": task.parent_task_id,
    }
    if task.time_zone is not None:
        conversation["time_zone"] = task.time_zone
    if task.handoff is not None:
        recent = [{"role": role, "content": text} for role, text in task.handoff.recent_messages]
        conversation["handoff"] = task.handoff.request.as_a2a(recent)
    return {**conversation, EXTENSION_URI: conversation}


def read_report(metadata: Struct) -> AgentReport | None:
    """Return the report with which an agent hands the conversation back; None without a valid report.

    Fields that are missing or no text are empty. Long ones are cut.
    """
    members = MessageToDict(metadata)
    for parent in (members.get(EXTENSION_URI), members):
        report = parent.get("return") if isinstance(parent, dict) else None
        if isinstance(report, dict):
            return AgentReport(_read_text(report, "summary")[:MAX_SUMMARY], _read_text(report, "outcome")[:MAX_OUTCOME])
    return None


def read_documents(metadata: Struct) -> list[dict[str, Any]]:
    """Return the documents that an answer of another deployment of Baton cites, then those that were only consulted."""
    members = MessageToDict(metadata).get(EXTENSION_URI)
    cited, consulted = (
        _read_sources(members.get(name)) if isinstance(members, dict) else [] for name in ("sources", "consulted")
    )
    return [*cited, *({**drop_citation(document), CONSULTED: True} for document in consulted)]


def _read_sources(value: Any) -> list[dict[str, Any]]:
    """Return the documents in a list of sources. Entries of another form are left out."""
    return [
        _to_document(source)
        for source in (value if isinstance(value, list) else ())
        if isinstance(source, dict) and source.get("kind") == DOCUMENT_SOURCE and isinstance(source.get("id"), str)
    ]


def _to_document(source: dict[str, Any]) -> dict[str, Any]:
    """Return a document with the fields that sources have: texts, whole numbers, and an address of a web page."""
    texts = {name: text for name in _TEXT_FIELDS if isinstance(text := source.get(name), str)}
    numbers = {
        name: int(number)
        for name in ("page", "number")
        if isinstance(number := source.get(name), int | float) and 0 < number < MAX_NUMBER
    }
    url = source.get("url")
    fields = {"kind": DOCUMENT_SOURCE, "score": None, "section": None, "page": None, **texts, **numbers}
    return {**fields, "url": url if isinstance(url, str) and is_web_url(url) else None}


def _read_text(report: dict[str, Any], key: str) -> str:
    """Return a text of the report, without white space at its ends; empty if it is missing or no text."""
    value = report.get(key)
    return value.strip() if isinstance(value, str) else ""
