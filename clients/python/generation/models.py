"""The models of the server's answers, from its OpenAPI document."""

import json
import re
from typing import Any

from datamodel_code_generator import generate
from datamodel_code_generator.enums import DataModelType, InputFileType
from datamodel_code_generator.format import Formatter, PythonVersion

from baton.api.application import create_app
from baton.composition.app import App
from generation.formatting import format_code

HEAD = '"""Answers of the server, as its OpenAPI document describes them."""\n\n'
CHECKS = {"title", "examples", "default", "minLength", "maxLength", "minimum", "maximum", "pattern", "minItems"}
"""Constraints that a model of an answer leaves out: the server has checked it, and a later server may allow more."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def write_module() -> str:
    """Return the module."""
    code = generate(
        json.dumps(select_answers(make_document())),
        input_file_type=InputFileType.OpenAPI,
        output=None,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        base_class="baton_client.model_base.Model",
        snake_case_field=True,
        use_standard_collections=True,
        use_union_operator=True,
        use_schema_description=True,
        use_field_description=True,
        use_annotated=False,
        collapse_root_models=True,
        disable_timestamp=True,
        formatters=[Formatter.BUILTIN] if hasattr(Formatter, "BUILTIN") else [],
    )
    body = re.sub(r"\A(#.*\n)+", "", str(code))
    # A model with a result of any type has the value of a structured answer.
    answered = re.compile(r"^class (\w+)\(Model\):\n((?:    .*\n|\n)*?    result: Any \| None)", re.MULTILINE)
    body = answered.sub(r"class \1(Answered):\n\2", body)
    body = body.replace("import Model\n", "import Answered, Model\n")
    return format_code(HEAD + body)


def make_document() -> dict[str, Any]:
    """Return the server's OpenAPI document."""

    def refuse() -> App:
        raise AssertionError("The document is made without use cases.")

    return create_app(refuse).openapi()


def select_answers(whole: dict[str, Any]) -> dict[str, Any]:
    """Return a document of only the answers of ``/v1``, as lenient as a client has to be.

    Enumerations become strings, objects may have more fields, because a later server may have new ones, and fields that
    may be null may be absent.
    """
    schemas = whole["components"]["schemas"]
    names: set[str] = set()
    roots = {
        name
        for path, operations in whole["paths"].items()
        if path.startswith("/v1/") or path == "/health"
        for operation in operations.values()
        for status, answer in operation["responses"].items()
        if status < "300"
        for name in _find_references(answer)
    } | {"Problem"}
    while roots - names:
        name = (roots - names).pop()
        names.add(name)
        roots |= _find_references(schemas[name])
    schemas_by_name = {
        name: _make_lenient(schemas[name], schemas)
        for name in sorted(names)
        if "enum" not in schemas[name] and not name.startswith("Listing_")
    }
    return {"openapi": whole["openapi"], "info": whole["info"], "paths": {}, "components": {"schemas": schemas_by_name}}


def _find_references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"].rpartition("/")[2]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(_find_references, value.values()))
    return set().union(*map(_find_references, value)) if isinstance(value, list) else set()


def _make_lenient(value: Any, schemas: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_make_lenient(item, schemas) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        described = {"description": value["description"]} if "description" in value else {}
        if "enum" in schemas[name]:
            return {"type": "string", **described}
        return {"$ref": f"#/components/schemas/{name}"}
    if value.get("type") == "object" and "properties" in value:
        properties = {name: _convert_property(field, schemas) for name, field in value["properties"].items()}
        keywords = {key: content for key, content in value.items() if key not in CHECKS | {"additionalProperties"}}
        # An older server lacks fields that were added since; for a nullable field, absent means null.
        required = [name for name in value.get("required", []) if not _may_be_null(value["properties"][name])]
        return keywords | {"properties": properties, "required": required}
    keywords = {key: _make_lenient(content, schemas) for key, content in value.items() if key not in CHECKS}
    if keywords.get("type") == "string":
        keywords.pop("enum", None)
    return keywords


def _may_be_null(value: dict[str, Any]) -> bool:
    return any(option.get("type") == "null" for option in value.get("anyOf", []))


def _convert_property(value: dict[str, Any], schemas: dict[str, Any]) -> Any:
    field = _make_lenient(value, schemas)
    examples = [example for example in value.get("examples", []) if isinstance(example, str)]
    if any(MOMENT.fullmatch(example) for example in examples):
        return _with_moment(field)
    return field


def _with_moment(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") == "string":
        return schema | {"format": "date-time"}
    if "anyOf" in schema:
        return schema | {"anyOf": [_with_moment(option) for option in schema["anyOf"]]}
    return schema
