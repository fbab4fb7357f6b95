"""The product as `sam build` packs it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.infrastructure.stack import BUILD_INPUTS, ROOT, TOOLS, run

BUILD_FOLDERS = ("agents", "extraction", "functions", "layers", "shared", "statemachines")


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`sam build`, once, on a copy of what it reads; the path of the built artifacts."""
    project = tmp_path_factory.mktemp("project")
    for name in BUILD_INPUTS:
        shutil.copy2(ROOT / name, project)
    for name in BUILD_FOLDERS:
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    result = run(TOOLS / "sam", "build", cwd=project)
    assert result.returncode == 0, result.stderr
    return project / ".aws-sam" / "build"
