"""Documents that come from a folder, by the API."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from typing import Any

import httpx

from baton.domain.errors import DocumentBusy
from baton.knowledge.document_rules import type_of
from baton_local.tokens import EmbedKey, TokenRequest

TENANT, USER = "demo", "documents-folder"
PERMISSIONS = ["document:write"]
REQUEST_SECONDS = 60.0
MAX_IDS = 20
"""How often a file may be removed and come back while what was removed is still being cleaned up."""


class NotTaken(Exception):
    """A file cannot become a document; the message says why."""


class FolderDocuments:
    """The documents of the tenant ``demo`` whose newest versions ``USER`` has uploaded."""

    def __init__(self, url: str, key: EmbedKey) -> None:
        self._url = url
        self._key = key

    def put(self, agent_id: str, place: str, body: bytes) -> str:
        """Store a file, unless it is there, and return the document's id. Raises ``NotTaken`` and ``httpx.HTTPError``.

        The id is that of ``baton apply``, so that changed content is a new version. A document that has been deleted
        keeps its id until it is cleaned up, for some minutes: a file that comes back meanwhile gets the next one.
        """
        name = place.rpartition("/")[2]
        content_type = type_of("", name)
        if content_type is None:
            raise NotTaken("its ending is of no kind of document: .pdf .docx .pptx .xlsx .html .md .txt .csv")
        asked = {
            "name": name,
            "contentType": content_type,
            "size": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        for document_id in _ids(agent_id, place):
            answer = self._send("POST", f"/v1/agents/{agent_id}/documents", json={**asked, "documentId": document_id})
            if answer.is_success:
                if (upload := answer.json()["upload"]) is not None:
                    _store(upload, body)
                return document_id
            problem = _problem(answer)
            if problem["code"] != DocumentBusy.code:
                raise NotTaken(problem["detail"])
        raise NotTaken("it was removed too often in a short time. Wait some minutes, and save it again.")

    def state(self, agent_id: str, document_id: str) -> tuple[bool, str | None]:
        """Return whether the newest version is done with, and why it failed if it did."""
        document = self._get(f"/v1/agents/{agent_id}/documents/{document_id}")
        error = document["error"] or {}
        return document["status"] in {"ready", "failed"}, error.get("message")

    def keep_only(self, agent_id: str, kept: Collection[str]) -> dict[str, str]:
        """Delete the agent's other documents of a folder, and return their names by their ids."""
        removed = {}
        for document in list(self._of_agent(agent_id)):
            if document["createdBy"] == USER and document["id"] not in kept:
                self._send("DELETE", f"/v1/agents/{agent_id}/documents/{document['id']}").raise_for_status()
                removed[document["id"]] = document["name"]
        return removed

    def _of_agent(self, agent_id: str) -> Iterator[dict[str, Any]]:
        cursor: str | None = ""
        while cursor is not None:
            page = self._get(
                f"/v1/agents/{agent_id}/documents", {"limit": "100", **({"cursor": cursor} if cursor else {})}
            )
            yield from page["items"]
            cursor = page["nextCursor"]

    def _get(self, path: str, asked: dict[str, str] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self._send("GET", path, params=asked).raise_for_status().json()
        return found

    def _send(self, method: str, path: str, **content: Any) -> httpx.Response:
        token = self._key.sign(TokenRequest(tenant=TENANT, user=USER, permissions=PERMISSIONS))
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.request(method, self._url + path, headers=headers, timeout=REQUEST_SECONDS, **content)


def _ids(agent_id: str, place: str) -> Iterator[str]:
    for number in range(MAX_IDS):
        text = f"{agent_id}/{place}" if number == 0 else f"{agent_id}/{place}/{number}"
        yield f"doc_{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _store(upload: dict[str, Any], body: bytes) -> None:
    answer = httpx.request(
        upload["method"], upload["url"], headers=upload["headers"], content=body, timeout=REQUEST_SECONDS
    )
    answer.raise_for_status()


def _problem(answer: httpx.Response) -> dict[str, Any]:
    """Return what the API says of a request that it refuses. Raises ``httpx.HTTPError`` for other answers."""
    if answer.is_server_error:
        answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found
