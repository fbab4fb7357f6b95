"""The console's requests to the API, and the permissions that each needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from baton.domain.tenants.identity import Permission

READ_ALL, INSPECT = Permission.THREAD_READ_ALL, Permission.CONTEXT_INSPECT
AUDIT, AGENTS, PROCEDURES = Permission.AUDIT_READ, Permission.AGENT_WRITE, Permission.PROCEDURE_APPROVE
DESK, DOCUMENTS, USERS, TENANT = (
    Permission.DESK_ANSWER,
    Permission.DOCUMENT_WRITE,
    Permission.USER_MANAGE,
    "tenant:manage",
)


@dataclass(frozen=True)
class Call:
    """One request. Its path is that of the API's description, without ``/v1``."""

    method: str
    path: str
    needs: tuple[str, ...] = ()
    """Each of them is needed. None: it shows what the caller's own token shows anyway."""
    query: str = ""
    body: Any = None
    if_match: str = ""
    is_there: bool = True
    """Whether the tenant of the tests has what it asks for."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _of_threads() -> Iterator[Call]:
    yield Call("GET", "/threads", (READ_ALL,), "scope=tenant")
    thread = "/threads/{thread_id}"
    parts = (
        "",
        "/messages",
        "/events",
        "/tool-calls",
        "/tasks",
        "/turns",
        "/handoffs",
        "/audit",
        "/branches",
        "/background",
    )
    for part in parts:
        yield Call("GET", f"{thread}{part}", (READ_ALL,))
    yield Call("DELETE", f"{thread}/background/{{task_id}}", (), is_there=False)  # only its user may
    yield Call("GET", f"{thread}/turns/{{run_id}}/context", (INSPECT, READ_ALL))
    yield Call("POST", f"{thread}/turns/{{run_id}}/rerun", (INSPECT, READ_ALL), body={})
    yield Call("POST", f"{thread}/sandbox", (READ_ALL,), body={"messageId": "m1"})
    yield Call("GET", "/overview", (READ_ALL,))
    yield Call("GET", "/workflows/completed", (READ_ALL,), "scope=tenant")
    yield Call("GET", "/audit", (AUDIT,))
    yield Call("GET", "/audit/export", (AUDIT,))


def _of_desks() -> Iterator[Call]:
    """The conversation waits at a desk; the requests are made in their order."""
    yield Call("GET", "/desk", (DESK,), "limit=10")
    yield Call("GET", "/desk/desks", (DESK,))
    yield Call("GET", "/desk/events", (DESK,))
    at_desk = "/threads/{thread_id}/desk"
    yield Call("GET", at_desk, (DESK,))
    yield Call("POST", f"{at_desk}/take", (DESK,), body={})
    yield Call("POST", f"{at_desk}/messages", (DESK,), body={"messageId": "p-1", "content": "Hello"})
    yield Call("POST", f"{at_desk}/notes", (DESK,), body={"messageId": "n-1", "text": "Wait."})
    yield Call("POST", f"{at_desk}/typing", (DESK,), body={})
    yield Call("POST", f"{at_desk}/draft", (DESK,), body={"kind": "reply"})
    yield Call("POST", f"{at_desk}/transfer", (DESK,), body={"deskId": "billing", "note": ""})
    yield Call("POST", f"{at_desk}/return", (DESK,), body={"note": ""})
    file = {"name": "a.pdf", "contentType": "application/pdf", "size": 4}
    yield Call("POST", "/threads/{thread_id}/files", (), body=file, is_there=False)  # nobody has taken it
    yield Call("POST", "/threads/{thread_id}/close", (), body={}, is_there=False)


def _of_agents() -> Iterator[Call]:
    agent = "/agents/{agent_id}"
    options = {"name": "Tutor", "description": "Helps.", "system_prompt": "Ask."}
    yield Call("PUT", agent, (AGENTS,), body=options, if_match='"999"')
    yield Call("GET", f"{agent}/versions", (AGENTS,))
    yield Call("GET", f"{agent}/versions/{{number}}", (AGENTS,))
    yield Call("POST", f"{agent}/rollback", (AGENTS,), body={"version": 1})
    yield Call("GET", f"{agent}/figures", (AGENTS,))
    yield Call("PUT", f"{agent}/share", (AGENTS,), body={"version": 1, "share": 10})
    yield Call("POST", f"{agent}/promote", (AGENTS,), body={"version": 1})
    yield Call("DELETE", f"{agent}/candidate", (AGENTS,))
    yield Call("DELETE", agent, (AGENTS,), if_match='"999"')
    # Everybody sees the agents they may talk to. Without the permission there are no prompts: see the test of that.
    yield Call("GET", "/agents")
    yield Call("GET", agent)


def _of_procedures() -> Iterator[Call]:
    """The procedure's fourth version is pending, the third approved, which everybody may read."""
    yield Call("GET", "/procedures", (PROCEDURES,), "status=pending")
    procedure, pending = "/agents/{agent_id}/procedures/{procedure_id}", "version=4"
    for part in ("", "/SKILL.md", "/source"):
        yield Call("GET", f"{procedure}{part}", (PROCEDURES,), pending)
    content = {"name": "Post", "description": "Post.", "triggers": ["post"], "steps": [{"text": "Post."}], "version": 4}
    yield Call("PUT", procedure, (PROCEDURES,), body=content, if_match='"4-pending"')
    yield Call("POST", f"{procedure}/approve", (PROCEDURES,), body={"version": 4})
    yield Call("POST", f"{procedure}/reject", (PROCEDURES,), body={"version": 4, "reason": "No."})
    yield Call("DELETE", procedure, (PROCEDURES,), pending, if_match='"4-pending"')
    yield Call("GET", "/procedures", (PROCEDURES,), "status=offered")
    skill = {"userId": "ada", "version": 1}
    yield Call("POST", f"{procedure}/share", (PROCEDURES,), body=skill, is_there=False)
    yield Call("POST", f"{procedure}/decline", (PROCEDURES,), body={**skill, "reason": "No."}, is_there=False)
    yield Call("POST", f"{procedure}/offer", (), is_there=False)
    yield Call("DELETE", f"{procedure}/offer", (), is_there=False)
    yield Call("GET", "/skills", (), "scope=user")
    yield Call("POST", "/agents/{agent_id}/procedures/match", (), body={"query": "post"})


def _of_documents() -> Iterator[Call]:
    documents, sources = "/agents/{agent_id}/documents", "/agents/{agent_id}/sources"
    yield Call("GET", documents, (DOCUMENTS,))
    yield Call("GET", f"{documents}/{{document_id}}", (DOCUMENTS,))
    file = {"title": "Limits", "name": "limits.pdf", "contentType": "application/pdf", "size": 4}
    yield Call("POST", documents, (DOCUMENTS,), body=file)
    yield Call("DELETE", f"{documents}/{{document_id}}", (DOCUMENTS,))
    yield Call("GET", "/agents/{agent_id}/libraries", (DOCUMENTS,))
    yield Call("GET", "/agents/{agent_id}/libraries/{library}/documents", (DOCUMENTS,))
    yield Call("GET", sources, (DOCUMENTS,))
    yield Call("POST", sources, (DOCUMENTS,), body={"kind": "sitemap", "url": "https://example.com/sitemap.xml"})
    yield Call("POST", f"{sources}/{{source_id}}/refresh", (DOCUMENTS,), body={})
    yield Call("DELETE", f"{sources}/{{source_id}}", (DOCUMENTS,))
    # What a turn of the caller's own would find.
    yield Call("POST", "/agents/{agent_id}/knowledge/search", (), body={"query": "limits", "limit": 10})


def _of_administration() -> Iterator[Call]:
    yield Call("GET", "/users/me")
    yield Call("GET", "/users/{user_id}/export", (USERS,))
    yield Call("GET", "/forget-requests/{request_id}", (USERS,))
    yield Call("GET", "/retention", (USERS,))
    yield Call("PUT", "/retention", (USERS,), body={"threads": 30})
    yield Call("GET", "/usage", (TENANT,))
    yield Call("GET", "/tenant/limits", (TENANT,))
    yield Call("PUT", "/tenant/limits", (TENANT,), body={})
    yield Call("GET", "/schedules", ("schedule:manage",), "scope=tenant")
    yield Call("PATCH", "/schedules/{schedule_id}", ("schedule:manage",), "userId=ada", body={"paused": True})
    yield Call("DELETE", "/schedules/{schedule_id}", ("schedule:manage",), "userId=ada")
    yield Call("GET", "/webhooks/deliveries", (TENANT,), "status=dead")
    yield Call("POST", "/webhooks/deliveries/{delivery_id}/redeliver", (TENANT,))
    yield Call("DELETE", "/users/{user_id}/memory", (USERS,))


CALLS = (*_of_threads(), *_of_desks(), *_of_agents(), *_of_procedures(), *_of_documents(), *_of_administration())
"""Those of views that are not there yet ask for nothing."""
