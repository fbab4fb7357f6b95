"""A project's folder of documents, without a server."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

import pytest

from baton.adapters.agents.agent_files import AgentFiles
from baton.domain.agents.agent import AgentDefinition
from baton_client import APIStatusError, NotFoundError
from baton_client.agent_folders import OwnedFile
from baton_local.project.document_folder import DocumentFolder
from baton_local.project.folder_documents import FolderDocuments, NotTaken, advise_other_tenants
from baton_local.root import ROOT
from baton_local.tokens import EmbedKey, list_tenants


@dataclass
class Server(FolderDocuments):
    """Documents that are ready at once, or cannot be read."""

    stored: dict[str, bytes] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    permissions: set[str] = field(default_factory=set)
    required: dict[str, str] = field(default_factory=dict)
    """The permission that an agent requires."""
    fails: APIStatusError | None = None
    """The answer to requests about ``orders``."""

    def sign_in(self, permissions: Collection[str]) -> None:
        self.permissions = set(permissions)

    def check(self, agent_id: str) -> None:
        if self.fails is not None and agent_id == "orders":
            raise self.fails
        if self.required.get(agent_id, "document:write") not in {"document:write", *self.permissions}:
            raise NotFoundError("There is no such agent.", code="unknown_agent", status=404)

    def put(self, file: OwnedFile, body: bytes) -> str:
        self.check(file.agent_id)
        if not body:
            raise NotTaken("size must be at least 1 byte.")
        document_id = f"{file.agent_id}/{file.relative}"
        if self.stored.get(document_id) != body:
            self.stored[document_id] = body
            self.sent.append(document_id)
        return document_id

    def read_state(self, agent_id: str, document_id: str) -> tuple[bool, str | None]:
        return True, "It has no text." if self.stored[document_id] == b"?" else None

    def keep_only(self, agent_id: str, stored: Collection[str]) -> dict[str, str]:
        self.check(agent_id)
        lost = {key: Path(key).name for key in self.stored if key.startswith(f"{agent_id}/") and key not in stored}
        self.stored = {key: body for key, body in self.stored.items() if key not in lost}
        return lost


def load_shipped_agents() -> list[AgentDefinition]:
    return AgentFiles.load(ROOT / "agents", "assistant").all()


class Developer:
    """A developer who edits the folder of a local cloud, which ``start`` starts again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = Server()
        self.agents: dict[str, tuple[str, ...]] = {"assistant": (), "orders": ()}
        self.reports: list[str] = []
        self.start()

    def start(self) -> None:
        self.running = DocumentFolder(self.folder, self.server, self.reports.append, lambda: self.agents)

    def write(self, location: str, text: str) -> None:
        path = self.folder / location
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def take_over(self) -> list[str]:
        """Read the folder once, and return the reports."""
        self.reports.clear()
        self.running.take_over()
        return list(self.reports)


@pytest.fixture
def developer(tmp_path: Path) -> Developer:
    result = Developer(tmp_path / "documents")
    result.write("orders/returns.md", "# Returns")
    result.write("orders/abroad/customs.md", "# Customs")
    return result


def test_files_become_documents_of_the_agent_that_their_folder_names(developer: Developer) -> None:
    places = "documents/orders/abroad/customs.md, documents/orders/returns.md"
    assert developer.take_over() == [
        "Reading 2 documents of documents/orders: agents answer from them in a moment ...",
        f"Documents that agents know now: {places}",
    ]
    assert set(developer.server.stored) == {"orders/returns.md", "orders/abroad/customs.md"}


def test_only_what_has_changed_is_sent_again_also_by_the_next_start(developer: Developer) -> None:
    developer.take_over()
    developer.server.sent.clear()
    assert developer.take_over() == []
    developer.start()
    developer.write("orders/returns.md", "# Returns, newer")
    developer.take_over()
    assert developer.server.sent == ["orders/returns.md"]


def test_a_file_that_is_removed_is_no_document_any_more(developer: Developer) -> None:
    developer.take_over()
    (developer.folder / "orders/returns.md").unlink()
    assert developer.take_over() == ["Documents that agents do not know any more: documents/orders/returns.md"]
    assert set(developer.server.stored) == {"orders/abroad/customs.md"}
    developer.write("orders/returns.md", "# Returns")
    assert developer.take_over() == ["Documents that agents know now: documents/orders/returns.md"]


def test_what_cannot_be_a_document_is_reported_once_and_keeps_nothing_else_back(developer: Developer) -> None:
    developer.write("orders/empty.md", "")
    developer.write("orders/odd.md", "?")
    developer.write("nobody/page.md", "# Page")
    developer.write("orders/.hidden.md", "# Hidden")
    developer.write("orders/returns.md~", "# Returns, as it was")
    assert developer.take_over()[2:] == [
        "Not known to agents: documents/nobody: there is no agent 'nobody' (name the folder by the id of one)",
        "Not known to agents: documents/orders/empty.md: size must be at least 1 byte.",
        "Not known to agents: documents/orders/odd.md: It has no text.",
    ]
    assert developer.take_over() == []


def test_a_file_that_cannot_be_read_keeps_back_no_documents_of_others(
    developer: Developer, monkeypatch: pytest.MonkeyPatch
) -> None:
    developer.take_over()
    read = Path.read_bytes

    def fail(path: Path) -> bytes:
        if path.name == "returns.md":
            raise PermissionError("returns.md: Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", fail)
    developer.write("orders/returns.md", "# Returns, newer")
    developer.agents["zoo"] = ()
    developer.write("zoo/page.md", "# Page")
    assert developer.take_over() == [
        "Documents that agents know now: documents/zoo/page.md",
        "Not known to agents: documents/orders: returns.md: Permission denied. The next edit tries again.",
    ]
    assert "orders/returns.md" in developer.server.stored
    monkeypatch.undo()
    assert developer.take_over() == ["Documents that agents know now: documents/orders/returns.md"]


def test_an_agent_that_comes_later_finds_its_documents(developer: Developer) -> None:
    developer.write("returns/page.md", "# Page")
    developer.take_over()
    developer.agents["returns"] = ()
    assert developer.take_over() == ["Documents that agents know now: documents/returns/page.md"]


def test_agents_that_require_permissions_get_their_documents_like_others(developer: Developer) -> None:
    for agent in load_shipped_agents():
        developer.agents[agent.id] = agent.required_permissions
        for permission in agent.required_permissions:
            developer.server.required[agent.id] = permission
        developer.write(f"{agent.id}/page.md", "# Page")
    [_, report] = developer.take_over()
    assert all(f"documents/{agent_id}/page.md" in report for agent_id in developer.agents if agent_id != "orders")


@pytest.mark.parametrize("status", [403, 404, 429, 500])
def test_an_agent_that_the_server_refuses_keeps_back_no_documents_of_others(developer: Developer, status: int) -> None:
    developer.server.fails = APIStatusError("There is no such agent.", code="unknown_agent", status=status)
    for agent_id in ("assistant", "zoo"):
        developer.agents[agent_id] = ()
        developer.write(f"{agent_id}/page.md", "# Page")
    assert developer.take_over()[1:] == [
        "Documents that agents know now: documents/assistant/page.md, documents/zoo/page.md",
        "Not known to agents: documents/orders: There is no such agent. The next edit tries again.",
    ]
    developer.server.fails = None
    assert developer.take_over() == [
        "Documents that agents know now: documents/orders/abroad/customs.md, documents/orders/returns.md"
    ]


def test_a_store_that_fails_is_asked_again_after_the_next_edit(tmp_path: Path) -> None:
    failures = [RuntimeError("The function ingestion failed.")]
    reports: SimpleQueue[str] = SimpleQueue()

    def list_agents() -> dict[str, tuple[str, ...]]:
        if failures:
            raise failures.pop()
        return {"orders": ()}

    (tmp_path / "documents" / "orders").mkdir(parents=True)
    (tmp_path / "documents" / "orders" / "returns.md").write_text("# Returns")
    folder = DocumentFolder(tmp_path / "documents", Server(), reports.put, list_agents)
    folder.start()
    reason = "documents/ was not read completely: The function ingestion failed. The next edit tries again."
    assert reports.get(timeout=30) == reason
    folder.refresh()
    assert reports.get(timeout=30).startswith("Reading 1 document of documents/orders")
    folder.stop()


def test_a_developer_with_keys_of_another_tenant_learns_how_it_gets_the_documents(tmp_path: Path) -> None:
    keys = {tenant: {"tenant": tenant, "algorithm": "HS256", "key": "k" * 40} for tenant in ("acme", "demo")}
    tenants = list_tenants(EmbedKey.load_or_make(None).as_secret(json.dumps(keys)))
    assert advise_other_tenants(tmp_path / "documents", tenants) is None
    (tmp_path / "documents" / "orders").mkdir(parents=True)
    (tmp_path / "documents" / "orders" / "terms.md").write_text("Terms.")
    assert advise_other_tenants(tmp_path / "documents", {"demo"}) is None
    note = advise_other_tenants(tmp_path / "documents", tenants) or ""
    assert "`baton login --local --tenant acme --permission document:write` and `baton apply .`" in note
