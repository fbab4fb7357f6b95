"""Replies to requests that ask for JSON by a schema, as OpenAI's ``response_format`` has it."""

from __future__ import annotations

import json
from dataclasses import replace

from baton.domain.json_values import json_object
from baton_local.demo_model.engine import Reply
from baton_local.demo_model.schema_instance import instance_of
from baton_local.demo_model.wire import ChatRequest


def structured(reply: Reply, request: ChatRequest) -> Reply:
    """Return the reply in the form that the request asks for.

    Where the script says JSON, it stays as it is, also if it does not fit. Anything else becomes the smallest value
    that is valid against the schema. Replies with calls, and what Baton wants for itself, are left to the script.
    """
    schema = request.answer_schema
    if schema is None or reply.calls or (request.metadata or {}).get("task") or json_object(reply.text) is not None:
        return reply
    return replace(reply, text=json.dumps(instance_of(schema), ensure_ascii=False))
