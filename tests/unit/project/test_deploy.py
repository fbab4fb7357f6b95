"""`baton deploy`, as far as it goes without AWS."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import typer

from baton_deployment.errors import DeploymentError
from baton_deployment.sam import find_sam, make_sam_variables
from baton_local.root import ROOT
from baton_project.building import assemble
from baton_project.deploy import describe_steps, plan
from baton_project.errors import ProjectProblem
from baton_project.new import IN_PYTHON
from baton_project.project import Project
from baton_project.stage_commands import deploy
from tests.unit.project.conftest import edit


def test_the_commands_are_sams_with_the_projects_own_parameters(project: Project) -> None:
    planned = plan(project, "dev")
    config = ("--config-file", str(project.folder / "samconfig.toml"), "--config-env", "dev")
    assert planned.folder == project.folder / ".baton/build/dev"
    assert planned.build == ("sam", "build", "--build-in-source", *config)
    assert planned.deploy == ("sam", "deploy", *config)
    command = planned.make_deploy_command()
    assert command[:7] == (*planned.deploy, "--parameter-overrides")
    assert command[7:] == (
        "Stage=dev",
        "DeletionProtection=false",
        "LogRetentionDays=7",
        "HttpDeployment=AllAtOnce",
        "EmbedKeysSecret=my-shop/dev/embed-keys",
        "ModelKeySecret=my-shop/dev/model-key",
        "DefaultAgent=assistant",
        "ToolPackages=shop_tools",
    )


def test_a_dry_run_shows_all_steps_in_their_order(project: Project) -> None:
    lines = describe_steps(project.folder, "dev").splitlines()
    assert [line.split("&& ")[-1].split(" --")[0] for line in lines] == [
        f"# Check what the stage dev needs, and write {project.folder / '.baton/build/dev'}",
        "sam build",
        "# Check the sizes of the packages",
        "sam deploy",
        f"# Put the settings of {project.folder / 'settings.dev.yaml'}, if there is such a file",
        "# Publish the chat widget and the console, if the stack serves them",
        "# Bring the libraries, delete what was removed from them, and wait until their documents can be found",
        "#   documents/orders: 1 file, not deployed: `baton apply` uploads them for one tenant",
        "# Try the stage as a user, and print its addresses",
    ]


def test_a_parameter_of_the_stage_wins_over_the_projects(project: Project) -> None:
    edit(project.folder / "samconfig.toml", '"Stage=dev",', '"Stage=dev", "DefaultAgent=orders",')
    chosen = [item for item in plan(project, "dev").make_deploy_command() if item.startswith("DefaultAgent=")]
    assert chosen == ["DefaultAgent=orders"]


def test_a_stage_that_is_not_there_is_reported_with_those_that_are(project: Project) -> None:
    with pytest.raises(ProjectProblem, match="Available: dev, prod"):
        plan(project, "staging")


def test_what_is_built_is_the_product_with_the_agents_and_tools_of_the_project(
    project: Project, tmp_path: Path
) -> None:
    folder = tmp_path / "build"
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / "removed.yaml").write_text("id: removed\n")
    assemble(project, folder)
    assert {path.name for path in (folder / "agents").iterdir()} == {"assistant.yaml", "orders.yaml"}
    assert (folder / "tools/shop_tools/orders.py").is_file()
    assert (folder / "template.yaml").read_bytes() == (ROOT / "template.yaml").read_bytes()
    assert (folder / "shared/baton/composition/app.py").is_file()
    assert not (folder / "layers/dependencies/tools.txt").exists()
    assert not list(folder.rglob("__pycache__"))


def test_modules_of_agents_are_built_as_they_are(project: Project, tmp_path: Path) -> None:
    shutil.copytree(IN_PYTHON, project.folder, dirs_exist_ok=True)
    (project.agents / "_texts.py").write_text("")
    assemble(project, tmp_path / "build")
    built = {path.name for path in (tmp_path / "build" / "agents").iterdir()}
    assert built == {"_texts.py", "assistant.py", "assistant.yaml", "orders.yaml"}


def test_a_module_of_agents_that_cannot_be_used_is_not_deployed(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.agents / "broken.py").write_text("1 / 0\n")
    with pytest.raises(typer.Exit) as exit_info:
        deploy("dev", project.folder)
    assert exit_info.value.exit_code == 1
    assert "agents/broken.py:1: ZeroDivisionError" in capsys.readouterr().err


def test_what_tools_need_goes_into_the_layer_of_dependencies(project: Project, tmp_path: Path) -> None:
    edit(project.folder / "pyproject.toml", 'dependencies = ["', 'dependencies = ["holidays>=0.70", "')
    assemble(Project.find(project.folder), tmp_path / "build")
    assert (tmp_path / "build/layers/dependencies/tools.txt").read_text() == "holidays>=0.70\n"


def test_agents_that_cannot_be_read_are_not_deployed(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    edit(project.agents / "orders.yaml", "id: orders", "id: assistant")
    with pytest.raises(typer.Exit) as exit_info:
        deploy("dev", project.folder)
    assert exit_info.value.exit_code == 1
    assert "defines the agent 'assistant' too" in capsys.readouterr().err
    assert not plan(project, "dev").folder.exists()


def test_without_sam_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(DeploymentError, match="uv tool install aws-sam-cli"):
        find_sam()


def test_a_projects_layers_need_bytecode_too_and_the_build_has_the_stages_region(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("UV", "/usr/bin/uv")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    variables = make_sam_variables("eu-central-1")
    assert variables["BATON_REQUIRE_BYTECODE"] == "1"
    assert (variables["AWS_REGION"], variables["AWS_DEFAULT_REGION"]) == ("eu-central-1", "eu-central-1")
