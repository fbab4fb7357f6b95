"""The schema by which the console completes agents' files."""

from __future__ import annotations

from baton_local.generation.agent_schema import SCHEMA, format_schema, make_agent_schema


def test_the_schema_of_agents_files_is_that_of_the_model() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == format_schema(make_agent_schema()), (
        "run `python -m baton_local.generation`"
    )


def test_every_field_of_an_agent_has_its_type_and_most_a_description() -> None:
    schema = make_agent_schema()
    fields = schema["properties"]
    assert fields["memory"]["$ref"] == "#/$defs/MemorySettings"
    budget = schema["$defs"]["MemorySettings"]["properties"]["max_working_memory_tokens"]
    assert (budget["type"], budget["default"], budget["minimum"]) == ("integer", 16_000, 500)
    assert budget["description"].startswith("Budget of the whole prompt")
    assert fields["remote"]["description"] == "The endpoint of a remote agent, which has its own model and prompt."
