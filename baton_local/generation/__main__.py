"""``python -m baton_local.generation``: write the files that are generated from the library."""

from __future__ import annotations

from baton_local.generation import agent_schema, python_reference

if __name__ == "__main__":
    agent_schema.write()
    python_reference.write()
