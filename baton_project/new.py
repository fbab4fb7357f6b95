"""Create the folder of a new project."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from string import Template

from baton import __version__
from baton_local.generation.agent_schema import format_schema, make_agent_schema
from baton_project.errors import ProjectProblem
from baton_project.schemas import make_case_schema, make_conversation_schema

SKELETON = Path(__file__).parent / "skeleton"
IN_PYTHON = Path(__file__).parent / "skeleton_python"
"""The files of a project with agents in Python, in place of the folders ``agents`` and ``tools``."""
RENAMED = {"gitignore": ".gitignore", "project.toml": "pyproject.toml"}
"""The names of files in a project, by their names in the skeleton, where tools must not use them."""
SCHEMA = "agent-schema.json"
TEST_SCHEMA = "conversation-test-schema.json"
CASE_SCHEMA = "eval-case-schema.json"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MAX_NAME = 40
"""The most characters of a project's name, with which the names of stacks and buckets begin."""


def make(folder: Path, *, in_python: bool = False, wheels: Path | None = None) -> str:
    """Create a project in ``folder``, which must be new or empty. Return Baton's version.

    ``in_python`` writes the agents in Python and not in YAML. ``wheels`` is a folder from which uv installs Baton, for
    unpublished versions. Raises ``ProjectProblem``; then nothing is left in ``folder``.
    """
    folder = folder.resolve()
    if not NAME.fullmatch(folder.name) or len(folder.name) > MAX_NAME:
        raise ProjectProblem(
            f"{folder.name!r} is no name of a project: small letters, digits and single hyphens, at most {MAX_NAME}."
        )
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)  # of a command that was killed
    try:
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise ProjectProblem(f"{folder} is not empty: name a folder that is not there yet, or an empty one.")
        _write(unfinished, folder.name, in_python=in_python)
        if wheels is not None:
            _add_wheels(unfinished / "pyproject.toml", wheels.resolve())
        unfinished.rename(folder)
    except OSError as problem:
        raise ProjectProblem(f"{problem.filename} cannot be written: {problem.strerror}.") from problem
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return __version__


def _write(folder: Path, name: str, *, in_python: bool) -> None:
    """Write the skeleton's files and the schemas of a project called ``name``. Raises ``OSError``."""
    sources = {source.relative_to(SKELETON): source for source in SKELETON.rglob("*")}
    if in_python:
        sources = {path: source for path, source in sources.items() if path.parts[0] not in {"agents", "tools"}}
        sources |= {source.relative_to(IN_PYTHON): source for source in IN_PYTHON.rglob("*")}
    for path, source in sorted(sources.items()):
        if source.is_dir() or source.suffix == ".pyc":
            continue
        target = folder / path
        target = target.with_name(RENAMED.get(target.name, target.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_fill(source, name, code="agents" if in_python else "tools"), encoding="utf-8")
    write_schema(folder)


def _add_wheels(file: Path, wheels: Path) -> None:
    """Configure uv to find Baton in the folder ``wheels``. Raises ``ProjectProblem`` if it has no wheel of Baton."""
    if not any(wheels.glob("baton_conversations-*.whl")):
        raise ProjectProblem(
            f"{wheels} has no wheel of Baton: `make wheels` in a clone builds it, into its folder dist."
        )
    # A list in JSON is valid TOML.
    table = f"[tool.uv]\nfind-links = {json.dumps([str(wheels)])}  # until a release is published\n"
    file.write_text(file.read_text(encoding="utf-8").replace("[tool.uv]\n", table), encoding="utf-8")


def write_schema(folder: Path) -> None:
    """Write this version's JSON Schemas for agents, tests and cases of evaluations, unless they are current."""
    schemas = (
        (SCHEMA, make_agent_schema()),
        (TEST_SCHEMA, make_conversation_schema()),
        (CASE_SCHEMA, make_case_schema()),
    )
    for name, schema in schemas:
        file, text = folder / name, format_schema(schema)
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def _fill(source: Path, name: str, *, code: str) -> str:
    """Return the text of a file of the skeleton, with the project's values. ``code`` is the folder of the tools."""
    text = source.read_text(encoding="utf-8")
    if source.suffix in {".toml", ".md"} and source.parent == SKELETON:
        return Template(text).substitute(name=name, version=__version__, code=code)
    return text
