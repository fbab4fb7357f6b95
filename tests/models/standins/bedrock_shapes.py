"""Validate the JSON of a Bedrock request against botocore's service model.

botocore checks members, types, unions and minima; enums, patterns and maxima are checked here.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
from botocore.validate import ParamValidator

from tests.models.standins.question import Json


@cache
def _input_shape(operation: str) -> Any:
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    return model.operation_model(operation).input_shape


def violation(operation: str, model_id: str, body: Json) -> str | None:
    """Return what the service model does not allow in a request, or None."""
    shape = _input_shape(operation)
    try:
        parameters = {"modelId": model_id} | _decode_blobs(body, shape)
    except ValueError as wrong:
        return str(wrong)
    if "modelId" in body:
        return "modelId belongs in the path"
    report = ParamValidator().validate(parameters, shape)
    if report.has_errors():
        return str(report.generate_report())
    return next(_violations(parameters, shape, "input"), None)


def _decode_blobs(value: Any, shape: Any) -> Any:
    """Return ``value`` with its blobs decoded, as the service reads it."""
    if shape.type_name == "blob" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            raise ValueError(f"{shape.name} is no base64") from None
    if shape.type_name == "structure" and not shape.is_document_type and isinstance(value, dict):
        members = shape.members
        return {name: _decode_blobs(item, members[name]) if name in members else item for name, item in value.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [_decode_blobs(item, shape.member) for item in value]
    return value


def _violations(value: Any, shape: Any, path: str) -> Iterator[str]:
    if shape.type_name == "structure" and not shape.is_document_type:
        for name, item in value.items():
            yield from _violations(item, shape.members[name], f"{path}.{name}")
    elif shape.type_name == "list":
        for index, item in enumerate(value):
            yield from _violations(item, shape.member, f"{path}[{index}]")
    limits = shape.metadata
    size = (
        value if isinstance(value, int | float) else len(value) if isinstance(value, str | list | dict | bytes) else 0
    )
    if "max" in limits and size > limits["max"]:
        yield f"{path}: {size} is more than {limits['max']}"
    if isinstance(value, str):
        if limits.get("enum") and value not in limits["enum"]:
            yield f"1 validation error detected: Value '{value}' at '{path}' failed to satisfy enum value set"
        if limits.get("pattern") and not re.fullmatch(limits["pattern"], value):
            pattern = limits["pattern"]
            yield f"1 validation error detected: Value '{value}' at '{path}' failed to satisfy pattern {pattern}"
