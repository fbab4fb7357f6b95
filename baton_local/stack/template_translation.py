"""Translate a SAM template with AWS's translator, which takes a second to load, and cache the result."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from baton_local.account import REGION
from baton_local.errors import TemplateProblem

logger = logging.getLogger("baton_local")


class Translation(BaseModel):
    """A SAM template, and the CloudFormation template that AWS would deploy for it."""

    checksum: str
    """The checksum of the template's text, the translator's version and this module."""
    source: dict[str, Any]
    """The template, with intrinsic functions in their long forms and addresses in place of local code."""
    code_folders: dict[str, str]
    """The folders of local code, by function."""
    definition_files: dict[str, str]
    """The files of definitions, by state machine."""
    result: dict[str, Any]


def translate(path: Path, cache_dir: Path | None = None) -> Translation:
    """Return the translation of the template at ``path``, from ``cache_dir`` if it is cached there.

    Raises ``TemplateProblem`` when the file is missing or the translator refuses it.
    """
    try:
        text = path.read_text()
    except OSError as problem:
        raise TemplateProblem(f"Cannot read the template {path}: {problem.strerror}.") from problem
    inputs = (version("aws-sam-translator"), Path(__file__).read_text(), text)
    checksum = hashlib.sha256("\0".join(inputs).encode()).hexdigest()
    path_hash = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    file = cache_dir and cache_dir / f"template-{path_hash}.json"
    if file:
        # A file that is outdated or incomplete is written again.
        with contextlib.suppress(OSError, ValidationError):
            cached = Translation.model_validate_json(file.read_bytes())
            if cached.checksum == checksum:
                return cached
    translation = _make(text, checksum)
    if file:
        _keep(translation, file)
    return translation


def parse(text: str) -> dict[str, Any]:
    """Parse a template as the translator does, with libyaml if it is available: without libyaml that takes a second."""

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """A loader that knows the short forms of intrinsic functions."""

    Loader.add_multi_constructor("!", _construct_intrinsic)
    template: dict[str, Any] = yaml.load(text, Loader)  # noqa: S506 - a SafeLoader
    return template


def _construct_intrinsic(loader: Any, name: str, node: yaml.Node) -> dict[str, Any]:
    """Return the long form of an intrinsic function, as the translator does, which `baton check` may lack."""
    long_name = name if name in ("Ref", "Condition") else f"Fn::{name}"
    if isinstance(node, yaml.ScalarNode):
        return {long_name: node.value.split(".", 1) if name == "GetAtt" else loader.construct_scalar(node)}
    is_list = isinstance(node, yaml.SequenceNode)
    construct = loader.construct_sequence if is_list else loader.construct_mapping
    return {long_name: construct(node, deep=True)}


def _make(text: str, checksum: str) -> Translation:
    """Return the translation of a template's text. Raises ``TemplateProblem``."""
    source = parse(text)
    code_folders, definition_files = _take_code_folders(source), _take_definition_files(source)
    translation = Translation(
        checksum=checksum,
        code_folders=code_folders,
        definition_files=definition_files,
        result=_run_translator(source),
        source=source,
    )
    try:
        # The round trip turns YAML's dates, and keys that are not text, into text.
        return Translation.model_validate_json(translation.model_dump_json())
    except PydanticSerializationError as problem:
        raise TemplateProblem(f"The template has a value that cannot be written as JSON: {problem}") from problem


def _keep(translation: Translation, file: Path) -> None:
    """Write the translation to ``file``. A failure is logged, because the file is only a cache."""
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(translation.model_dump_json().encode())
        unfinished.replace(file)
    except OSError as problem:
        logger.warning("The translated template is not kept for the next run: %s", problem)
        with contextlib.suppress(OSError):
            unfinished.unlink()


def _take_code_folders(source: dict[str, Any]) -> dict[str, str]:
    """Replace local code by an S3 address, which the translator requires. Return the folders by function."""
    folders = {}
    default = source.get("Globals", {}).get("Function", {}).pop("CodeUri", ".")
    for logical_id, resource in source["Resources"].items():
        properties = resource.setdefault("Properties", {})
        if resource["Type"] == "AWS::Serverless::Function":
            folders[logical_id] = str(properties.get("CodeUri", default))
            properties["CodeUri"] = "s3://code/local"
        elif resource["Type"] == "AWS::Serverless::LayerVersion":
            properties["ContentUri"] = "s3://code/local"
    return folders


def _take_definition_files(source: dict[str, Any]) -> dict[str, str]:
    """Replace local definitions of state machines by an S3 address. Return the files by state machine."""
    files = {}
    for logical_id, resource in source["Resources"].items():
        if resource["Type"] == "AWS::Serverless::StateMachine":
            files[logical_id] = str(resource["Properties"].get("DefinitionUri", ""))
            resource["Properties"]["DefinitionUri"] = "s3://definitions/local"
    return files


def _run_translator(source: dict[str, Any]) -> dict[str, Any]:
    """Return CloudFormation's template for a SAM template. Raises ``TemplateProblem``."""
    from boto3.session import Session
    from samtranslator.model.exceptions import InvalidDocumentException
    from samtranslator.parser.parser import Parser
    from samtranslator.translator.translator import Translator

    logging.getLogger("samtranslator").setLevel(logging.ERROR)  # it logs warnings about options of AWS's own deployment
    translator = Translator({}, Parser(), boto_session=Session(region_name=REGION))
    try:
        translated: dict[str, Any] = translator.translate(source, parameter_values={})
    except InvalidDocumentException as problem:
        causes = "; ".join(cause.message for cause in problem.causes)
        raise TemplateProblem(f"The template does not translate: {causes}") from problem
    return translated
