"""The stages of samconfig.toml, with their parameters read as SAM CLI reads them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from baton_deployment.errors import DeploymentError

# SAM CLI's grammar of --parameter-overrides (samcli/cli/types.py): a value ends at a space that is neither quoted nor
# escaped by a backslash. SAM's own expressions repeat a repetition, so that an open quotation mark takes exponential
# time.
_KEY = r"""([A-Za-z0-9\"']+)"""
_VALUE = r"""(\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?:\\.|[^ \"\\])+)"""
_PATTERNS = (rf"(?:ParameterKey={_KEY},ParameterValue={_VALUE})", rf"(?:(?: ){_KEY}={_VALUE})")


@dataclass(frozen=True)
class Stage:
    """One stage that can be deployed."""

    name: str
    file: Path
    """The samconfig.toml that declares it."""
    stack: str
    """The name of its stack."""
    parameters: Mapping[str, str]
    """The values of the template's parameters that it sets."""
    overrides: tuple[str, ...] = ()
    """The same as arguments of ``sam deploy --parameter-overrides``."""
    region: str | None = None
    profile: str | None = None
    bucket: str | None = None
    """The bucket for SAM's uploads; None for SAM's own bucket (``resolve_s3``)."""
    prefix: str = ""
    """The prefix of the uploads' keys."""

    def with_overrides(self, overrides: Iterable[str]) -> Stage:
        """Return the stage with these ``parameter_overrides`` instead of the file's."""
        chosen = tuple(overrides)
        return replace(self, parameters=parse_overrides(chosen), overrides=chosen)


def read_stage(file: Path, name: str) -> Stage:
    """Return the stage ``name`` of ``file``. Raises ``DeploymentError``, which names the available stages."""
    stages = _read(file)
    if name not in stages:
        stage_names = ", ".join(stages)
        raise DeploymentError(f"{file} has no stage {name!r}. Available: {stage_names or 'none'}.")
    settings = {**_read_section(stages[name], "global"), **_read_section(stages[name], "deploy")}
    if "stack_name" not in settings:
        raise DeploymentError(f"{file}: the stage {name} has no stack_name.")
    try:
        overrides = tuple(_read_overrides(settings))
        parameters = parse_overrides(overrides)
    except DeploymentError as problem:
        raise DeploymentError(f"{file}: the stage {name}: {problem}") from problem
    return Stage(
        name=name,
        file=file,
        stack=str(settings["stack_name"]),
        parameters=parameters,
        overrides=overrides,
        region=settings.get("region"),
        profile=settings.get("profile"),
        bucket=settings.get("s3_bucket"),
        prefix=str(settings.get("s3_prefix", "")),
    )


def _read_overrides(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entries of ``parameter_overrides``, which may be a text, a table or a list of them."""
    overrides = settings.get("parameter_overrides", [])
    for entry in overrides if isinstance(overrides, list) else [overrides]:
        if isinstance(entry, Mapping):
            yield from (_format_override(name, value) for name, value in _parse_pairs(entry))
        else:
            yield str(entry)


def _format_override(name: str, value: str) -> str:
    """Return a parameter as an argument of ``--parameter-overrides``."""
    quoted = value.replace('"', '\\"')
    return f'{name}="{quoted}"'


def parse_overrides(overrides: Iterable[object]) -> dict[str, str]:
    """Return the parameters in ``parameter_overrides``, parsed as SAM CLI does.

    Raises ``DeploymentError`` for an entry that SAM CLI would refuse, or would use only in part.
    """
    return {_unquote(key): _unquote(value) for entry in overrides for key, value in _parse_pairs(entry)}


def _parse_pairs(entry: object) -> Iterator[tuple[str, str]]:
    """Yield the names and values of an entry, as they are quoted. Raises ``DeploymentError``."""
    if isinstance(entry, Mapping):
        for key, value in entry.items():
            if isinstance(value, list):
                yield str(key), ",".join(str(part).strip() for part in value if part not in (None, ""))
            else:
                yield str(key), "" if value is None else str(value)
        return
    text = f" {str(entry).strip()}"
    if text.startswith(" file://"):
        raise DeploymentError(
            f"parameter_overrides names {entry}, which is not read here: write the parameters inline."
        )
    for pattern in _PATTERNS:
        if pairs := re.findall(pattern, text):
            break
    else:
        raise DeploymentError(f"parameter_overrides has {entry!r}, which is no Name=value.")
    if rest := re.sub(pattern, "", text).strip():
        name = _unquote(pairs[-1][0])
        raise DeploymentError(
            f"SAM would ignore {rest!r} of {entry!r}: put the value of {name} in quotes inside the entry."
        )
    yield from pairs


def _unquote(text: str) -> str:
    """Return a text without the quotation marks around it and the backslashes before spaces and quotation marks."""
    if text and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return text.replace("\\ ", " ").replace('\\"', '"').replace("\\'", "'")


def _read(file: Path) -> dict[str, Mapping[str, Any]]:
    """Return the tables of stages by name. Raises ``DeploymentError`` if the file cannot be read."""
    try:
        content = tomllib.loads(file.read_text())
    except (OSError, ValueError) as problem:
        raise DeploymentError(f"{file} cannot be read: {problem}") from problem
    tables = {name: table for name, table in content.items() if isinstance(table, dict) and "deploy" in table}
    # The account's template is configured like a stage, but is none.
    return {name: table for name, table in tables.items() if "template_file" not in _read_section(table, "deploy")}


def _read_section(table: Mapping[str, Any], command: str) -> Mapping[str, Any]:
    """Return the parameters of a command in a stage's table; empty if there are none."""
    section: Mapping[str, Any] = table.get(command, {}).get("parameters", {})
    return section
