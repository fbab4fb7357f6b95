"""A test depends on all that its modules import and name, and is run again when any of that changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton.domain import errors
from baton.domain.errors import base
from baton_local.root import ROOT
from baton_testing import virtual_time
from tests.closures import Project, conftests

SAMPLE = "tests/unit/closure_sample.py"


@pytest.fixture(scope="module")
def project() -> Project:
    return Project(ROOT)


@pytest.fixture(scope="module")
def closure(project: Project) -> frozenset[str]:
    result = project.closure([SAMPLE])
    assert result is not None
    return result


def test_it_has_the_imported_modules_and_theirs(closure: frozenset[str]) -> None:
    imported = {Path(module.__file__ or "").relative_to(ROOT).as_posix() for module in (errors, base, virtual_time)}
    assert {SAMPLE, *imported} <= closure
    assert "shared/baton/__init__.py" in closure, "it is executed on the way"


def test_it_has_modules_that_are_named_for_processes_and_lazy_imports(closure: frozenset[str]) -> None:
    assert "baton_local/demo_model/app.py" in closure
    assert "clients/python/baton_client/command/application.py" in closure


def test_it_has_files_that_are_no_python(closure: frozenset[str]) -> None:
    assert {"template.yaml", "uv.lock", "pyproject.toml"} <= closure


def test_it_does_not_have_everything(project: Project, closure: frozenset[str]) -> None:
    assert not any(name.startswith(("benchmarks/", "tests/e2e/")) and name.endswith(".py") for name in closure)
    assert len(closure) < len(project.digests)


def test_a_test_that_starts_processes_depends_on_everything(project: Project) -> None:
    program = "tests/forked.py"
    assert project.closure([program]) is None
    assert project.closure([program], follows_processes=True)


def test_its_digest_changes_with_its_files_only(closure: frozenset[str]) -> None:
    def digest_with(changed: str) -> str:
        project = Project(ROOT)
        vars(project)["digests"] = {**before.digests, changed: "other"}
        return project.digest(closure)

    before = Project(ROOT)
    assert digest_with("baton_testing/virtual_time.py") != before.digest(closure)
    assert digest_with("template.yaml") != before.digest(closure)
    assert digest_with("README.md") == before.digest(closure)


def test_each_conftest_above_a_test_counts() -> None:
    assert conftests("tests/unit/test_closures.py") == ["tests/unit/conftest.py", "tests/conftest.py"]
