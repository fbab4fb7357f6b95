"""`baton new`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from baton import __version__
from baton_local.generation.agent_schema import make_agent_schema
from baton_project.errors import ProjectProblem
from baton_project.new import make
from baton_project.project import Project
from tests.unit.project.conftest import edit


def test_a_new_project_names_the_version_that_it_is_of(project: Project) -> None:
    about = tomllib.loads((project.folder / "pyproject.toml").read_text())
    assert about["project"]["name"] == project.name == "my-shop"
    assert about["project"]["dependencies"] == [f"baton-conversations[local]=={__version__}"]


def test_a_project_of_a_clone_finds_its_wheels(tmp_path: Path) -> None:
    wheels = tmp_path / 'built by "me"'
    with pytest.raises(ProjectProblem, match="make wheels"):
        make(tmp_path / "my-shop", wheels=wheels)
    assert not (tmp_path / "my-shop").exists()
    wheels.mkdir()
    (wheels / "baton_conversations-0.1.0-py3-none-any.whl").touch()
    make(tmp_path / "my-shop", wheels=wheels)
    tools = tomllib.loads((tmp_path / "my-shop" / "pyproject.toml").read_text())["tool"]
    assert tools["uv"] == {"find-links": [str(wheels)], "package": False}


def test_installing_the_project_by_pip_looks_for_no_packages_in_its_folders(project: Project) -> None:
    about = tomllib.loads((project.folder / "pyproject.toml").read_text())
    assert about["tool"]["setuptools"]["packages"] == []


def test_what_is_kept_on_the_machine_is_no_part_of_the_repository(project: Project) -> None:
    assert ".baton/" in (project.folder / ".gitignore").read_text().splitlines()
    assert project.data.is_relative_to(project.folder / ".baton")


def test_editors_find_the_schema_of_agents_and_the_agents_fit_it(project: Project) -> None:
    schema = json.loads((project.folder / "agent-schema.json").read_text())
    assert schema == make_agent_schema()
    for file in project.agents.glob("*.yaml"):
        named = file.read_text().splitlines()[0].partition("$schema=")[2]
        assert (project.agents / named).resolve() == project.folder / "agent-schema.json"
        Draft202012Validator(schema).validate(yaml.safe_load(file.read_text()))


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ProjectProblem):
        make(tmp_path.rename(tmp_path.with_name("notes")))
    assert [file.name for file in tmp_path.with_name("notes").iterdir()] == ["notes.txt"]


def test_files_of_a_command_that_was_killed_get_into_no_project(tmp_path: Path) -> None:
    stale = tmp_path / ".my-shop.unfinished" / "agents" / "other.yaml"
    stale.parent.mkdir(parents=True)
    stale.write_text("id: other\n")
    make(tmp_path / "my-shop")
    assert not (tmp_path / "my-shop" / "agents" / "other.yaml").exists()


@pytest.mark.parametrize("name", ["My-Shop", "shop_", "1shop", "a--b", "x" * 41])
def test_a_name_that_no_stack_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProjectProblem, match="no name of a project"):
        make(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_project_is_found_from_a_folder_in_it(project: Project) -> None:
    assert Project.find(project.tools / "shop_tools") == project


def test_outside_of_projects_it_is_said_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ProjectProblem, match="baton new NAME"):
        Project.find(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("defualt_agent = 'a'", r"tool.baton: defualt_agent: there is no such field .did you mean default_agent\?"),
        ("allowed_hosts = 3", "allowed_hosts"),
        ("= =", "cannot be"),
    ],
)
def test_a_setting_that_is_not_known_is_named(project: Project, wrong: str, expected: str) -> None:
    edit(project.folder / "pyproject.toml", "allowed_hosts = []", wrong)
    with pytest.raises(ProjectProblem, match=expected):
        Project.find(project.folder)


def test_what_tools_need_is_all_but_baton(project: Project) -> None:
    edit(project.folder / "pyproject.toml", 'dependencies = ["', 'dependencies = ["Baton_Client", "holidays>=0.70", "')
    assert Project.find(project.folder).requirements == ("holidays>=0.70",)


def test_a_requirement_that_is_none_is_reported(project: Project) -> None:
    edit(project.folder / "pyproject.toml", 'dependencies = ["', 'dependencies = ["holidays >> 1", "')
    with pytest.raises(ProjectProblem, match="holidays >> 1"):
        Project.find(project.folder)


def test_variables_of_the_projects_env_file_count_below_those_that_are_set(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "OPENAI_API_KEY='of-the-file'\nBATON_CHAT_MODEL=file-model\nBATON_DEFAULT_AGENT=orders\n# A comment\n"
    (project.folder / ".env").write_text(text)
    monkeypatch.setenv("BATON_CHAT_MODEL", "set-model")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = project.make_environment()
    assert result["OPENAI_API_KEY"] == "of-the-file"
    assert result["BATON_CHAT_MODEL"] == "set-model"
    assert result["BATON_DEFAULT_AGENT"] == "orders"
    assert result["BATON_AGENTS_DIR"] == str(project.agents)


def test_an_env_file_that_is_no_text_is_reported(project: Project) -> None:
    (project.folder / ".env").write_bytes(b"A=\xff")
    with pytest.raises(ProjectProblem, match=r"\.env cannot be read"):
        project.make_environment()
