"""Bringing a project's libraries to a stage, with the function's own commands and pipeline over fakes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from baton.composition.app import build
from baton.domain.documents.document import DocumentRef
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.tenants.identity import ProjectScope, Scope
from baton.ports.documents.files import Upload
from baton_deployment import libraries
from baton_deployment.errors import DeploymentError
from baton_deployment.libraries import ProjectDocuments, bring
from baton_local.project import library_documents
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.documents.documents import FakeDocuments
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.fakes.documents import FakeDocumentFiles, FakeIngestions
from tests.fakes.ports import FakePorts
from tests.fakes.text_extractor import PlainTextExtractor
from tests.unit.knowledge.pipeline import Pipeline

ADA = Scope("acme", "ada")


class Killed(Exception):
    """The end of a deployment between two requests."""


class Stage:
    """A deployed stage: invocations of its function, and a pipeline that runs when it is looked at."""

    def __init__(self, *, is_searched: bool = True) -> None:
        self.pipeline = Pipeline()
        self.files, self.documents, self.index = FakeDocumentFiles(), FakeDocuments(), FakeSearchIndex()
        self.ports = FakePorts(
            clock=FakeClock(),
            documents=self.documents,
            document_files=self.files,
            search=self.index,
            embedder=FakeEmbedder(),
            ingestions=FakeIngestions(),
            extractor=PlainTextExtractor(),
        )
        self.app = self.pipeline.app = build(self.ports)
        self.is_searched = is_searched
        self.calls: list[str] = []
        self.uploads: list[str] = []
        self.dies_at: int | None = None
        self.late = 0
        """Lists of documents that are still empty, as an index is that follows its table."""
        self.is_processing = True
        """Whether the pipeline runs at all."""

    def invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(event["command"])
        if len(self.calls) == self.dies_at:
            raise Killed
        answer = asyncio.run(self.app.knowledge.library_commands.run(json.loads(json.dumps(event))))
        if event["command"] == "list_documents" and self.late:
            self.late -= 1
            answer["documents"] = []
        if event["command"] == "list_libraries" and not self.is_searched:
            answer["search"] = None
        return json.loads(json.dumps(answer))  # type: ignore[no-any-return]

    def upload(self, target: Mapping[str, Any], body: bytes) -> None:
        upload = Upload("", target["url"], target["method"], target["headers"], self.ports.clock.now())
        try:
            asyncio.run(self.files.put(upload, body))
        except ValueError as problem:
            assert str(problem) == "PreconditionFailed"  # noqa: PT017  another deployment was faster
        self.uploads.append(target["url"].rpartition("/~project/")[2])

    def work(self, _: float = 0) -> None:
        """Run the pipeline for everything that was uploaded or deleted."""
        if not self.is_processing:
            return
        for document in list(self.documents.records.values()):
            if document.deleted_at is not None or document.next is not None:
                ref = DocumentRef("~project", document.agent_id, document.id, document.latest.number)
                asyncio.run(self.pipeline.run(ref, waits=False))

    def finds(self, query: str, scope: Scope = ADA, *names: str) -> set[str]:
        search = self.app.knowledge.search.search(scope, "desk", query, libraries=names or ("manual",), limit=20)
        return {chunk.text for chunk in asyncio.run(search).chunks}


class Developer:
    """A project, and deployments of it."""

    def __init__(self, folder: Path, stage: Stage) -> None:
        self.folder, self.stage = folder, stage
        self.output: list[str] = []

    def writes(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def project(self, **permissions: str) -> ProjectDocuments:
        return ProjectDocuments(self.folder / "libraries", permissions, self.folder / "documents")

    def deploys(self, **permissions: str) -> list[str]:
        self.output = []
        stage = self.stage
        stage.calls, stage.uploads = [], []
        project = self.project(**permissions)
        return bring(stage.invoke, project, self.output.append, upload=stage.upload, sleep=stage.work)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def developer(tmp_path: Path, stage: Stage) -> Developer:
    instance = Developer(tmp_path, stage)
    instance.writes("libraries/manual/pump.txt", "The pump is started by hand.")
    instance.writes("libraries/manual/valves/valve.txt", "The valve of the pump is red.")
    instance.writes("documents/desk/own.txt", "Ours.")
    return instance


def test_a_deployment_brings_libraries_waits_and_says_what_it_does(developer: Developer) -> None:
    assert developer.deploys() == []
    assert developer.output[:3] == [
        "libraries/manual: 2 files, one copy for all tenants",
        "documents/desk: 1 file, not deployed: `baton apply` uploads them for one tenant",
        "Search: embedded",
    ]
    assert developer.output[-1] == "Libraries: 2 uploaded, 0 unchanged, 0 removed, 0 failed"
    results = {"The pump is started by hand.", "The valve of the pump is red."}
    assert developer.stage.finds("pump") == results
    assert developer.stage.finds("pump", Scope("globex", "bob")) == results


def test_a_list_that_is_behind_is_waited_for(developer: Developer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_documents, "FRESH_SECONDS", -1.0)
    developer.stage.late = 6
    assert developer.deploys() == []
    assert developer.stage.late == 0
    assert len(developer.stage.finds("pump")) == 2


def test_files_that_have_not_changed_are_not_sent_again_by_any_number_of_requests(developer: Developer) -> None:
    for number in range(30):
        developer.writes(f"libraries/manual/part-{number}.txt", f"Part {number} of the pump.")
    developer.deploys()
    assert developer.deploys() == []
    assert developer.output[-1] == "Libraries: 0 uploaded, 32 unchanged, 0 removed, 0 failed"
    assert developer.stage.uploads == []
    assert len(developer.stage.calls) < 6


def test_changed_files_replace_and_removed_ones_go(developer: Developer) -> None:
    developer.deploys()
    developer.writes("libraries/manual/pump.txt", "The pump starts by itself.")
    (developer.folder / "libraries/manual/valves/valve.txt").unlink()
    developer.deploys()
    assert developer.output[-1] == "Libraries: 1 uploaded, 0 unchanged, 1 removed, 0 failed"
    assert developer.stage.finds("pump valve") == {"The pump starts by itself."}


def test_the_earlier_version_is_found_until_the_new_one_is_ready(
    developer: Developer, monkeypatch: pytest.MonkeyPatch
) -> None:
    developer.deploys()
    developer.writes("libraries/manual/pump.txt", "The pump starts by itself.")
    developer.stage.is_processing = False
    with monkeypatch.context() as impatient:
        impatient.setattr(libraries, "PATIENCE_SECONDS", -1.0)
        [problem] = developer.deploys()
    assert problem.startswith("libraries/manual/pump.txt: it makes no progress for")
    assert "The pump is started by hand." in developer.stage.finds("pump")
    developer.stage.is_processing = True
    assert developer.deploys() == []
    assert "The pump starts by itself." in developer.stage.finds("pump")


def test_a_library_that_has_gone_is_removed_and_an_agent_that_lists_it_finds_the_others(developer: Developer) -> None:
    developer.writes("libraries/terms/terms.txt", "Terms of the pump.")
    developer.deploys()
    for path in (developer.folder / "libraries/manual").rglob("*.txt"):
        path.unlink()
    for folder in ("libraries/manual/valves", "libraries/manual"):
        (developer.folder / folder).rmdir()
    developer.deploys()
    assert developer.output[-1] == "Libraries: 0 uploaded, 1 unchanged, 2 removed, 0 failed"
    assert developer.stage.finds("pump", ADA, "manual", "terms") == {"Terms of the pump."}
    developer.stage.work()
    assert "manual" not in developer.stage.invoke({"command": "list_libraries"})["libraries"]


def test_files_that_cannot_be_read_are_listed_with_their_reasons_and_keep_none_back(developer: Developer) -> None:
    developer.writes("libraries/manual/empty.txt", "")
    developer.writes("libraries/manual/blank.txt", " ")
    developer.writes("libraries/manual/photo.xyz", "?")
    developer.writes("libraries/Big Words/a.txt", "A")
    problems = developer.deploys()
    assert [problem.partition(": ")[0].removeprefix("libraries/") for problem in sorted(problems)] == [
        "Big Words",
        "manual/blank.txt",
        "manual/empty.txt",
        "manual/photo.xyz",
    ]
    assert developer.output[-5] == "Libraries: 2 uploaded, 0 unchanged, 0 removed, 4 failed"
    assert len(developer.stage.finds("pump")) == 2


def test_a_deployment_that_died_anywhere_is_completed_by_the_next(tmp_path: Path) -> None:
    for call in range(1, 9):
        stage = Stage()
        developer = Developer(tmp_path / str(call), stage)
        developer.writes("libraries/manual/pump.txt", "The pump is started by hand.")
        developer.writes("libraries/manual/valve.txt", "The valve of the pump is red.")
        developer.deploys()
        developer.writes("libraries/manual/pump.txt", "The pump starts by itself.")
        (developer.folder / "libraries/manual/valve.txt").unlink()
        stage.dies_at = call
        try:
            developer.deploys()
        except Killed:
            stage.dies_at = None
            assert developer.deploys() == []
        assert stage.finds("pump valve") == {"The pump starts by itself."}


def test_two_deployments_at_once_end_with_one_copy_of_what_both_have(developer: Developer) -> None:
    first = developer.stage
    other = Developer(developer.folder, first)
    at_first = first.upload

    def upload(target: Mapping[str, Any], body: bytes) -> None:
        first.upload = at_first  # type: ignore[method-assign]
        other.deploys()  # between the announcement and the upload of the first
        at_first(target, body)

    first.upload = upload  # type: ignore[method-assign]
    assert developer.deploys() == []
    assert first.finds("pump") == {"The pump is started by hand.", "The valve of the pump is red."}
    assert len(first.documents.records) == 2


def test_the_permission_of_a_library_is_that_of_its_documents(developer: Developer) -> None:
    developer.deploys()
    developer.deploys(manual="pump:read")
    assert developer.output[-1] == "Libraries: 2 uploaded, 0 unchanged, 0 removed, 0 failed"
    assert developer.stage.finds("pump") == set()
    assert len(developer.stage.finds("pump", Scope("acme", "ada", frozenset({"pump:read"})))) == 2
    developer.deploys(manual="pump:read")
    assert developer.stage.uploads == []


def test_a_stage_without_search_is_said_to_find_nothing(developer: Developer) -> None:
    developer.stage.is_searched = False
    developer.deploys()
    assert "Search is off: 3 documents will not be found." in developer.output


def test_more_files_than_a_library_may_have_are_refused_before_anything_is_sent(
    developer: Developer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "MAX_IN_LIBRARY", 1)
    with pytest.raises(DeploymentError, match="libraries/manual has 2 files; a library has at most 1"):
        developer.deploys()
    assert developer.stage.calls == []


def test_what_a_tenant_has_of_the_same_name_is_left_alone(developer: Developer) -> None:
    stage = developer.stage
    developer.deploys()
    [one, _] = stage.documents.records.values()
    copied = asyncio.run(stage.documents.create(ADA, one))
    for path in (developer.folder / "libraries").rglob("*.txt"):
        path.unlink()
    developer.deploys()
    stage.work()
    assert asyncio.run(stage.documents.get(ADA, "manual", copied.id)) is not None
    assert asyncio.run(stage.index.count(ProjectScope(), IndexName.KNOWLEDGE, SearchFilter())) == 0


@pytest.mark.parametrize("name", ["../acme", "Manual", "", "manual/x", "~project", "a" * 42])
def test_a_command_names_a_library_and_no_path(stage: Stage, name: str) -> None:
    with pytest.raises(ValueError, match="no name of a library"):
        stage.invoke({"command": "list_documents", "library": name})
