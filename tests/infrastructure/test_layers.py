"""The local cloud finds the files of layers where they are packed."""

from __future__ import annotations

from pathlib import Path

from baton_local.execution import LAYER_FOLDERS
from tests.infrastructure.stack import ROOT, read_template, run


def test_the_local_cloud_finds_the_files_of_layers_where_they_are_packed(tmp_path: Path) -> None:
    for layer, (folder, source) in LAYER_FOLDERS.items():
        made = run("make", f"build-{layer}", f"ARTIFACTS_DIR={tmp_path / layer}", cwd=ROOT / source_of(layer))
        assert made.returncode == 0, made.stderr
        name = folder.removeprefix("/opt/")
        packed = {path.name for path in (tmp_path / layer / name).iterdir()}
        assert packed
        assert packed <= {path.name for path in source.iterdir()}
        assert {each.name for each in (tmp_path / layer).iterdir()} - {"python"} == {name}


def test_other_layers_have_packages_only() -> None:
    layers = {
        name for name, item in read_template()["Resources"].items() if item["Type"] == "AWS::Serverless::LayerVersion"
    }
    assert layers - LAYER_FOLDERS.keys() == {"DependenciesLayer", "ExtractionLayer"}


def source_of(layer: str) -> str:
    """The folder with a layer's makefile."""
    source: str = read_template()["Resources"][layer]["Properties"]["ContentUri"]
    return source
