"""The folder that SAM builds: the product's tree with a project's agents and tools in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import baton
import baton_documents
from baton.adapters.agents.agent_files import LIBRARIES_FILE, read_library_names
from baton_local.root import ROOT
from baton_project.project import Project

FILES = ("template.yaml", "pyproject.toml", "uv.lock", "README.md")
FOLDERS = ("functions", "layers", "statemachines")
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*")


def assemble(project: Project, folder: Path) -> None:
    """Replace the contents of ``folder`` by the product's tree with the project's files. Raises ``OSError``."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in FILES:
        shutil.copyfile(ROOT / name, folder / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=NOT_COPIED)
    shared = folder / "shared"
    shutil.copytree(Path(baton.__file__).parent, shared / "baton", ignore=NOT_COPIED)
    shutil.copyfile(ROOT / "shared" / "Makefile", shared / "Makefile")
    reader = folder / "extraction" / "baton_documents"
    shutil.copytree(Path(baton_documents.__file__).parent, reader, ignore=NOT_COPIED)
    shutil.copytree(project.agents, folder / "agents", ignore=NOT_COPIED)
    if libraries := read_library_names(project.agents):
        (folder / "agents" / LIBRARIES_FILE).write_text(json.dumps(sorted(libraries)), encoding="utf-8")
    if project.tools.is_dir():
        shutil.copytree(project.tools, folder / "tools", ignore=NOT_COPIED)
    if project.requirements:
        requirements = "\n".join(project.requirements) + "\n"
        (folder / "layers" / "dependencies" / "tools.txt").write_text(requirements, encoding="utf-8")
