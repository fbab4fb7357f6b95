"""The JSON Schema of agents' files, with which editors complete and check them.

Fields have the names of the files, and their docstrings as descriptions.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from typing import Any

from pydantic import BaseModel

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_checks import MAX_REFERENCES, MAX_TOOLS
from baton_local.web import SOURCES

SCHEMA = SOURCES / "console" / "src" / "views" / "agents" / "agent-schema.json"


def make_agent_schema() -> dict[str, Any]:
    """Return the JSON Schema of an agent."""
    schema = describe_model(AgentDefinition, "An agent of Baton", by_alias=False)
    fields = schema["properties"]
    for name, most in (("tools", MAX_TOOLS), ("sub_agents", MAX_REFERENCES), ("handoffs", MAX_REFERENCES)):
        fields[name].setdefault("maxItems", most)
    return schema


def describe_model(model: type[BaseModel], title: str, *, by_alias: bool) -> dict[str, Any]:
    """Return the JSON Schema of a model, with the fields' docstrings as descriptions."""
    schema = model.model_json_schema(by_alias=by_alias)
    described = _describe_fields(model)
    for name, part in ((model.__name__, schema), *schema.get("$defs", {}).items()):
        for field, about in part.get("properties", {}).items():
            about.pop("title", None)
            if "description" not in about and (text := described.get(name, {}).get(field)) is not None:
                about["description"] = text
        part.pop("title", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def _describe_fields(root: type[BaseModel]) -> dict[str, dict[str, str]]:
    """Return the docstrings of fields, by class and field, in the modules that declare a part of ``root``."""
    parts = _find_parts(root, set())
    modules = {root.__module__, *(part.__module__ for part in parts)}
    descriptions: dict[str, dict[str, str]] = {}
    for module in sorted(modules):
        for node in ast.parse(inspect.getsource(sys.modules[module])).body:
            if isinstance(node, ast.ClassDef):
                descriptions[node.name] = dict(_read_docstrings(node))
    inherited = {part.__name__: [base.__name__ for base in reversed(part.__mro__)] for part in parts}
    return descriptions | {
        name: {field: text for base in bases for field, text in descriptions.get(base, {}).items()}
        for name, bases in inherited.items()
    }


def _find_parts(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """Return the models that a model consists of, itself included, and their base models. Adds them to ``seen``."""
    for part in (model, *(base for base in model.__mro__ if issubclass(base, BaseModel) and base is not BaseModel)):
        seen.add(part)
    waiting: list[Any] = [field.annotation for field in model.model_fields.values()]
    while waiting:
        kind = waiting.pop()
        waiting += getattr(kind, "__args__", ())
        if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in seen:
            _find_parts(kind, seen)
    return seen


def _read_docstrings(node: ast.ClassDef) -> list[tuple[str, str]]:
    """Return the fields of a class that have docstrings below them, with these as one line."""
    docstrings = []
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            text = " ".join(following.value.value.replace("``", "`").split())
            docstrings.append((statement.target.id, text))
    return docstrings


def format_schema(schema: dict[str, Any]) -> str:
    """Return a schema as the text of its file."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def write() -> None:
    """Write the schema of agents to ``SCHEMA``."""
    SCHEMA.write_text(format_schema(make_agent_schema()), encoding="utf-8")
