"""The variables of functions name folders that the layers pack."""

from __future__ import annotations

from pathlib import Path

from baton_local.root import ROOT, TOKENIZER
from tests.infrastructure.stack import read_template

SOURCES = {"BATON_AGENTS_DIR": ROOT / "agents", "TIKTOKEN_CACHE_DIR": TOKENIZER}
"""Variables that name a folder of a layer, and where its files are on this machine."""


def test_folders_that_variables_name_are_packed_by_the_layer_of_every_function(shared_layer: Path) -> None:
    common = read_template()["Globals"]["Function"]
    assert {"Ref": "SharedLayer"} in common["Layers"]
    variables = common["Environment"]["Variables"]
    folders = {name: value for name, value in variables.items() if str(value).startswith("/opt/")}
    assert folders.keys() == SOURCES.keys()
    for variable, folder in folders.items():
        packed = {path.name for path in (shared_layer / folder.removeprefix("/opt/")).iterdir()}
        assert packed
        assert packed <= {path.name for path in SOURCES[variable].iterdir()}


def test_other_layers_have_packages_only(shared_layer: Path) -> None:
    assert {path.name for path in shared_layer.iterdir()} == {"python", "agents", "tokenizer"}
    layers = {
        name for name, item in read_template()["Resources"].items() if item["Type"] == "AWS::Serverless::LayerVersion"
    }
    assert layers == {"DependenciesLayer", "SharedLayer", "ExtractionLayer"}
