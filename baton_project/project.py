"""A project: a folder with agents, tools and documents, and the settings for them in its ``pyproject.toml``."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from pydantic import BaseModel, ConfigDict, ValidationError

from baton.domain.definition import describe_unknown_field, in_plain_words
from baton.domain.tenants.identity import PermissionName
from baton_client.command.exits import CommandError
from baton_client.command.project_variables import read_variables
from baton_local.project.project_tools import find_packages
from baton_project.errors import ProjectProblem

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

FILE = "pyproject.toml"
STATE = ".baton"
"""The folder of a project's state on this machine, such as conversations and builds, outside of version control."""
BATON_DISTRIBUTIONS = frozenset({"baton-conversations", "baton-client", "baton-documents"})


class ProjectSettings(BaseModel):
    """``[tool.baton]`` of the project's ``pyproject.toml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    default_agent: str = ""
    """The main agent of conversations that name none. Needed if several agents are main agents."""
    allowed_hosts: tuple[str, ...] = ()
    """Hosts that tools and remote agents may call."""
    library_permissions: dict[str, PermissionName] = {}
    """The permissions that users need for the documents of libraries, by the libraries' names."""


@dataclass(frozen=True)
class Project:
    """The project in ``folder``."""

    folder: Path
    name: str
    settings: ProjectSettings
    requirements: tuple[str, ...] = ()
    """The package requirements of the tools, without Baton."""

    @classmethod
    def find(cls, start: Path) -> Project:
        """Return the project of ``start`` or of a folder above it.

        Raises ``ProjectProblem`` if there is none, if its ``pyproject.toml`` is wrong, or if that of a folder on the
        way cannot be read.
        """
        for folder in (start.resolve(), *start.resolve().parents):
            file = folder / FILE
            if file.is_file() and "baton" in (tables := _read(file)).get("tool", {}):
                return _make_project(folder, tables)
        raise ProjectProblem(
            f"{start.resolve()} is in no project: no {FILE} here or above has [tool.baton]. `baton new NAME` makes one."
        )

    @property
    def agents(self) -> Path:
        """The folder of the agents' files."""
        return self.folder / "agents"

    @property
    def tools(self) -> Path:
        """The folder of the tools' packages. It need not exist."""
        return self.folder / "tools"

    @property
    def documents(self) -> Path:
        """The folder of the agents' documents, with a folder for each agent. It need not exist."""
        return self.folder / "documents"

    @property
    def libraries(self) -> Path:
        """The folder of the libraries that agents of all tenants may list. It need not exist."""
        return self.folder / "libraries"

    @property
    def data(self) -> Path:
        """The folder of conversations on this machine."""
        return self.folder / STATE / "data"

    def make_environment(self) -> dict[str, str]:
        """Return the variables of the local cloud for this project, including those of its ``.env``.

        Variables of this process that are not empty override them, except the folder of agents. Raises
        ``ProjectProblem`` if ``.env`` cannot be read.
        """
        variables = {
            "BATON_DEFAULT_AGENT": self.settings.default_agent,
            "BATON_ALLOWED_HOSTS": ",".join(self.settings.allowed_hosts),
            "BATON_TOOL_PACKAGES": ",".join(find_packages(self.tools)),
            "BATON_LOCAL_DOCS": "false",
        }
        script = self.folder / "demo.yaml"
        if script.is_file():
            variables["BATON_DEMO_SCRIPT"] = str(script)
        variables |= self._read_variables()
        chosen = {name: os.environ.get(name) or value for name, value in variables.items()}
        return {**chosen, "BATON_AGENTS_DIR": str(self.agents)}

    def _read_variables(self) -> dict[str, str]:
        """Return the variables of the project's ``.env``. Raises ``ProjectProblem`` if it cannot be read."""
        try:
            return read_variables(self.folder)
        except CommandError as problem:
            raise ProjectProblem(str(problem)) from problem


def _read(file: Path) -> dict[str, dict[str, object]]:
    """Return the tables of a ``pyproject.toml``. Raises ``ProjectProblem`` if the file cannot be read."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ProjectProblem(f"{file} cannot be read: {problem}") from problem
    return {name: table for name, table in content.items() if isinstance(table, dict)}


def _describe_error(error: ErrorDetails) -> str:
    """Return what is wrong with a field of ``[tool.baton]``."""
    is_unknown = error["type"] == "extra_forbidden"
    return (
        describe_unknown_field(error["loc"][-1], ProjectSettings.model_fields) if is_unknown else in_plain_words(error)
    )


def _make_project(folder: Path, tables: dict[str, dict[str, object]]) -> Project:
    """Return the project of the tables of a ``pyproject.toml``. Raises ``ProjectProblem`` for wrong values."""
    try:
        settings = ProjectSettings.model_validate(tables["tool"]["baton"])
    except ValidationError as problem:
        wrong = "; ".join(f"{'.'.join(map(str, error['loc']))}: {_describe_error(error)}" for error in problem.errors())
        raise ProjectProblem(f"{folder / FILE}: tool.baton: {wrong}") from problem
    about = tables.get("project", {})
    dependencies = about.get("dependencies", [])
    if not isinstance(dependencies, list):
        raise ProjectProblem(f"{folder / FILE}: project.dependencies is no list.")
    others = []
    for dependency in map(str, dependencies):
        try:
            name = canonicalize_name(Requirement(dependency).name)
        except InvalidRequirement as problem:
            raise ProjectProblem(
                f"{folder / FILE}: project.dependencies: {dependency!r} is no requirement."
            ) from problem
        if name not in BATON_DISTRIBUTIONS:
            others.append(dependency)
    return Project(folder, str(about.get("name", folder.name)), settings, tuple(others))
